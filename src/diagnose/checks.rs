//! The checks, what they look at, and what they remember from one look to the next.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::suspicion::Suspicion;
use super::unwatched::Unwatched;
use super::{
    TableAt, Thresholds, Waits, adopted, deadlock, disagrees, empty, expiring, foreign, ghost, head_expired, idle,
    leaked, lost_wake_up, orphan, orphan_suspected, overflow, persistent, self_blocked, stuck, unwatched,
};
use crate::queue::{ContenderState, LockId, LockQueue};
use crate::recipe::LockKind;
use crate::znode::{SessionId, Timestamp};

/// Suspicions of one kind told at most of one lock: what is wrong a hundred times has one cause.
pub(super) const MOST_OF_A_KIND: usize = 100;

/// What the checks remember. Each forgets what it no longer sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub unwatched: unwatched::Memory,
    pub hung: idle::Memory,
    pub stuck: stuck::Memory,
    pub adopted: adopted::Memory,
    pub lost: lost_wake_up::Memory,
    pub leaked: leaked::Memory,
    pub empty: empty::Memory,
}

/// A look at one lock.
pub(super) struct LockContext<'a> {
    pub table_at: TableAt<'a>,
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
        table_at: TableAt<'a>,
        thresholds: &'a Thresholds,
        lock: &'a LockQueue,
        memory: &mut unwatched::Memory,
    ) -> Self {
        let waits = lock.waiting() > 0 && lock.kind() != LockKind::SingleNode;
        let repeated = if waits { repeated(lock) } else { FxHashMap::default() };
        let watching = if waits { watching(table_at, lock) } else { FxHashSet::default() };
        let mut context = Self { table_at, thresholds, lock, repeated, watching, unwatched: Vec::new() };
        context.unwatched = unwatched::unwatched(&context, memory);
        context
    }

    pub fn now(&self) -> Timestamp {
        self.table_at.now()
    }

    /// How many wait for this lock: who watches a single node waits for it.
    pub fn waiting(&self) -> usize {
        match self.lock.kind() {
            LockKind::SingleNode => self.table_at.waiters(self.lock).map_or(0, |watchers| watchers.sessions.len()),
            _ => self.lock.waiting(),
        }
    }

    /// How long the first in line has waited. Nobody knows since when a single node is watched; it is enough that it is.
    pub fn first_waits(&self) -> Option<Duration> {
        if self.lock.kind() == LockKind::SingleNode {
            return (self.waiting() > 0).then_some(Duration::MAX);
        }
        let first =
            self.lock.rows(self.lock.holding()..self.lock.len()).find(|row| row.state == ContenderState::Waits)?;
        Some(self.now().since(first.contender.contends_since(self.table_at.table().clock_ahead_ms())))
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

fn watching(table_at: TableAt<'_>, lock: &LockQueue) -> FxHashSet<SessionId> {
    let watched = table_at.view().watched_below(&lock.queue_path());
    watched.flat_map(|(_, watched)| watched.sessions.iter().copied()).collect()
}

/// Everything that all checks see.
pub(super) fn all(table_at: TableAt<'_>, thresholds: &Thresholds, memory: &mut Memory) -> Vec<Suspicion> {
    let mut found = Vec::new();
    memory.unwatched.begin();
    memory.hung.begin();
    memory.stuck.begin();
    memory.adopted.begin();
    memory.lost.begin();
    memory.leaked.begin();
    memory.empty.begin();
    for lock in table_at.table().locks() {
        let context = LockContext::new(table_at, thresholds, lock, &mut memory.unwatched);
        ghost::check(&context, &mut found);
        disagrees::check(&context, &mut found);
        persistent::check(&context, &mut found);
        overflow::check(&context, &mut found);
        orphan::check(&context, &mut found);
        orphan_suspected::check(&context, &mut found);
        lost_wake_up::check(&context, &mut memory.lost, &mut found);
        expiring::check(&context, &mut found);
        adopted::check(&context, &mut memory.adopted, &mut found);
        head_expired::check(&context, &mut found);
        idle::check(&context, &mut memory.hung, &mut found);
        stuck::check(&context, &mut memory.stuck, &mut found);
        leaked::check(&context, &mut memory.leaked, &mut found);
        empty::check(&context, &mut memory.empty, &mut found);
    }
    foreign::check(table_at, &mut found);
    let waits = Waits::of(table_at.table());
    deadlock::check(table_at, thresholds, &waits, &mut found);
    self_blocked::check(table_at, thresholds, &waits, &mut memory.stuck, &mut found);
    found.retain(|suspicion| disagrees::leaves(table_at, &suspicion.finding));
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
