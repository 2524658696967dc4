//! Waiting in a queue with a watch on the predecessor, and in a look-ahead chain on the node before
//! it too.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zookeeper_client::EventType;

use super::super::Algorithm;
use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::position::QueuePosition;
use super::super::retrying_client::{Listing, OwnNode};
use super::joined_queue::{JoinedQueue, may_wait, node_deleted};
use super::node_watches::NodeWatches;
use lockscope_base::znode::ZnodePath;

/// The time after which a waiter, or a new holder that has not seen its own node, checks it for the
/// first time.
const FIRST_OWN_NODE_CHECK: Duration = Duration::from_secs(1);
/// The interval of a waiter's later checks of its own node. A watch would notice at once, but would
/// cost one more event per release.
const OWN_NODE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A wait in which only nodes before the own one are watched: the predecessor, and when it looks
/// ahead the one before that.
///
/// Without look-ahead, a waiter whose predecessor was not the head at the last listing lists when
/// the predecessor goes, since that client may have given up in the middle of the queue. This is
/// the second round trip of a hand-over.
///
/// With look-ahead, it lists when the node before the predecessor goes. Once a listing shows the
/// predecessor as the head, the waiter waits only for its deletion: no later node can get a lower
/// number.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    attempt: &'a Attempt,
    queue: &'a JoinedQueue<'a>,
    own: &'a OwnNode,
    looks_ahead: bool,
    watches: NodeWatches<'a>,
    /// Whether asking for the predecessor by name saved a listing, or would have.
    by_name_saves: bool,
    node_seen_at: Instant,
    next_check: Instant,
}

/// The nodes that a waiter watches.
#[derive(Debug)]
struct Watched {
    /// The predecessor first.
    nodes: Vec<ZnodePath>,
    /// Whether the end of the predecessor alone makes the waiter the holder.
    then_holds: bool,
}

impl<'a> Chain<'a> {
    pub(super) fn new(attempt: &'a Attempt, queue: &'a JoinedQueue<'a>, own: &'a OwnNode) -> Self {
        let looks_ahead = attempt.spec.algorithm == Algorithm::ChainAhead;
        let (watches, seen) = (NodeWatches::new(&attempt.client), Instant::now());
        let next_check = seen + FIRST_OWN_NODE_CHECK;
        Self { attempt, queue, own, looks_ahead, watches, by_name_saves: false, node_seen_at: seen, next_check }
    }

    /// Waits until the own node holds. Gives the time to check it, where it was not seen in a last
    /// listing.
    pub(super) async fn wait(mut self, listed: Option<Listing>) -> Result<Option<Instant>, NotAcquired> {
        let waited = self.until_held(listed).await;
        self.watches.keep_only(&[]);
        self.attempt.spec.asks_by_name.store(self.by_name_saves, Ordering::Relaxed);
        waited
    }

    async fn until_held(&mut self, mut listed: Option<Listing>) -> Result<Option<Instant>, NotAcquired> {
        let mut known = if listed.is_none() { self.known() } else { None };
        loop {
            let watched = match known.take() {
                Some(known) => known,
                None => match self.listed(listed.take()).await? {
                    Some(watched) => watched,
                    None => return Ok(None),
                },
            };
            self.attempt.creator().cancelled()?;
            while self.watches.watch_only(&watched.nodes).await? {
                self.by_name_saves |= self.would_save(&watched);
                // Any other event is a change of the node's data.
                if self.event().await? == EventType::NodeDeleted {
                    if watched.then_holds {
                        return Ok(Some(self.node_seen_at + FIRST_OWN_NODE_CHECK));
                    }
                    break;
                }
            }
        }
    }

    /// Returns the nodes to watch according to `listed` or a new listing; `None` if the own node
    /// holds.
    async fn listed(&mut self, listed: Option<Listing>) -> Result<Option<Watched>, NotAcquired> {
        let listing = match listed {
            Some(listing) => listing,
            None => self.watches.until_reply(self.queue.list(self.attempt, self.own, false)).await?,
        };
        match self.queue.position(&listing, self.own) {
            QueuePosition::Holds => Ok(None),
            QueuePosition::Gone => Err(node_deleted(self.own)),
            QueuePosition::Waits { on, then_holds, ahead } => {
                self.node_seen(FIRST_OWN_NODE_CHECK);
                may_wait(self.attempt)?;
                Ok(Some(self.watched(on, ahead, then_holds)))
            }
        }
    }

    /// Returns the nodes to watch according to the own number, or `None` if the names contain more
    /// than a number or the attempt does not wait. If one of these nodes does not exist, only a
    /// listing shows which nodes are before the own one.
    fn known(&self) -> Option<Watched> {
        let names = self.queue.names;
        let (on, number) = names.name_before(self.own.sequence.filter(|_| self.attempt.waits)?)?;
        let ahead = names.name_before(number).map(|(name, _)| name);
        // The predecessor may be the head, but that is not known.
        Some(self.watched(&on, ahead.as_deref(), false))
    }

    /// Returns whether asking for the watched nodes by name saves a listing. Directly behind the
    /// head it saves none: the listing is then sent after the event instead of before it.
    fn would_save(&self, watched: &Watched) -> bool {
        let before = self.own.sequence.and_then(|own| self.queue.names.name_before(own));
        let on = watched.nodes.first().map(ZnodePath::name);
        !watched.then_holds && before.is_some_and(|(name, _)| on == Some(name.as_str()))
    }

    fn watched(&self, on: &str, ahead: Option<&str>, then_holds: bool) -> Watched {
        let ahead = ahead.filter(|_| self.looks_ahead);
        let nodes = [Some(on), ahead].into_iter().flatten().map(|name| self.queue.parent.child(name)).collect();
        Watched { nodes, then_holds }
    }

    /// Waits for the event of a watch and checks the own node meanwhile: no event comes when
    /// somebody else deletes it.
    async fn event(&mut self) -> Result<EventType, NotAcquired> {
        loop {
            tokio::select! {
                biased;
                event = self.watches.event() => return event,
                () = sleep_until(self.next_check) => {}
            }
            if !self.attempt.client.has(self.own).await? {
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
