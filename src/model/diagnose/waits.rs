//! The wait-for graph: which session waits for which, across locks.
//!
//! [`Waits`] is the result. [`Graph`] reads the claims of holders and waiters from a table. From it
//! follow the sessions that wait in a cycle, and how many sessions each session blocks.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnose::TableAt;
use crate::queue::{Contender, ContenderState, LockId, LockQueue, LockTable, by_recipe, is_registry};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

#[cfg(test)]
mod tests;

/// A session that waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// The waiting session.
    pub waiter: SessionId,
    /// The waiter's node; the lock's own node where waiters have none (single node).
    pub node: Arc<str>,
    /// The lock that the session waits for.
    pub lock: LockId,
    /// The session that holds the lock. With several holders, the one that matters here.
    pub blocker: SessionId,
    /// The holder's node.
    pub held: Arc<str>,
}

/// A session that blocks others and waits for nobody, or only for sessions that it blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The blocking session.
    pub session: SessionId,
    /// How many sessions it blocks, directly and indirectly.
    pub holds_up: usize,
    /// Whether the true number may be higher, since the count is bounded.
    pub at_least: bool,
    /// The locks that the session holds and others wait for, ordered by path.
    pub locks: Vec<LockId>,
}

/// Sessions that wait for each other: each waits for the session of the next entry, the last for
/// that of the first.
pub type Cycle = Vec<Wait>;

/// The wait-for graph of sessions.
///
/// A waiter in a queue waits for all holders. A waiter for one of several leases could get any of
/// them, so it is part of no cycle. Candidates in an election and members of a group wait for
/// nothing.
///
/// A session may have many threads. One thread waits only for locks that it requested *after*
/// those it holds, so only such waits form a cycle.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    blockers: Vec<Blocker>,
    cycles: Vec<Cycle>,
    self_blocked: Vec<Wait>,
}

impl Waits {
    /// Builds the graph of a table, with the watchers of its single-node locks where the servers
    /// list them. Nearly linear in the contenders, apart from the bounded counts.
    pub fn of(table: &LockTable) -> Self {
        let graph = Graph::of(table);
        let (cycles, self_blocked) = find(&graph);
        let blockers = count(&graph, &cycles, &self_blocked);
        Self { blockers, cycles, self_blocked }
    }

    /// Returns the sessions that block others and are blocked by nobody else, those that block most
    /// first.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// Returns the cycles of sessions across locks. Returns one cycle for each group of locks whose
    /// holders wait for each other.
    pub fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    /// Returns the sessions that wait for a lock that they hold themselves.
    pub fn self_blocked(&self) -> &[Wait] {
        &self.self_blocked
    }
}

/// Returns the cycles and the self-blocked sessions, as in [`Waits`], without counting blockers.
pub fn cycles(table: &LockTable) -> (Vec<Cycle>, Vec<Wait>) {
    find(&Graph::of(table))
}

