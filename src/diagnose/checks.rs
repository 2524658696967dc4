//! The checks, what they look at, and what they remember from one look to the next.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::suspicion::Suspicion;
use super::unwatched::Unwatched;
use super::{
    TableAt, Thresholds, Waits, adopted, deadlock, disagrees, empty, expiring, foreign, ghost, head_expired, hung,
    leaked, lost_wake_up, orphan, orphan_suspected, overflow, persistent, self_blocked, stuck, unwatched,
};
use crate::queue::{LockId, LockQueue, State};
use crate::recipe::Kind;
use crate::znode::{SessionId, Timestamp};

/// Suspicions of one kind told at most of one lock: what is wrong a hundred times has one cause.
pub(super) const MOST_OF_A_KIND: usize = 100;

/// What the checks remember. Each forgets what it no longer sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub unwatched: unwatched::Memory,
    pub hung: hung::Memory,
    pub stuck: stuck::Memory,
    pub adopted: adopted::Memory,
    pub lost: lost_wake_up::Memory,
    pub leaked: leaked::Memory,
    pub empty: empty::Memory,
}

/// A look at one lock.
pub(super) struct LockContext<'a> {
    pub sight: TableAt<'a>,
    pub thresholds: &'a Thresholds,
    pub lock: &'a LockQueue,
    /// The sessions that stand in this queue more than once, with their positions.
    pub repeated: FxHashMap<SessionId, Vec<usize>>,
    /// The sessions that watch a node of this queue, as far as the servers told.
    pub watching: FxHashSet<SessionId>,
    /// The waiters that nothing will wake.
    pub unwatched: Vec<Unwatched>,
}

impl<'a> LockContext<'a> {
    fn new(
        sight: TableAt<'a>,
        thresholds: &'a Thresholds,
        lock: &'a LockQueue,
        memory: &mut unwatched::Memory,
    ) -> Self {
        let waits = lock.waiting() > 0 && lock.kind() != Kind::SingleNode;
        let repeated = if waits { repeated(lock) } else { FxHashMap::default() };
        let watching = if waits { watching(sight, lock) } else { FxHashSet::default() };
        let mut scene = Self { sight, thresholds, lock, repeated, watching, unwatched: Vec::new() };
        scene.unwatched = unwatched::unwatched(&scene, memory);
        scene
    }

    pub fn now(&self) -> Timestamp {
        self.sight.now()
    }

    /// How many wait for this lock: who watches a single node waits for it.
    pub fn waiting(&self) -> usize {
        match self.lock.kind() {
            Kind::SingleNode => self.sight.waiters(self.lock).map_or(0, |watchers| watchers.sessions.len()),
            _ => self.lock.waiting(),
        }
    }

    /// How long the first in line has waited. Nobody knows since when a single node is watched; it is enough that it is.
    pub fn first_waits(&self) -> Option<Duration> {
        if self.lock.kind() == Kind::SingleNode {
            return (self.waiting() > 0).then_some(Duration::MAX);
        }
        let first = self.lock.rows(self.lock.holding()..self.lock.len()).find(|row| row.state == State::Waits)?;
        Some(self.now().since(first.contender.contends_since(self.sight.table().clock_ahead_ms())))
    }
}

fn repeated(lock: &LockQueue) -> FxHashMap<SessionId, Vec<usize>> {
    let mut first: FxHashMap<SessionId, usize> = FxHashMap::default();
    let mut repeated: FxHashMap<SessionId, Vec<usize>> = FxHashMap::default();
    for row in lock.rows(0..lock.len()) {
        let Some(session) = row.contender.session else { continue };
        if let Some(before) = first.insert(session, row.position) {
            repeated.entry(session).or_insert_with(|| vec![before]).push(row.position);
        }
    }
    repeated
}

fn watching(sight: TableAt<'_>, lock: &LockQueue) -> FxHashSet<SessionId> {
    let watched = sight.view().watched_below(&lock.queue_path());
    watched.flat_map(|(_, watched)| watched.sessions.iter().copied()).collect()
}

/// Everything that all checks see.
pub(super) fn all(sight: TableAt<'_>, thresholds: &Thresholds, memory: &mut Memory) -> Vec<Suspicion> {
    let mut found = Vec::new();
    memory.unwatched.begin();
    memory.hung.begin();
    memory.stuck.begin();
    memory.adopted.begin();
    memory.lost.begin();
    memory.leaked.begin();
    memory.empty.begin();
    for lock in sight.table().locks() {
        let scene = LockContext::new(sight, thresholds, lock, &mut memory.unwatched);
        ghost::check(&scene, &mut found);
        disagrees::check(&scene, &mut found);
        persistent::check(&scene, &mut found);
        overflow::check(&scene, &mut found);
        orphan::check(&scene, &mut found);
        orphan_suspected::check(&scene, &mut found);
        lost_wake_up::check(&scene, &mut memory.lost, &mut found);
        expiring::check(&scene, &mut found);
        adopted::check(&scene, &mut memory.adopted, &mut found);
        head_expired::check(&scene, &mut found);
        hung::check(&scene, &mut memory.hung, &mut found);
        stuck::check(&scene, &mut memory.stuck, &mut found);
        leaked::check(&scene, &mut memory.leaked, &mut found);
        empty::check(&scene, &mut memory.empty, &mut found);
    }
    foreign::check(sight, &mut found);
    let waits = Waits::of(sight.table());
    deadlock::check(sight, thresholds, &waits, &mut found);
    self_blocked::check(sight, thresholds, &waits, &mut memory.stuck, &mut found);
    found.retain(|suspicion| disagrees::leaves(sight, &suspicion.finding));
    found
}

/// What a check remembers under a key, as long as it sees it again at each look.
#[derive(Clone, Debug)]
pub(super) struct RoundMemory<K, V> {
    kept: FxHashMap<K, (u64, V)>,
    round: u64,
}

impl<K, V> Default for RoundMemory<K, V> {
    fn default() -> Self {
        Self { kept: FxHashMap::default(), round: 0 }
    }
}

impl<K: std::hash::Hash + Eq, V> RoundMemory<K, V> {
    /// A look begins: what was not seen at the last one is forgotten.
    pub fn begin(&mut self) {
        let round = self.round;
        self.kept.retain(|_, (seen, _)| *seen == round);
        self.round += 1;
    }

    /// What is remembered under a key, made when there is nothing. It is kept for the next look.
    pub fn see(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (seen, value) = self.kept.entry(key).or_insert_with(|| (0, make()));
        *seen = self.round;
        value
    }

    /// What is remembered under a key. It is kept for the next look.
    pub fn recall(&mut self, key: &K) -> Option<&mut V> {
        let round = self.round;
        self.kept.get_mut(key).map(|(seen, value)| {
            *seen = round;
            value
        })
    }
}

/// A lock's node, told from all that ever bore its name.
pub(super) type NodeKey = (LockId, i64);
