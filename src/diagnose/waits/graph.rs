//! The graph of waits: who waits for which lock, and who holds it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diagnose::{TableAt, election};
use crate::queue::{ContenderRow, ContenderState, LockId, LockQueue, LockTable};
use crate::recipe::LockKind;
use crate::znode::{SessionId, Timestamp, Zxid};

/// A session's claim on a lock: it holds it, or waits for it.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub session: SessionId,
    pub node: Arc<str>,
    /// The transaction that made the node; `None` where a waiter has none.
    czxid: Option<Zxid>,
    /// When it was seen to hold, or to come.
    since: Option<Timestamp>,
}

impl Claim {
    /// Whether this lock was held before that wait began, as when one thread takes one after the other.
    pub fn held_before(&self, wait: &Claim) -> bool {
        let made = self.czxid.zip(wait.czxid).is_none_or(|(held, waits)| held < waits);
        made && self.since.zip(wait.since).is_none_or(|(held, waits)| held <= waits)
    }
}

/// A lock that somebody holds and somebody waits for.
#[derive(Clone, Debug)]
pub(super) struct Contended {
    pub id: LockId,
    pub holders: Vec<Claim>,
    pub waiters: Vec<Claim>,
    /// Whether who waits for it cannot go on without it, and needs each of its holders to go.
    pub binds: bool,
}

/// Who holds and who awaits what.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// In the order of their paths.
    pub locks: Vec<Contended>,
    /// Where a session holds: places in `locks`, and in its holders.
    pub holds: FxHashMap<SessionId, Vec<(usize, usize)>>,
    /// Where a session waits: places in `locks`, and in its waiters.
    pub awaits: FxHashMap<SessionId, Vec<(usize, usize)>>,
}

impl Graph {
    pub fn of(table: &LockTable) -> Self {
        let table_at = TableAt::new(table, Timestamp::default());
        let mut graph = Self::default();
        for contended in table.locks().filter_map(|lock| contended(table_at, lock)) {
            let at = graph.locks.len();
            for (place, claim) in contended.holders.iter().enumerate() {
                graph.holds.entry(claim.session).or_default().push((at, place));
            }
            for (place, claim) in contended.waiters.iter().enumerate() {
                graph.awaits.entry(claim.session).or_default().push((at, place));
            }
            graph.locks.push(contended);
        }
        graph
    }
}

fn contended(table_at: TableAt<'_>, lock: &LockQueue) -> Option<Contended> {
    if lock.holding() == 0 || election::by_recipe(lock) || election::is_registry(lock) {
        return None;
    }
    let waiters = if lock.kind() == LockKind::SingleNode { watchers(table_at, lock) } else { waiters(lock) };
    if waiters.is_empty() {
        return None;
    }
    // Most locks have one: nothing more is kept for it.
    let mut holders = Vec::with_capacity(lock.holding());
    holders.extend(lock.rows(0..lock.holding()).filter_map(|row| claim(&row, held_since(&row))));
    let one = holders.first().is_some_and(|first: &Claim| holders.iter().all(|claim| claim.session == first.session));
    let binds = lock.kind() != LockKind::Semaphore || one;
    (!holders.is_empty()).then_some(Contended { id: lock.id(), holders, waiters, binds })
}

fn waiters(lock: &LockQueue) -> Vec<Claim> {
    let rows = lock.rows(lock.holding()..lock.len()).filter(|row| row.state == ContenderState::Waits);
    let mut waiters = Vec::with_capacity(lock.waiting());
    waiters.extend(rows.filter_map(|row| claim(&row, row.contender.enqueued_at)));
    waiters
}

fn held_since(row: &ContenderRow<'_>) -> Option<Timestamp> {
    row.contender.acquired_at
}

fn claim(row: &ContenderRow<'_>, since: Option<Timestamp>) -> Option<Claim> {
    let contender = row.contender;
    Some(Claim { session: contender.session?, node: Arc::clone(&contender.node), czxid: Some(contender.czxid), since })
}

fn watchers(table_at: TableAt<'_>, lock: &LockQueue) -> Vec<Claim> {
    let Some(watchers) = table_at.waiters(lock) else { return Vec::new() };
    let node: Arc<str> = lock.path().name().into();
    let claim = |session| Claim { session, node: Arc::clone(&node), czxid: None, since: None };
    watchers.sessions.into_iter().map(claim).collect()
}
