//! The sessions that may belong to the same process as another one.
//!
//! No server reports processes. A process that lost its session connects again from its host, so a
//! newer session from there may be its own. Other processes of the host look the same: what rests
//! on the host alone is a suspicion.

use super::TableAt;
use crate::queue::host_of;
use crate::server_view::{Connection, Listing};
use lockscope_base::znode::Timestamp;

impl<'a> TableAt<'a> {
    /// Returns a connection from a host that was made after `since`, by this machine's clock, and
    /// whose session contends for no lock.
    pub(super) fn newer_from_host(self, host: &str, since: Timestamp) -> Option<&'a Connection> {
        let view = self.view();
        let listed = view.members.iter().filter_map(|member| member.connections.as_ref());
        let ours = [view.own_session, self.table().session()];
        listed.flat_map(Listing::items).find(|connection| {
            host_of(&connection.client) == host
                && self.was_made_after(connection, since)
                && !ours.contains(&Some(connection.session))
                && !self.table().contends(connection.session)
        })
    }

    /// Returns whether a connection was made after `since`, by this machine's clock. A server's time
    /// is as exact as the difference between the clocks is known.
    fn was_made_after(self, connection: &Connection, since: Timestamp) -> bool {
        let ahead = self.table().clock_ahead_ms();
        connection.established.is_some_and(|made| Timestamp(made.0.saturating_add(ahead)) > since)
    }
}
