//! Waiting in a queue with a watch on the predecessor.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zookeeper_client::EventType;

use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::node::OwnNode;
use super::super::position::{QueuePosition, position};
use super::super::retrying_client::{Listing, OneShotWatch};
use super::joined_queue::{JoinedQueue, may_wait, node_deleted};

/// When a waiter or a new holder that has not seen its own node checks it for the first time.
const FIRST_OWN_NODE_CHECK: Duration = Duration::from_secs(1);
/// How often a waiter checks its own node after that. A watch would notice at once, but cost one more event a release.
const OWN_NODE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A wait in which only the predecessor is watched.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    attempt: &'a Attempt,
    queue: &'a JoinedQueue<'a>,
    own: &'a OwnNode,
    node_seen_at: Instant,
    next_check: Instant,
}

impl<'a> Chain<'a> {
    pub(super) fn new(attempt: &'a Attempt, queue: &'a JoinedQueue<'a>, own: &'a OwnNode) -> Self {
        let seen = Instant::now();
        Self { attempt, queue, own, node_seen_at: seen, next_check: seen + FIRST_OWN_NODE_CHECK }
    }

    /// Waits until the own node holds. Gives the time to check it, where it was not seen in a last listing.
    pub(super) async fn wait(mut self, listed: Option<Listing>) -> Result<Option<Instant>, NotAcquired> {
        let mut listed = listed;
        loop {
            let (children, _) = match listed.take() {
                Some(listing) => listing,
                None => self.queue.list(self.attempt, self.own, false).await?,
            };
            let (on, then_holds) =
                match position(&children, self.own.path.name(), self.queue.names, self.queue.max_holders) {
                    QueuePosition::Holds => return Ok(None),
                    QueuePosition::Gone => return Err(node_deleted(self.own)),
                    QueuePosition::Waits { on, then_holds } => (self.queue.parent.child(on), then_holds),
                };
            self.node_seen(FIRST_OWN_NODE_CHECK);
            may_wait(self.attempt)?;
            while let Some((_, watch)) = self.attempt.client.watch(&on).await? {
                if self.fired(watch).await? == EventType::NodeDeleted {
                    if then_holds {
                        return Ok(Some(self.node_seen_at + FIRST_OWN_NODE_CHECK));
                    }
                    break;
                }
            }
        }
    }

    /// Waits for the watch and checks the own node meanwhile: no event comes when somebody else deletes it.
    async fn fired(&mut self, mut watch: OneShotWatch) -> Result<EventType, NotAcquired> {
        loop {
            tokio::select! {
                biased;
                event = self.attempt.client.wait(&mut watch) => return event,
                () = sleep_until(self.next_check) => {}
            }
            if !self.attempt.client.exists(&self.own.path).await? {
                return Err(node_deleted(self.own));
            }
            self.node_seen(OWN_NODE_CHECK_INTERVAL);
        }
    }

    fn node_seen(&mut self, next: Duration) {
        self.node_seen_at = Instant::now();
        self.next_check = self.node_seen_at + next;
    }
}
