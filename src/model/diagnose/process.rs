//! The sessions that may belong to the same process as a former one.
//!
//! No server reports processes. A process that lost its session connects again from its host, with
//! the timeout of its configuration, so a newer session like that may be its own. Other processes
//! of the host can look the same: what rests on this alone is a suspicion.

use super::TableAt;
use crate::queue::host_of;
use crate::server_view::{Connection, Listing};
use lockscope_base::znode::{SessionId, Timestamp};

/// A session that has ended or lost its connection, and its process.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormerSession<'b> {
    pub session: SessionId,
    /// The host of the process.
    pub host: &'b str,
    /// When the session was last known to be connected, by this machine's clock.
    pub since: Timestamp,
}

impl<'a> TableAt<'a> {
    /// Returns the only session that may be a former one's successor; `None` if there is none, or
    /// if there are several, since then nothing tells which.
    pub(super) fn successor(self, former: FormerSession<'_>) -> Option<&'a Connection> {
        match self.successors(former)[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the sessions that may belong to the process of a former one: made from its host
    /// since, with its timeout as far as that is known, and contending for nothing.
    ///
    /// The sessions of lockscope, of this console and of others, belong to no such process. Linear
    /// in the number of connections.
    pub(super) fn successors(self, former: FormerSession<'_>) -> Vec<&'a Connection> {
        let view = self.view();
        let ours = [view.own_session, self.table().session()];
        let timeout_ms = self.table().last_connection(former.session).and_then(|last| last.connection.timeout_ms);
        let listed = view.members.iter().filter_map(|member| member.connections.as_ref()).flat_map(Listing::items);
        let is_successor = |connection: &&Connection| {
            host_of(&connection.client) == former.host
                && connection.session != former.session
                && timeout_ms.is_none_or(|timeout| connection.timeout_ms == Some(timeout))
                && self.was_made_after(connection, former.since)
                && !connection.is_of_lockscope()
                && !ours.contains(&Some(connection.session))
                && !self.table().contends(connection.session)
        };
        let mut found: Vec<&Connection> = listed.filter(is_successor).collect();
        // A session that has just moved is listed by two servers.
        found.sort_by_key(|connection| connection.session);
        found.dedup_by_key(|connection| connection.session);
        found
    }

    /// Returns whether a connection was made after `since`, by this machine's clock. A server's time
    /// is as exact as the difference between the clocks is known.
    fn was_made_after(self, connection: &Connection, since: Timestamp) -> bool {
        let ahead = self.table().clock_ahead_ms();
        connection.established.is_some_and(|made| Timestamp(made.0.saturating_add(ahead)) > since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, latch};
    use lockscope_base::znode::marked_timeout;
    use std::time::Duration;

    const HOST: &str = "10.0.0.1";

    const NONE: [i64; 0] = [];

    /// Plays that the candidate of session 1 loses its connection, and session 7 connects from its
    /// host. Returns the sessions that may be its successor.
    fn successors(change: impl FnOnce(&mut DiagnosisFixture)) -> Vec<i64> {
        let mut world = DiagnosisFixture::new();
        world.create_named(&latch("/e", 1), 1, "worker-1");
        world.pass(2);
        let since = world.now;
        world.client(1).connected = false;
        connect(&mut world, 7);
        change(&mut world);
        world.pass(1);
        let former = FormerSession { session: SessionId(1), host: HOST, since };
        let table_at = TableAt::new(&world.table, world.now);
        let found: Vec<i64> = table_at.successors(former).iter().map(|connection| connection.session.0).collect();
        let only = table_at.successor(former).map(|connection| connection.session.0);
        assert_eq!(only, (found.len() == 1).then(|| found[0]));
        found
    }

    fn connect(world: &mut DiagnosisFixture, session: i64) {
        let made = world.now.plus(Duration::from_millis(500));
        let client = world.client(session);
        (client.address, client.established) = (format!("{HOST}:5555"), made);
    }

    #[test]
    fn a_newer_session_of_the_same_host_and_timeout_may_be_a_successor() {
        assert_eq!(successors(|_| {}), [7]);
        assert_eq!(successors(|world| connect(world, 8)), [7, 8], "two processes");
        assert_eq!(successors(|world| world.client(7).address = "10.0.0.9:5555".to_owned()), NONE, "another host");
        assert_eq!(successors(|world| world.client(7).timeout_ms = 20_000), NONE, "another configuration");
        assert_eq!(successors(|world| world.client(7).established = Timestamp(1)), NONE, "an older session");
        assert_eq!(successors(|world| drop(world.create("/other/lock-", 7))), NONE, "it contends for another lock");
    }

    #[test]
    fn sessions_of_lockscope_are_nobodys_successors() {
        let marked = u64::try_from(marked_timeout(Duration::from_secs(30)).as_millis()).expect("short");
        let console = |world: &mut DiagnosisFixture| {
            connect(world, 8);
            world.client(8).timeout_ms = marked;
        };
        assert_eq!(successors(console), [7]);
        let alone = |world: &mut DiagnosisFixture| {
            // The former session's timeout is not known.
            world.client(7).timeout_ms = marked;
        };
        assert_eq!(successors(alone), NONE);
    }
}
