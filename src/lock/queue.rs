//! The queues of sequential nodes, and the two ways to wait in them: as a herd or as a chain.
//!
//! A herd's waiter watches the parent. A chain's waiter watches its predecessor, and in a
//! look-ahead chain the node before that one too. The position of a node follows from a listing
//! alone.
//!
//! A semaphore is a queue lock, and below another parent the leases that its holder takes.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use futures::future::join_all;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep_until};
use zookeeper_client::EventType;

use super::activity::LockActivity;
use super::attempt::{Attempt, FirstListing, HeldLock};
use super::error::NotAcquired;
use super::options::{NodeMode, QueueNames};
use super::retrying_client::{ChildList, LastSeen, OneShotWatch, OwnNode, RetryingClient};
use super::{Access, Algorithm, LockError};
use lockscope_terms::znode::ZnodePath;

/// Acquires a lock that is one queue.
pub async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let access = attempt.spec.algorithm.access().unwrap_or(Access::Write);
    let queue =
        JoinedQueue { parent: &attempt.spec.path, names: &attempt.spec.names, mode: access.into(), max_holders: 1 };
    match attempt.spec.algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) => enter_herd(attempt, &queue).await,
        _ => enter_chain(attempt, &queue).await,
    }
}

/// Returns whether an attempt asks for its predecessor by name before it lists. That saves a
/// listing if the predecessor exists and others are before it; otherwise it costs a round trip. So
/// it is done only if it would have saved the lock's last attempt a listing.
fn knows_predecessor(attempt: &Attempt, queue: &JoinedQueue<'_>) -> bool {
    attempt.waits && queue.names.carry_only_numbers() && attempt.spec.asks_by_name.load(Ordering::Relaxed)
}

/// Joins a queue and waits as a herd does: every waiter watches the parent.
async fn enter_herd(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) =
        attempt.creator().enqueue(queue.parent, queue.names, queue.mode, FirstListing::Watched).await?;
    let waited = wait_as_herd(attempt, queue, &own, listing).await;
    let unfired_watch = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { unfired_watch, ..HeldLock::new(own) })
}

/// Joins a queue and waits as a chain does: every waiter watches its predecessor, and in a
/// look-ahead chain the node before that one too.
async fn enter_chain(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let first = if knows_predecessor(attempt, queue) { FirstListing::Skipped } else { FirstListing::Unwatched };
    let (own, listing) = attempt.creator().enqueue(queue.parent, queue.names, queue.mode, first).await?;
    let waited = Chain::new(attempt, queue, &own).wait(listing).await;
    let check_node_at = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { check_node_at, ..HeldLock::new(own) })
}

/// Deletes the own node when the wait has ended without the lock.
async fn clean_up<T>(attempt: &Attempt, own: &OwnNode, waited: Result<T, NotAcquired>) -> Result<T, NotAcquired> {
    let Err(reason) = &waited else { return waited };
    // A semaphore's attempt has a second node, and it may be that one that was deleted.
    if matches!(reason, NotAcquired::Failed(LockError::NodeDeleted { node }) if *node == own.path) {
        attempt.client.meter.gone(&own.path);
        return waited;
    }
    // An unsuccessful try has just listed its node.
    let seen = if matches!(reason, NotAcquired::NotFree) { LastSeen::JustNow } else { LastSeen::Before };
    if let Err(error) = attempt.client.delete(own, seen).await {
        return Err(NotAcquired::Failed(match reason {
            NotAcquired::Failed(first) => first.clone(),
            NotAcquired::Cancelled | NotAcquired::NotFree => error,
        }));
    }
    waited
}

/// The queue that an attempt has joined, and what it asks for there.
#[derive(Clone, Copy, Debug)]
struct JoinedQueue<'a> {
    pub(crate) parent: &'a ZnodePath,
    pub(crate) names: &'a QueueNames,
    pub(crate) mode: NodeMode,
    /// The maximum number of holders.
    pub(crate) max_holders: usize,
}

impl JoinedQueue<'_> {
    /// Lists the parent's children. Without the parent there is no own node either.
    pub(crate) async fn list(&self, attempt: &Attempt, own: &OwnNode, watched: bool) -> Result<ChildList, NotAcquired> {
        let listing = attempt.client.list(self.parent, watched).await?;
        listing.ok_or_else(|| node_deleted(own))
    }

    /// Returns the own node's position according to a listing. If the parent is younger than the
    /// node, the node was deleted with the old parent, and the new one gives the same numbers
    /// again.
    pub(crate) fn position<'l>(&self, listing: &'l ChildList, own: &OwnNode) -> QueuePosition<'l> {
        if own.created < listing.parent_created {
            return QueuePosition::Gone;
        }
        position(&listing.names, own.path.name(), self.names, self.max_holders)
    }
}

