//! Nodes of creates that a server carries out late.
//!
//! A create without a reply was carried out, or it was not, or it was not *yet*: what is under way on a connection that its client has
//! given up may reach a server when the same session has long sent the create again on another. The server closes the old connection
//! only when the session comes back to that same server, or when it has heard nothing on it for one session timeout. The node is then
//! one of a live session, and nobody's: it would block the queue until that session ends. So whoever has sent a create again looks for
//! such nodes when its own are deleted, for as long as one may come.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::LockError;
use super::attempt::Attempt;
use super::mutex;
use super::node::NodeCreator;
use super::unanswered::CreatePlace;
use crate::time::Backoff;
use crate::znode::Zxid;

/// When a node is looked for the second time; from then on the pauses grow, up to half of a session timeout.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// For how many session timeouts after a lost reply a node is looked for: one until the server closes the connection, and one to spare.
const TIMEOUTS: u32 = 2;

impl Attempt {
    /// After the end of an attempt, when all nodes that it knows of are deleted: looks for those that come late, in the background.
    /// Without a lost reply to a create it does nothing.
    pub(super) fn delete_late_nodes(self) {
        let places = self.client.unanswered.take();
        if !places.is_empty() {
            tokio::spawn(async move {
                // It fails when the session ends, which deletes the nodes, or may not delete them.
                let _ = self.look_for_late_nodes(&places).await;
            });
        }
    }

    async fn look_for_late_nodes(&self, places: &[(CreatePlace, Instant)]) -> Result<(), LockError> {
        let timeout = self.client.raw.session_timeout();
        let ends = |(_, lost_at): &(CreatePlace, Instant)| *lost_at + timeout * TIMEOUTS;
        let mut pauses = Backoff::new(FIRST_PAUSE, timeout / 2);
        loop {
            let now = Instant::now();
            for (place, _) in places {
                self.creator().delete_late(place).await?;
            }
            let Some(end) = places.iter().map(ends).max().filter(|end| now < *end) else { return Ok(()) };
            sleep_until(end.min(now + pauses.next_pause())).await;
        }
    }
}

impl NodeCreator<'_> {
    async fn delete_late(&self, place: &CreatePlace) -> Result<(), LockError> {
        match place {
            CreatePlace::Queue { parent, names, prefix } => {
                while let Some(late) = self.find(parent, names, prefix).await? {
                    self.client.delete(&late.path).await?;
                }
            }
            CreatePlace::Node(path) => {
                if let Some((data, stat)) = self.client.read(path).await?
                    && self.is_own(&data)
                {
                    mutex::delete(self.client, path, Zxid(stat.czxid), false).await?;
                }
            }
        }
        Ok(())
    }
}
