//! Which session waits for which, across locks.
//!
//! `graph` reads claims from a table, `cycles` finds sessions that wait in a cycle, and `blockers`
//! counts how many sessions each session blocks.

mod blockers;
mod cycles;
mod graph;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::graph::Graph;
use crate::queue::{LockId, LockTable};
use lockscope_base::znode::SessionId;

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
        let (cycles, self_blocked) = cycles::find(&graph);
        let blockers = blockers::count(&graph, &cycles, &self_blocked);
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
pub(super) fn cycles(table: &LockTable) -> (Vec<Cycle>, Vec<Wait>) {
    cycles::find(&Graph::of(table))
}