pub(crate) fn node_deleted(own: &OwnNode) -> NotAcquired {
    LockError::NodeDeleted { node: own.path.clone() }.into()
}

/// Checks whether the attempt may go on to wait.
pub(crate) fn may_wait(attempt: &Attempt) -> Result<(), NotAcquired> {
    attempt.creator().cancelled()?;
    if attempt.waits { Ok(()) } else { Err(NotAcquired::NotFree) }
}

/// The result of a listing of the parent for the owner of a node in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueuePosition<'a> {
    /// The node holds the lock.
    Holds,
    /// The node waits for the deletion of another node.
    Waits {
        /// The name of that node.
        on: &'a str,
        /// Whether the deletion of that node alone makes the own node the holder: there is no other
        /// node to wait for, and none can come in between.
        then_holds: bool,
        /// The name of the nearest node before that one, if the own node has to wait for it as
        /// well.
        ahead: Option<&'a str>,
    },
    /// The own node is not there: somebody else deleted it.
    Gone,
}

/// Returns the position of the node `own` among `children`. It holds if fewer than `max_holders`
/// nodes that it must wait for are before it; `max_holders` is 1 for all locks but semaphores.
///
/// Nodes are ordered by their numbers as signed numbers, as in the other libraries. Two with the
/// same number, which a downgrade creates, are ordered by their names. The work is linear in the
/// number of children.
pub(crate) fn position<'a>(
    children: &'a [String],
    own: &str,
    names: &QueueNames,
    max_holders: usize,
) -> QueuePosition<'a> {
    let Some((sequence, mode)) = names.read(own) else { return QueuePosition::Gone };
    let place = (sequence, own);
    let (mut before, mut present) = (0, false);
    let (mut nearest, mut ahead) = (None, None);
    for name in children {
        let Some((sequence, their_mode)) = names.read(name) else { continue };
        let theirs = (sequence, name.as_str());
        present |= theirs == place;
        let matters = mode != NodeMode::Read || their_mode != NodeMode::Read;
        if theirs < place && matters {
            before += 1;
            let this = Some((theirs, their_mode));
            (nearest, ahead) = (nearest.max(this), ahead.max(nearest.min(this)));
        }
    }
    match nearest {
        _ if !present => QueuePosition::Gone,
        Some(((_, on), their_mode)) if before >= max_holders => {
            // A writer may downgrade to reading: then a node with its number exists before its own
            // is deleted. That does not block a reader, and a reader creates no second node.
            let may_downgrade =
                mode == NodeMode::Exclusive && their_mode == NodeMode::Exclusive && names.allow_downgrade();
            let ahead = ahead.map(|((_, name), _)| name);
            QueuePosition::Waits { on, then_holds: before == 1 && !may_downgrade, ahead }
        }
        _ => QueuePosition::Holds,
    }
}

/// Waits until the own node holds. Each change of the parent's children and each reconnect causes
/// another listing. Returns the watch of the last listing, which stays set.
async fn wait_as_herd(
    attempt: &Attempt,
    queue: &JoinedQueue<'_>,
    own: &OwnNode,
    listed: Option<ChildList>,
) -> Result<Option<OneShotWatch>, NotAcquired> {
    let (mut listed, mut states) = (listed, attempt.client.states());
    loop {
        let listing = match listed.take() {
            Some(listing) => listing,
            None => queue.list(attempt, own, true).await?,
        };
        match queue.position(&listing, own) {
            QueuePosition::Holds => return Ok(listing.watch),
            QueuePosition::Gone => return Err(node_deleted(own)),
            QueuePosition::Waits { .. } => may_wait(attempt)?,
        }
        if let Some(mut watch) = listing.watch {
            attempt.client.wait_for_children(&mut watch, &mut *states).await?;
        }
    }
}

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
struct Chain<'a> {
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
struct PredecessorWatch {
    /// The predecessor first.
    nodes: Vec<ZnodePath>,
    /// Whether the end of the predecessor alone makes the waiter the holder.
    then_holds: bool,
}