/// A session's claim on a lock: it holds the lock or waits for it. The type is small, since there
/// is one per contender; the table has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
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
struct Graph<'a> {
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
pub fn may_block(queue: &LockQueue) -> bool {
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

/// Maximum number of reported cycles: the first in the order of their locks' paths.
const MOST_CYCLES: usize = 100;

/// Maximum number of steps from lock to lock that are visited. In a table with more, sessions take
/// part in thousands of locks at once, and further cycles are not searched.
const MOST_STEPS: u32 = 1_000_000;

/// A step in the graph: a session that holds one lock waits for another.
#[derive(Clone, Copy, Debug)]
struct WaitStep {
    held: Claim,
    awaited: Claim,
}

/// A holder that also waits. The type is small, since most contenders may be like this.
#[derive(Clone, Copy, Debug)]
struct WaitingHolder {
    /// The index of its claim among the holders.
    held: u32,
    /// The range of its claims among the waiters by session, as far as they are visited: the first
    /// index, and the one behind the last.
    awaits: (u32, u32),
}

/// All steps from lock to lock. They are produced on demand: there may be many times more than
/// contenders.
#[derive(Debug)]
struct Steps<'g, 'a> {
    graph: &'g Graph<'a>,
    /// Ordered by lock, then by position in the queue.
    holders: Vec<WaitingHolder>,
}

/// Returns one cycle for each group of locks whose holders wait for each other, and the sessions
/// that wait for themselves.
fn find(graph: &Graph<'_>) -> (Vec<Cycle>, Vec<Wait>) {
    let steps = Steps::of(graph);
    let own = steps.locks().filter_map(|lock| steps.to_itself(lock)).map(|step| wait(graph, step, step.held)).collect();
    let groups = groups(&steps);
    let cycles = groups.iter().take(MOST_CYCLES).filter_map(|group| shortest(&steps, group)).collect();
    (cycles, own)
}

impl<'g, 'a> Steps<'g, 'a> {
    fn of(graph: &'g Graph<'a>) -> Self {
        let mut holders = Vec::new();
        for held in graph.holders() {
            let awaits = graph.places_awaited_by(graph.held_at(held.start).session);
            if !awaits.is_empty() {
                let binding = held.filter(|place| graph.binds(graph.held_at(*place).lock));
                holders.extend(binding.map(|held| WaitingHolder { held, awaits: (awaits.start, awaits.end) }));
            }
        }
        // The list grew by doubling, and stays in memory during the search for groups.
        holders.shrink_to_fit();
        holders.sort_unstable_by_key(|holder| {
            let held = graph.held_at(holder.held);
            (held.lock, held.position)
        });
        let mut left = MOST_STEPS;
        for WaitingHolder { awaits: (first, end), .. } in &mut holders {
            *end = (*first).saturating_add(left).min(*end);
            left -= *end - *first;
        }
        Self { graph, holders }
    }

    /// Returns the claim of the hold, and the claims of the waits.
    fn claims(&self, holder: WaitingHolder) -> (Claim, &'g [Claim]) {
        let (first, end) = holder.awaits;
        (self.graph.held_at(holder.held), self.graph.awaited_at(first..end))
    }

    /// Returns the index of the held lock.
    fn lock_of(&self, holder: WaitingHolder) -> u32 {
        self.graph.held_at(holder.held).lock
    }

    /// Returns the locks with holders that wait.
    fn locks(&self) -> impl Iterator<Item = u32> {
        let of_one_lock = self.holders.chunk_by(|a, b| self.lock_of(*a) == self.lock_of(*b));
        of_one_lock.map(|holders| self.lock_of(holders[0]))
    }

    /// Returns the waiting holders of a lock.
    fn holders_of(&self, lock: u32) -> &[WaitingHolder] {
        let from = &self.holders[self.holders.partition_point(|holder| self.lock_of(*holder) < lock)..];
        &from[..from.partition_point(|holder| self.lock_of(*holder) == lock)]
    }

    /// Returns the steps from a lock. Not all of them [count](Self::counts).
    fn from(&self, lock: u32) -> impl Iterator<Item = WaitStep> {
        self.holders_of(lock).iter().flat_map(|holder| {
            let (held, awaits) = self.claims(*holder);
            awaits.iter().map(move |awaited| WaitStep { held, awaited: *awaited })
        })
    }

    /// Returns whether the waiter cannot proceed without the awaited lock.
    fn counts(&self, step: WaitStep) -> bool {
        self.graph.binds(step.awaited.lock) && self.graph.held_before(step.held, step.awaited)
    }

    /// Returns the first step from a lock to itself.
    fn to_itself(&self, lock: u32) -> Option<WaitStep> {
        let mut own = self.holders_of(lock).iter().flat_map(|holder| {
            let (held, awaits) = self.claims(*holder);
            let first = awaits.partition_point(|awaited| awaited.lock < lock);
            let own = awaits[first..].iter().take_while(move |awaited| awaited.lock == lock);
            own.map(move |awaited| WaitStep { held, awaited: *awaited })
        });
        own.find(|step| self.counts(*step))
    }
}

/// Returns the wait of a step whose awaited lock is held by the claim `held`.
fn wait(graph: &Graph<'_>, step: WaitStep, held: Claim) -> Wait {
    Wait {
        waiter: step.awaited.session,
        node: graph.node(step.awaited),
        lock: graph.id(step.awaited.lock),
        blocker: held.session,
        held: graph.node(held),
    }
}

/// Returns the strongly connected groups of more than one lock, by Tarjan's algorithm without
/// recursion.
fn groups(steps: &Steps<'_, '_>) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let count = steps.graph.len();
    let (mut number, mut low, mut on_stack) = (vec![NEW; count], vec![0; count], vec![false; count]);
    let (mut next, mut stack, mut groups) = (0, Vec::new(), Vec::new());
    for root in steps.locks() {
        if number[root as usize] != NEW {
            continue;
        }
        let mut path = Vec::new();
        let mut entered = Some(root);
        while entered.is_some() || !path.is_empty() {
            if let Some(lock) = entered.take() {
                let at = lock as usize;
                (number[at], low[at]) = (next, next);
                next += 1;
                stack.push(lock);
                on_stack[at] = true;
                path.push((lock, steps.from(lock)));
            }
            let Some((lock, ways)) = path.last_mut() else { break };
            let at = *lock as usize;
            if let Some(step) = ways.next() {
                let to = step.awaited.lock as usize;
                let is_open = number[to] == NEW || on_stack[to] && number[to] < low[at];
                if !is_open || !steps.counts(step) {
                    continue;
                }
                if number[to] == NEW {
                    entered = Some(step.awaited.lock);
                } else {
                    low[at] = number[to];
                }
                continue;
            }
            path.pop();
            if low[at] == number[at] {
                let from = stack.iter().rposition(|other| *other as usize == at).unwrap_or_default();
                let mut group = stack.split_off(from);
                for member in &group {
                    on_stack[*member as usize] = false;
                }
                if group.len() > 1 {
                    group.sort_unstable();
                    groups.push(group);
                }
            }
            if let Some((above, _)) = path.last() {
                low[*above as usize] = low[*above as usize].min(low[at]);
            }
        }
    }
    groups.sort_unstable();
    groups
}

