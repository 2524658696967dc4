//! Nodes of creates that a server carries out late.
//!
//! A create without a reply was carried out, or it was not, or it was not *yet*: what is under way on a connection that its client has
//! given up may reach a server when the same session has long sent the create again on another. The server closes the old connection
//! only when the session comes back to that same server, or when it has heard nothing on it for one session timeout. The node is then
//! one of a live session, and nobody's: it would block the queue until that session ends. So whoever has sent a create again looks for
//! such nodes when its own are deleted, for as long as one may come.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::LockError;
use super::attempt::Attempt;
use super::mutex;
use super::node::NodeCreator;
use super::retrying_client::LastSeen;
use super::unanswered::{CreatePlace, QueuePlace, UnansweredCreate};
use lockscope_base::time::Backoff;
use lockscope_base::znode::{Sequence, ZnodePath};

/// When a node is looked for the second time; from then on the pauses grow, up to half of a session timeout.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// For how many session timeouts after a lost reply a node is looked for: one until the server closes the connection, and one to spare.
const TIMEOUTS: u32 = 2;

/// How often a node is looked for while the attempt waits or holds.
const PAUSE_UNDER_WAY: Duration = Duration::from_secs(5);

/// How many nodes that may be late ones are looked at each time while the attempt waits or holds.
const MAX_LOOKED_AT: usize = 16;

impl Attempt {
    /// After the end of an attempt, when all nodes that it knows of are deleted: looks for those that come late, in the background.
    /// Without a lost reply to a create it does nothing.
    pub(super) fn delete_late_nodes(self) {
        let creates = self.client.unanswered.all();
        if !creates.is_empty() {
            tokio::spawn(async move {
                // It fails when the session ends, which deletes the nodes, or may not delete them.
                let _ = self.look_for_late_nodes(&creates).await;
            });
        }
    }

    async fn look_for_late_nodes(&self, creates: &[UnansweredCreate]) -> Result<(), LockError> {
        let timeout = self.client.session_timeout();
        let mut pauses = Backoff::new(FIRST_PAUSE, timeout / 2);
        loop {
            let now = Instant::now();
            for create in creates {
                self.creator().delete_late(&create.place).await?;
            }
            let end = creates.iter().map(|create| create.lost_at + timeout * TIMEOUTS).max();
            let Some(end) = end.filter(|end| now < *end) else { return Ok(()) };
            sleep_until(end.min(now + pauses.next_pause())).await;
        }
    }

    /// While the attempt waits or holds: looks for its late nodes in queues, in which it or others would stand behind them. Without
    /// a lost reply to a create it does nothing. A single node needs no look: each create finds it.
    pub(super) async fn delete_late_nodes_under_way(&self) -> Infallible {
        loop {
            self.client.unanswered.settled().await;
            loop {
                sleep(PAUSE_UNDER_WAY).await;
                let oldest = Instant::now() - self.client.session_timeout() * TIMEOUTS;
                let mut creates = self.client.unanswered.all();
                creates.retain(|create| create.lost_at >= oldest);
                if creates.is_empty() {
                    break;
                }
                for create in creates {
                    if let (CreatePlace::Queue(place), Some(own)) = (&create.place, &create.own) {
                        // What fails here is tried again; the end of the session ends the attempt.
                        let _ = self.creator().delete_late_beside(place, own).await;
                    }
                }
            }
        }
    }
}

impl NodeCreator<'_> {
    async fn delete_late(&self, place: &CreatePlace) -> Result<(), LockError> {
        match place {
            CreatePlace::Queue(QueuePlace { parent, names, prefix, .. }) => {
                while let (Some(late), _) = self.find(parent, names, prefix).await? {
                    self.client.delete(&late, LastSeen::JustNow).await?;
                }
            }
            CreatePlace::Node(path) => {
                if let Some((data, stat)) = self.client.read(path).await?
                    && self.is_own(&data, &stat)
                {
                    self.client.delete(&mutex::single_node(path.clone(), &stat), LastSeen::JustNow).await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes a late node beside the own one: one request, and more only where there may be one. Where the name does not tell the
    /// attempt, it is among those that came after the search in vain and before the own node; one behind it waits until the end.
    async fn delete_late_beside(&self, place: &QueuePlace, own: &ZnodePath) -> Result<(), LockError> {
        let QueuePlace { parent, names, prefix, after } = place;
        let Some(listing) = self.client.list(parent, false).await? else { return Ok(()) };
        let own_number = number_of(own.name());
        let may_be_late = |name: &&String| {
            let number = number_of(name);
            name.starts_with(prefix)
                && names.read(name).is_some()
                && name.as_str() != own.name()
                && (names.carry_id() || (*after < number && number < own_number))
        };
        let candidates = listing.names.iter().filter(may_be_late).take(MAX_LOOKED_AT);
        if let Some(late) = self.first_own(candidates.map(|name| parent.child(name)), names).await? {
            self.client.delete(&late, LastSeen::JustNow).await?;
        }
        Ok(())
    }
}

fn number_of(name: &str) -> Option<Sequence> {
    Sequence::split(name).map(|(_, number)| number)
}