impl<'a> Chain<'a> {
    fn new(attempt: &'a Attempt, queue: &'a JoinedQueue<'a>, own: &'a OwnNode) -> Self {
        let looks_ahead = attempt.spec.algorithm == Algorithm::ChainAhead;
        let (watches, seen) = (NodeWatches::new(&attempt.client), Instant::now());
        let next_check = seen + FIRST_OWN_NODE_CHECK;
        Self { attempt, queue, own, looks_ahead, watches, by_name_saves: false, node_seen_at: seen, next_check }
    }

    /// Waits until the own node holds. Gives the time to check it, where it was not seen in a last
    /// listing.
    async fn wait(mut self, listed: Option<ChildList>) -> Result<Option<Instant>, NotAcquired> {
        let waited = self.until_held(listed).await;
        self.watches.keep_only(&[]);
        self.attempt.spec.asks_by_name.store(self.by_name_saves, Ordering::Relaxed);
        waited
    }

    async fn until_held(&mut self, mut listed: Option<ChildList>) -> Result<Option<Instant>, NotAcquired> {
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
    async fn listed(&mut self, listed: Option<ChildList>) -> Result<Option<PredecessorWatch>, NotAcquired> {
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
    fn known(&self) -> Option<PredecessorWatch> {
        let names = self.queue.names;
        let (on, number) = names.name_before(self.own.sequence.filter(|_| self.attempt.waits)?)?;
        let ahead = names.name_before(number).map(|(name, _)| name);
        // The predecessor may be the head, but that is not known.
        Some(self.watched(&on, ahead.as_deref(), false))
    }

    /// Returns whether asking for the watched nodes by name saves a listing. Directly behind the
    /// head it saves none: the listing is then sent after the event instead of before it.
    fn would_save(&self, watched: &PredecessorWatch) -> bool {
        let before = self.own.sequence.and_then(|own| self.queue.names.name_before(own));
        let on = watched.nodes.first().map(ZnodePath::name);
        !watched.then_holds && before.is_some_and(|(name, _)| on == Some(name.as_str()))
    }

    fn watched(&self, on: &str, ahead: Option<&str>, then_holds: bool) -> PredecessorWatch {
        let ahead = ahead.filter(|_| self.looks_ahead);
        let nodes = [Some(on), ahead].into_iter().flatten().map(|name| self.queue.parent.child(name)).collect();
        PredecessorWatch { nodes, then_holds }
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

/// The watches that are set, at most one for each node. Dropping this removes them at the server.
#[derive(Debug)]
struct NodeWatches<'a> {
    client: &'a RetryingClient,
    set: Vec<(ZnodePath, OneShotWatch)>,
}

/// The first of two results: the event of the watch at that index, or a reply.
enum First<T> {
    Event(usize),
    Reply(T),
}

impl<'a> NodeWatches<'a> {
    fn new(client: &'a RetryingClient) -> Self {
        Self { client, set: Vec::new() }
    }

    /// Watches these nodes and no others. A node that is watched already costs no request. A watch
    /// on another node is removed unless its event has come. Returns `false` if one of the nodes is
    /// gone; the others are watched all the same.
    async fn watch_only(&mut self, nodes: &[ZnodePath]) -> Result<bool, LockError> {
        self.keep_only(nodes);
        let missing: Vec<&ZnodePath> = nodes.iter().filter(|node| !self.watches(node)).collect();
        // All requests are sent before the first is answered.
        let watched = join_all(missing.iter().map(|node| self.client.watch(node))).await;
        for (node, watched) in missing.into_iter().zip(watched) {
            if let Some(watched) = watched? {
                self.set.push((node.clone(), watched.watch));
            }
        }
        Ok(self.set.len() == nodes.len())
    }

    fn watches(&self, node: &ZnodePath) -> bool {
        self.set.iter().any(|(watched, _)| watched == node)
    }

    /// Removes the watches on other nodes. If the event of one has come already, it is counted and
    /// no request is sent.
    fn keep_only(&mut self, nodes: &[ZnodePath]) {
        self.set.retain_mut(|(node, watch)| {
            let kept = nodes.contains(node);
            if !kept {
                watch.check_fired();
            }
            kept
        });
    }

    /// Waits for a reply about the queue. A watch whose event comes before the reply is removed
    /// from the list: if the reply shows a node of that name, it is a newer one.
    async fn until_reply<T: Send>(&mut self, reply: impl Future<Output = T> + Send) -> T {
        let (mut fired, reply) = {
            // The futures are polled in the order in which they were woken, which is the order in
            // which the server sent.
            let mut firsts = FuturesUnordered::new();
            for (at, (_, watch)) in self.set.iter_mut().enumerate() {
                firsts.push(
                    async move {
                        watch.fired().await;
                        First::Event(at)
                    }
                    .boxed(),
                );
            }
            firsts.push(async { First::Reply(reply.await) }.boxed());
            let mut fired = Vec::new();
            loop {
                match firsts.next().await {
                    Some(First::Event(at)) => fired.push(at),
                    Some(First::Reply(reply)) => break (fired, reply),
                    None => std::future::pending().await,
                }
            }
        };
        fired.sort_unstable();
        for at in fired.into_iter().rev() {
            self.set.swap_remove(at);
        }
        reply
    }

    /// Waits for the first event and returns it; its node is then no longer watched. Returns an
    /// error when the session ends or the attempt is cancelled. Cancel safe.
    async fn event(&mut self) -> Result<EventType, NotAcquired> {
        self.client.meter.record(|| LockActivity::Waits);
        let first = poll_fn(|context| {
            let mut watches = self.set.iter_mut().enumerate();
            let first = watches.find_map(|(at, (_, watch))| match watch.poll_fired(context) {
                Poll::Ready(event) => Some((at, event)),
                Poll::Pending => None,
            });
            first.map_or(Poll::Pending, Poll::Ready)
        });
        let (at, event) = tokio::select! {
            biased;
            first = first => first,
            () = self.client.cancel.cancelled() => return Err(NotAcquired::Cancelled),
        };
        self.set.swap_remove(at);
        self.client.node_event(&event)
    }
}

/// Takes the queue lock, then a lease. Then, or on an error, the queue lock is released.
pub(crate) async fn contend_for_lease(attempt: &Attempt, leases: NonZeroU32) -> Result<HeldLock, NotAcquired> {
    let (locks, lease_parent) = (attempt.spec.path.child("locks"), attempt.spec.path.child("leases"));
    let names = QueueNames::leases();
    let max_holders = usize::try_from(leases.get()).unwrap_or(usize::MAX);
    let lease_queue = JoinedQueue { parent: &lease_parent, names: &names, mode: NodeMode::Lease, max_holders };
    if attempt.spec.has_turn {
        return enter_herd(attempt, &lease_queue).await;
    }
    let queue = JoinedQueue { parent: &locks, names: &attempt.spec.names, mode: NodeMode::Exclusive, max_holders: 1 };
    let queued = enter_chain(attempt, &queue).await?;
    // Only the holder of the queue lock gets here, so a single attempt watches the leases.
    let waited = enter_herd(attempt, &lease_queue).await;
    let held = clean_up(attempt, &queued.own, waited).await?;
    Ok(HeldLock { queue_node: Some(queued.own), ..held })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{Access, Algorithm, Naming};
    use lockscope_terms::znode::{Sequence, SessionId};

    fn names(algorithm: Algorithm) -> QueueNames {
        QueueNames::of(&Naming::Curator, algorithm).expect("the naming fits the algorithm")
    }

    const SHARED: Algorithm = Algorithm::SharedChain(Access::Write);

    fn node(names: &QueueNames, mode: NodeMode, number: i32) -> String {
        names.prefix(mode, Uuid::from_u128(number.unsigned_abs().into()), SessionId(1)) + &Sequence(number).to_string()
    }

    /// Waits for that node, and then holds.
    fn behind_head(on: &str) -> QueuePosition<'_> {
        QueuePosition::Waits { on, then_holds: true, ahead: None }
    }

    /// Waits for that node, and lists again when it goes.
    fn waits<'a>(on: &'a str, ahead: Option<&'a str>) -> QueuePosition<'a> {
        QueuePosition::Waits { on, then_holds: false, ahead }
    }

    #[test]
    fn the_lowest_number_holds_and_each_other_waits_for_the_nearest_before_it() {
        let names = names(Algorithm::Chain);
        let [a, b, c] = [3, 7, 9].map(|number| node(&names, NodeMode::Exclusive, number));
        let children = [c.clone(), "config".to_owned(), a.clone(), b.clone()];
        assert_eq!(position(&children, &a, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &b, &names, 1), behind_head(&a));
        assert_eq!(position(&children, &c, &names, 1), waits(&b, Some(&a)));
    }

    #[test]
    fn the_node_ahead_is_the_second_nearest_in_any_order_of_children() {
        let names = names(Algorithm::ChainAhead);
        let nodes = [3, 7, 9, 12].map(|number| node(&names, NodeMode::Exclusive, number));
        for turn in 0..nodes.len() {
            let mut children = nodes.to_vec();
            children.rotate_left(turn);
            assert_eq!(position(&children, &nodes[3], &names, 1), waits(&nodes[2], Some(&nodes[1])));
            children.reverse();
            assert_eq!(position(&children, &nodes[2], &names, 1), waits(&nodes[1], Some(&nodes[0])));
            assert_eq!(position(&children, &nodes[1], &names, 1), behind_head(&nodes[0]));
        }
    }

    #[test]
    fn an_unlisted_node_is_gone_whatever_nodes_are_before_it() {
        let names = names(Algorithm::Chain);
        let [a, b] = [1, 2].map(|number| node(&names, NodeMode::Exclusive, number));
        assert_eq!(position(&[], &a, &names, 1), QueuePosition::Gone);
        assert_eq!(position(std::slice::from_ref(&a), &b, &names, 1), QueuePosition::Gone);
    }

    #[test]
    fn numbers_are_ordered_as_signed_integers() {
        let names = names(Algorithm::Chain);
        let [last, before, wrapped] = [i32::MAX, i32::MAX - 1, i32::MIN].map(|n| node(&names, NodeMode::Exclusive, n));
        let children = [last.clone(), before.clone(), wrapped.clone()];
        assert_eq!(position(&children, &last, &names, 1), waits(&before, Some(&wrapped)));
        assert_eq!(position(&children, &before, &names, 1), behind_head(&wrapped));
        assert_eq!(position(&children, &wrapped, &names, 1), QueuePosition::Holds);
    }

    #[test]
    fn readers_hold_together_and_wait_for_the_last_writer_before_them() {
        let names = names(SHARED);
        let [r1, r2, r5] = [1, 2, 5].map(|number| node(&names, NodeMode::Read, number));
        let [w3, w4] = [3, 4].map(|number| node(&names, NodeMode::Exclusive, number));
        let children = [&r1, &r2, &w3, &w4, &r5].map(Clone::clone);
        assert_eq!(position(&children, &r1, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &r2, &names, 1), QueuePosition::Holds);
        assert_eq!(position(&children, &w3, &names, 1), waits(&r2, Some(&r1)));
        assert_eq!(position(&children, &w4, &names, 1), waits(&w3, Some(&r2)));
        assert_eq!(position(&children, &r5, &names, 1), waits(&w4, Some(&w3)));
        assert_eq!(position(&[w4.clone(), r5.clone()], &r5, &names, 1), behind_head(&w4));
        assert_eq!(position(&[r2.clone(), w3.clone()], &w3, &names, 1), behind_head(&r2));
    }

    #[test]
    fn a_writer_behind_a_writer_lists_again_after_a_possible_downgrade() {
        let names = names(SHARED);
        let [w3, w4] = [3, 4].map(|number| node(&names, NodeMode::Exclusive, number));
        let r3 = node(&names, NodeMode::Read, 3);
        assert_eq!(position(&[w3.clone(), w4.clone()], &w4, &names, 1), waits(&w3, None));
        assert_eq!(position(&[r3.clone(), w4.clone()], &w4, &names, 1), behind_head(&r3));
    }

    #[test]
    fn a_lease_is_granted_when_fewer_than_the_maximum_are_before() {
        let names = QueueNames::leases();
        let leases = [1, 2, 3].map(|number| node(&names, NodeMode::Lease, number));
        assert_eq!(position(&leases, &leases[1], &names, 2), QueuePosition::Holds);
        assert!(matches!(position(&leases, &leases[2], &names, 2), QueuePosition::Waits { .. }));
        assert_eq!(position(&leases, &leases[2], &names, 3), QueuePosition::Holds);
    }

    proptest! {
        #[test]
        fn a_writer_never_holds_together_with_anybody_else(
            requests in proptest::collection::btree_map(0i32..50, any::<bool>(), 1..20)
        ) {
            let names = names(SHARED);
            let mode = |reads: bool| if reads { NodeMode::Read } else { NodeMode::Exclusive };
            let children: Vec<String> = requests.iter().map(|(number, reads)| node(&names, mode(*reads), *number)).collect();
            let holders: Vec<_> = children.iter().filter(|own| position(&children, own, &names, 1) == QueuePosition::Holds).collect();
            let writers = holders.iter().filter(|name| name.contains("WRIT")).count();
            prop_assert!(!holders.is_empty());
            prop_assert!(writers == 0 || (writers == 1 && holders.len() == 1), "{holders:?}");
        }
    }
}
