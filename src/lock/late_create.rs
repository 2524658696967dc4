//! Nodes of creates that a server carries out late.
//!
//! A create without a reply was carried out, was not, or was not *yet*. Its request may still be on
//! a connection that the client has given up, while the same session sends the create again on
//! another one. The server closes the old connection only when the session comes back to that
//! server, or after one session timeout without a message.
//!
//! A late create makes a node of a live session that no attempt knows of: it would block the queue
//! until the session ends. So an attempt that has sent a create again looks for such nodes after
//! its own are deleted, for as long as one may come.

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

/// The pause before the second search. Later pauses grow up to half of a session timeout.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The number of session timeouts after a lost reply in which nodes are searched for: one until the
/// server closes the connection, and one to spare.
const TIMEOUTS: u32 = 2;

/// The interval between searches while the attempt waits or holds.
const PAUSE_UNDER_WAY: Duration = Duration::from_secs(5);

/// The maximum number of possible late nodes that one search reads while the attempt waits or
/// holds.
const MAX_LOOKED_AT: usize = 16;

impl Attempt {
    /// Searches for late nodes in the background, after the attempt has ended and its known nodes
    /// are deleted. Does nothing without a lost reply to a create.
    pub(super) fn delete_late_nodes(self) {
        let creates = self.client.unanswered.all();
        if !creates.is_empty() {
            tokio::spawn(async move {
                // This fails only when the session ends, which deletes the nodes, or when their
                // deletion is not permitted.
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

    /// Searches queues for late nodes while the attempt waits or holds: this attempt or others
    /// would be behind them. Does nothing without a lost reply to a create. A single node needs no
    /// search, since each create finds it.
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
                        // A failure is retried; the end of the session ends the attempt.
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
                    self.client.delete(&late, LastSeen::OnThisConnection).await?;
                }
            }
            CreatePlace::Node(path) => {
                if let Some((data, stat)) = self.client.read(path).await?
                    && self.is_own(&data, &stat)
                {
                    self.client.delete(&mutex::single_node(path.clone(), &stat), LastSeen::OnThisConnection).await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes a late node beside the own one. Costs one request, and more only if there may be
    /// one. If the name does not contain the attempt's id, a late node has a number between the
    /// last unsuccessful search and the own node. One behind the own node waits until the end.
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
            self.client.delete(&late, LastSeen::OnThisConnection).await?;
        }
        Ok(())
    }
}

fn number_of(name: &str) -> Option<Sequence> {
    Sequence::split(name).map(|(_, number)| number)
}
