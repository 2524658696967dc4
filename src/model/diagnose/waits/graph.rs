//! The graph of waits: the waiters and the holders of each lock.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnose::TableAt;
use crate::queue::{Contender, ContenderState, LockId, LockQueue, LockTable, by_recipe, is_registry};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

/// A session's claim on a lock: it holds the lock or waits for it. The type is small, since there
/// is one per contender; the table has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub session: SessionId,
    /// The index of the lock in [`Graph::locks`].
    pub lock: u32,
    /// The position in the lock's queue; [`NO_NODE`] for a waiter for a single node.
    pub position: u32,
}

/// The position of a waiter without a node.
const NO_NODE: u32 = u32::MAX;

/// A lock with at least one holder and one waiter.
#[derive(Clone, Copy, Debug)]
struct Contended<'a> {
    queue: &'a LockQueue,
    /// The index of the first waiter in [`Graph::waiters`].
    first_waiter: u32,
    /// Whether a waiter needs this lock, and needs each of its holders to release it.
    binds: bool,
}

/// The holders and the waiters of all contended locks.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph<'a> {
    /// Ordered by path.
    locks: Vec<Contended<'a>>,
    /// Ordered by session, then by lock.
    holders: Vec<Claim>,
    /// Ordered by lock, then by position in the queue.
    waiters: Vec<Claim>,
    /// The same claims as in `waiters`, ordered by session.
    waiters_by_session: Vec<Claim>,
}

impl<'a> Graph<'a> {
    pub fn of(table: &'a LockTable) -> Self {
        let table_at = TableAt::new(table, Timestamp::default());
        let mut graph = Self::with_room_for(table);
        for lock in table.locks() {
            graph.add(table_at, lock);
        }
        graph.holders.sort_unstable();
        graph.waiters_by_session.clone_from(&graph.waiters);
        graph.waiters_by_session.sort_unstable();
        graph
    }

    /// Creates an empty graph with room for all queued contenders. Growth by doubling could take
    /// three times the memory. Watchers of single nodes are not included.
    fn with_room_for(table: &LockTable) -> Self {
        let (mut locks, mut holders, mut waiters) = (0, 0, 0);
        for queue in table.locks().filter(|queue| queue.waiting() > 0 && may_block(queue)) {
            locks += 1;
            holders += queue.holding();
            waiters += queue.waiting();
        }
        Self {
            locks: Vec::with_capacity(locks),
            holders: Vec::with_capacity(holders),
            waiters: Vec::with_capacity(waiters),
            waiters_by_session: Vec::new(),
        }
    }

    /// Adds a lock if it has at least one holder and one waiter.
    fn add(&mut self, table_at: TableAt<'_>, queue: &'a LockQueue) {
        if !may_block(queue) {
            return;
        }
        let (at, first_holder, first_waiter) = (index(self.locks.len()), self.holders.len(), self.waiters.len());
        let claim = |session, position| Claim { session, lock: at, position };
        if queue.kind() == LockKind::SingleNode {
            let watchers = table_at.waiters(queue).into_iter().flat_map(|watchers| watchers.sessions);
            self.waiters.extend(watchers.map(|session| claim(session, NO_NODE)));
        } else {
            let waiting = queue.rows(queue.holding()..queue.len()).filter(|row| row.state == ContenderState::Waits);
            let sessions = waiting.filter_map(|row| Some((row.contender.session()?, row.position)));
            self.waiters.extend(sessions.map(|(session, position)| claim(session, index(position))));
        }
        if self.waiters.len() == first_waiter {
            return;
        }
        let holding = queue.rows(0..queue.holding());
        let sessions = holding.filter_map(|row| Some((row.contender.session()?, row.position)));
        self.holders.extend(sessions.map(|(session, position)| claim(session, index(position))));
        let Some((first, others)) = self.holders[first_holder..].split_first() else {
            self.waiters.truncate(first_waiter);
            return;
        };
        let one = others.iter().all(|other| other.session == first.session);
        let binds = queue.kind() != LockKind::Semaphore || one;
        self.locks.push(Contended { queue, first_waiter: index(first_waiter), binds });
    }

