//! Which session waits for which, across locks.
//!
//! `graph` reads claims from a table, `cycles` finds who waits in a cycle, `blockers` counts whom a session holds up.

mod blockers;
mod cycles;
mod graph;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::graph::Graph;
use crate::queue::{LockId, LockTable};
use lockscope_base::znode::SessionId;

/// A session waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// Who waits.
    pub waiter: SessionId,
    /// Its node; the lock's own, where waiters have none (single node).
    pub node: Arc<str>,
    /// For which lock.
    pub lock: LockId,
    /// Who holds it; where several do, the one that matters here.
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
    /// Whether there are more, which nobody counted: the count is bounded.
    pub at_least: bool,
    /// The locks that it holds and others wait for, in the order of their paths.
    pub locks: Vec<LockId>,
}

/// Sessions that wait for each other: each of these waits for the session of the next, the last for that of the first.
pub type Cycle = Vec<Wait>;

/// The wait-for graph of sessions.
///
/// Who waits in a queue waits for all who hold it. Of those who wait for one of several leases nobody can say for which: they
/// make no cycle. Who stands by in an election, or is a member of a group, waits for nothing. A session may have many
/// threads; that it waits for what it took *before* it began to wait is what one thread would do, and only that makes a cycle.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    blockers: Vec<Blocker>,
    cycles: Vec<Cycle>,
    self_blocked: Vec<Wait>,
}

impl Waits {
    /// The graph of a table, and of the watchers of its single-node locks where the servers told them. Nearly linear in the
    /// contenders but for the counts, which are bounded.
    pub fn of(table: &LockTable) -> Self {
        let graph = Graph::of(table);
        let (cycles, self_blocked) = cycles::find(&graph);
        let blockers = blockers::count(&graph, &cycles, &self_blocked);
        Self { blockers, cycles, self_blocked }
    }

    /// Those who hold others up and whom nobody else holds up, who holds up most first.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// Circles of sessions, across locks: one of those in which the same sessions take part.
    pub fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    /// Sessions that wait for a lock that they hold themselves.
    pub fn self_blocked(&self) -> &[Wait] {
        &self.self_blocked
    }
}

/// As [`Waits`], without the counts of those who hold others up: the cycles, and the sessions that wait for themselves.
pub(super) fn cycles(table: &LockTable) -> (Vec<Cycle>, Vec<Wait>) {
    cycles::find(&Graph::of(table))
}
