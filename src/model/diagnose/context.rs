//! What every check sees: one lock in the middle of all that is known, or all locks together.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::suspicion::{Suspicion, finding};
use super::waits::{Cycle, Wait};
use super::{Code, Finding, OwnerState, Severity, TableAt, Thresholds, election};
use crate::queue::{Contender, ContenderRow, ContenderState, LockQueue};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

/// How many suspicions of one kind are reported of one lock at most: what is wrong a hundred times has one cause.
pub(super) const MAX_SUSPICIONS: usize = 100;

/// One check: what is seen now goes in, with what it remembers itself; suspicions come out.
pub(super) trait Check {
    /// A look begins: what the last one did not see is forgotten.
    fn begin(&mut self) {}

    /// Looks at one lock.
    fn look_at_lock(&mut self, _context: &LockContext<'_>, _found: &mut Vec<Suspicion>) {}

    /// Looks at all locks together, before each is looked at alone.
    fn look_at_all(&mut self, _context: &TableContext<'_>, _found: &mut Vec<Suspicion>) {}
}

/// All locks at one moment.
pub(super) struct TableContext<'a> {
    pub table_at: TableAt<'a>,
    pub thresholds: &'a Thresholds,
    /// Sessions that wait for each other, across locks.
    pub cycles: Vec<Cycle>,
    /// Sessions that wait for a lock that they hold themselves.
    pub self_blocked: Vec<Wait>,
}

/// One lock at one moment.
pub(super) struct LockContext<'a> {
    pub table_at: TableAt<'a>,
    pub thresholds: &'a Thresholds,
    pub lock: &'a LockQueue,
    /// The sessions that stand in this queue more than once, with their positions.
    pub repeated: FxHashMap<SessionId, Vec<usize>>,
    /// The sessions that watch a node of this queue, as far as the servers say.
    pub watching: FxHashSet<SessionId>,
    /// The waiters that nothing will wake.
    pub unwatched: Vec<Unwatched>,
}

/// A waiter whose client lives and watches neither what it waits for nor the parent's children.
#[derive(Clone, Debug)]
pub(super) struct Unwatched {
    pub position: usize,
    pub session: SessionId,
    /// What it waits for.
    pub behind: Arc<str>,
    /// As long as this is the same it waits for the same node.
    pub state: i64,
    /// When its server was asked who watches what.
    pub gathered: Timestamp,
    /// When its client was last heard of.
    pub heard: Option<Timestamp>,
    /// The number of its client's last request.
    pub cxid: Option<i64>,
}

impl<'a> LockContext<'a> {
    /// A lock, with no waiter yet that nothing will wake: that takes [memory](super::unwatched::UnwatchedMemory).
    pub fn new(table_at: TableAt<'a>, thresholds: &'a Thresholds, lock: &'a LockQueue) -> Self {
        let waits = lock.waiting() > 0 && lock.kind() != LockKind::SingleNode;
        let repeated = if waits { repeated(lock) } else { FxHashMap::default() };
        let is_listed = waits && table_at.view().lists_watches();
        let watching = if is_listed { watching(table_at, lock) } else { FxHashSet::default() };
        Self { table_at, thresholds, lock, repeated, watching, unwatched: Vec::new() }
    }

    pub fn now(&self) -> Timestamp {
        self.table_at.now()
    }

    /// How many wait for this lock.
    pub fn waiting(&self) -> usize {
        self.table_at.waiting(self.lock)
    }

    /// Whether somebody waits who will not be granted the lock by itself, given that this contender never lets go. A registry's members
    /// may wait for nothing. Another lease of a semaphore that somebody can return lets a waiter in. That a single node is waited for is
    /// the servers' word alone.
    pub fn blocks_for_good(&self, row: &ContenderRow<'_>) -> bool {
        let can_tell = self.lock.kind() != LockKind::SingleNode || self.table_at.view().provenance().can_prove();
        row.state == ContenderState::Holds
            && self.waiting() > 0
            && can_tell
            && !election::is_registry(self.lock)
            && (self.lock.kind() != LockKind::Semaphore || self.no_other_lets_go(row.position))
    }

    /// Whether every other holder is one that no session's end deletes.
    fn no_other_lets_go(&self, position: usize) -> bool {
        let mut others = self.lock.rows(0..self.lock.holding()).filter(|other| other.position != position);
        others
            .all(|other| matches!(self.table_at.owner_of(other.contender).0, OwnerState::Ghost | OwnerState::Ownerless))
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

/// How a finding about a contender is begun.
pub(super) fn of_contender(
    code: Code,
    severity: Severity,
    context: &LockContext<'_>,
    contender: &Contender,
) -> Finding {
    finding(code, severity, context.lock, Some(&contender.node)).of_client(context.table_at.identity(contender))
}

/// How long somebody has held at the least; zero for who does not hold.
pub(super) fn held_at_least(table_at: TableAt<'_>, contender: &Contender) -> Duration {
    table_at.table().hold_bounds(contender, table_at.now()).map(|bounds| bounds.at_least).unwrap_or_default()
}

fn repeated(lock: &LockQueue) -> FxHashMap<SessionId, Vec<usize>> {
    if is_short_without_repetition(lock) {
        return FxHashMap::default();
    }
    let mut first: FxHashMap<SessionId, usize> = FxHashMap::default();
    let mut repeated: FxHashMap<SessionId, Vec<usize>> = FxHashMap::default();
    for position in 0..lock.len() {
        let Some(session) = lock.contender_at(position).and_then(Contender::session) else { continue };
        if let Some(before) = first.insert(session, position) {
            repeated.entry(session).or_insert_with(|| vec![before]).push(position);
        }
    }
    repeated
}

/// Whether a queue is so short that all its sessions are quickly compared with each other, and no two are the same: so it is with
/// nearly all locks of many.
fn is_short_without_repetition(lock: &LockQueue) -> bool {
    const MAX_SHORT: usize = 8;
    if lock.len() > MAX_SHORT {
        return false;
    }
    let mut sessions = [None; MAX_SHORT];
    for (position, session) in sessions.iter_mut().enumerate().take(lock.len()) {
        *session = lock.contender_at(position).and_then(Contender::session);
    }
    let sessions = &sessions[..lock.len()];
    !(1..sessions.len()).any(|at| sessions[at].is_some() && sessions[..at].contains(&sessions[at]))
}

fn watching(table_at: TableAt<'_>, lock: &LockQueue) -> FxHashSet<SessionId> {
    let watched = table_at.view().watched_below(&lock.queue_path());
    watched.flat_map(|(_, watched)| watched.sessions.iter().copied()).collect()
}