    /// Returns the number of locks with a holder and a waiter.
    pub fn len(&self) -> usize {
        self.locks.len()
    }

    pub fn id(&self, lock: u32) -> LockId {
        self.locks[lock as usize].queue.id()
    }

    /// Returns whether a waiter needs this lock, and needs each of its holders to release it.
    pub fn binds(&self, lock: u32) -> bool {
        self.locks[lock as usize].binds
    }

    /// Returns the range of claims of each session among the holders.
    pub fn holders(&self) -> impl Iterator<Item = Range<u32>> {
        let mut end = 0;
        self.holders.chunk_by(|a, b| a.session == b.session).map(move |claims| {
            let first = end;
            end += index(claims.len());
            first..end
        })
    }

    /// Returns a holder's claim by its index.
    pub fn held_at(&self, place: u32) -> Claim {
        self.holders[place as usize]
    }

    /// Returns waiters' claims by their indexes in the order of sessions.
    pub fn awaited_at(&self, places: Range<u32>) -> &[Claim] {
        &self.waiters_by_session[places.start as usize..places.end as usize]
    }

    /// Returns the claims by which a session holds.
    pub fn held_by(&self, session: SessionId) -> &[Claim] {
        &self.holders[places_of(&self.holders, session)]
    }

    /// Returns the claims by which a session waits.
    pub fn awaited_by(&self, session: SessionId) -> &[Claim] {
        &self.waiters_by_session[places_of(&self.waiters_by_session, session)]
    }

    /// Returns the range of a session's claims among the waiters by session.
    pub fn places_awaited_by(&self, session: SessionId) -> Range<u32> {
        let places = places_of(&self.waiters_by_session, session);
        index(places.start)..index(places.end)
    }

    /// Returns the claims of a lock's waiters.
    pub fn waiters_of(&self, lock: u32) -> &[Claim] {
        let first = self.locks[lock as usize].first_waiter as usize;
        let end = self.locks.get(lock as usize + 1).map_or(self.waiters.len(), |next| next.first_waiter as usize);
        &self.waiters[first..end]
    }

    /// Returns whether the lock of `held` was acquired before `wait` began, as when one thread
    /// takes one lock after the other.
    pub fn held_before(&self, held: Claim, wait: Claim) -> bool {
        let (Some(holder), Some(waiter)) = (self.contender(held), self.contender(wait)) else { return true };
        let came = holder.acquired_at().zip(waiter.enqueued_at());
        holder.czxid < waiter.czxid && came.is_none_or(|(held, waits)| held <= waits)
    }

    /// Returns the node of a claim, or the lock's own node if waiters have none.
    pub fn node(&self, claim: Claim) -> Arc<str> {
        let lock_node = || self.locks[claim.lock as usize].queue.path().name().into();
        self.contender(claim).map_or_else(lock_node, |contender| Arc::clone(&contender.node))
    }

    fn contender(&self, claim: Claim) -> Option<&'a Contender> {
        let queue = self.locks[claim.lock as usize].queue;
        queue.contender_at(claim.position as usize)
    }
}

/// Returns whether the lock has holders that may block others. Candidates in an election and
/// members of a registry are not blocked.
fn may_block(queue: &LockQueue) -> bool {
    queue.holding() > 0 && !by_recipe(queue) && !is_registry(queue)
}

/// Converts an index. It fits: each lock and each contender takes hundreds of bytes of memory.
fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NO_NODE)
}

/// Returns the range of a session's claims in a list that is sorted by session.
fn places_of(claims: &[Claim], session: SessionId) -> Range<usize> {
    let first = claims.partition_point(|claim| claim.session < session);
    first..first + claims[first..].partition_point(|claim| claim.session == session)
}