/// Returns the shortest cycle through the first lock of a group.
fn shortest(steps: &Steps<'_, '_>, group: &[u32]) -> Option<Cycle> {
    let first = *group.first()?;
    let mut came: FxHashMap<u32, WaitStep> = FxHashMap::default();
    let mut open = VecDeque::from([first]);
    'search: while let Some(at) = open.pop_front() {
        for step in steps.from(at).filter(|step| step.awaited.lock != at) {
            let to = step.awaited.lock;
            if group.binary_search(&to).is_err() {
                continue;
            }
            if let Entry::Vacant(place) = came.entry(to)
                && steps.counts(step)
            {
                place.insert(step);
                if to == first {
                    break 'search;
                }
                open.push_back(to);
            }
        }
    }
    let mut around = Vec::new();
    let mut at = first;
    loop {
        let step = *came.get(&at)?;
        around.push(step);
        at = step.held.lock;
        if at == first {
            break;
        }
    }
    around.reverse();
    // The lock at the end of each step is held by the session of the next step.
    let holders = around.iter().cycle().skip(1).map(|next| next.held);
    Some(around.iter().zip(holders).map(|(step, held)| wait(steps.graph, *step, held)).collect())
}

/// Maximum number of claims that all counts together visit.
const MOST_LOOKED_AT: usize = 2_000_000;

/// Returns the sessions that block others and are themselves blocked by nobody, or only in a cycle.
///
/// Where sessions block each other without a proven cycle, the first by session id stands for them,
/// so that no waiter is left out.
fn count(graph: &Graph<'_>, cycles: &[Cycle], own: &[Wait]) -> Vec<Blocker> {
    let mut circling: FxHashSet<SessionId> = cycles.iter().flatten().map(|wait| wait.waiter).collect();
    circling.extend(own.iter().map(|wait| wait.waiter));
    let mut left = MOST_LOOKED_AT;
    // Sorted by session, so that the same table has the same counts where they end early.
    let holders: Vec<SessionId> = graph.holders().map(|held| graph.held_at(held.start).session).collect();
    let is_root = |session: &SessionId| circling.contains(session) || graph.awaited_by(*session).is_empty();
    let roots: Vec<SessionId> = holders.iter().copied().filter(is_root).collect();
    let mut reached: FxHashSet<SessionId> = roots.iter().copied().collect();
    let mut blockers: Vec<Blocker> =
        roots.into_iter().map(|session| blocker(graph, session, &mut reached, &mut left)).collect();
    let others: Vec<SessionId> = holders.into_iter().filter(|session| !reached.contains(session)).collect();
    for session in others {
        if left > 0 && !reached.contains(&session) {
            let blocker = blocker(graph, session, &mut reached, &mut left);
            blockers.extend((blocker.holds_up > 0).then_some(blocker));
        }
    }
    blockers.sort_by_key(|blocker| (Reverse(blocker.holds_up), blocker.session));
    blockers
}

/// Counts the sessions that `session` blocks, and adds them to `reached`.
fn blocker(graph: &Graph<'_>, session: SessionId, reached: &mut FxHashSet<SessionId>, left: &mut usize) -> Blocker {
    let held = |session| graph.held_by(session).iter().map(|claim| claim.lock);
    let mut open: Vec<u32> = held(session).collect();
    let mut locks: Vec<u32> = open.clone();
    locks.dedup();
    let mut seen: FxHashSet<u32> = open.iter().copied().collect();
    let mut held_up = FxHashSet::default();
    let mut at_least = false;
    while let Some(at) = open.pop() {
        for waiter in graph.waiters_of(at) {
            if *left == 0 {
                at_least = true;
                break;
            }
            *left -= 1;
            if waiter.session != session && held_up.insert(waiter.session) {
                open.extend(held(waiter.session).filter(|lock| seen.insert(*lock)));
            }
        }
    }
    reached.extend(held_up.iter().copied());
    let locks = locks.into_iter().map(|lock| graph.id(lock)).collect();
    Blocker { session, holds_up: held_up.len(), at_least, locks }
}
