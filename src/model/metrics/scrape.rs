//! The figures of one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Histogram;
use crate::diagnose::{Code, Severity};
use crate::queue::{LockQueue, WatchEvents};
use crate::server_view::Load;
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::ZnodePath;

/// How many findings there are of each kind.
pub(super) type FindingCounts = BTreeMap<(Code, Severity), u64>;

/// Everything that is served at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// The servers and the chroot, without what their addresses may hold of identities.
    pub ensemble: String,
    /// Whether the locks are known as they are now.
    pub is_live: bool,
    /// How many locks there are; `None` while that is not known.
    pub locks: Option<u64>,
    /// How many contenders; `None` while that is not known.
    pub contenders: Option<u64>,
    /// The members of the ensemble that are known; `None` when nobody asks them.
    pub servers: Option<ServerFigures>,
    /// How often the locks were lost from sight.
    pub gaps: u64,
    /// Changes that were taken in.
    pub changes: u64,
    /// The recorder itself.
    pub process: ProcessFigures,
    /// The locks that have series of their own.
    pub named: Vec<LockFigures>,
    /// All others together.
    pub others: LockFigures,
    /// How many others there are; `None` while that is not known.
    pub other_locks: Option<u64>,
}

/// What the servers say about themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// How many there are.
    pub known: u64,
    /// How many of them answered, the last time.
    pub answering: u64,
    /// Connections with sessions, those of lockscope included; `None` when no server lists them.
    pub connections: Option<u64>,
    /// What asking them cost.
    pub asked: Load,
}

/// The recorder's own figures, which only its process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// Changes that were seen and not taken in yet.
    pub changes_behind: u64,
    /// Whether what happens is written into the file; `None` when there is none.
    pub is_stored: Option<bool>,
    /// Its memory, in bytes; `None` where the system does not tell.
    pub resident_bytes: Option<u64>,
}

/// What names the series of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockLabels {
    /// One lock.
    One {
        /// Its path.
        path: ZnodePath,
        /// Which of several queues that one parent can hold.
        name: Option<Arc<str>>,
        /// Who made it.
        recipe: Recipe,
    },
    /// All that have no series of their own.
    Others,
}

impl LockLabels {
    pub(super) fn of(lock: &LockQueue, recipe: Recipe) -> Self {
        Self::One { path: lock.path().clone(), name: lock.own_name().cloned(), recipe }
    }
}

/// One lock, or all without series of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct LockFigures {
    /// What names its series.
    pub labels: LockLabels,
    /// What was counted.
    pub counts: LockCounts,
    /// How it is now; `None` while that is not known.
    pub state: Option<LockState>,
    /// How many findings there are of each kind.
    pub findings: FindingCounts,
}

impl LockFigures {
    pub(super) fn others(counts: &LockCounts) -> Self {
        Self { labels: LockLabels::Others, counts: *counts, state: None, findings: FindingCounts::new() }
    }
}

/// What was counted of a lock since it has a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// Contenders that became holders.
    pub acquisitions: u64,
    /// Contenders that went with their sessions.
    pub expiries: u64,
    /// What its changes cost.
    pub watch_events: WatchEvents,
    /// How long holders had waited, where both ends were seen.
    pub waits: Histogram,
    /// How long holders held, where both ends were seen.
    pub holds: Histogram,
}

/// How a lock is at a moment. Of several locks: the sums, and the longest times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockState {
    /// How many hold.
    pub holders: u64,
    /// How many wait; `None` of a single node, whose waiters are not in the tree.
    pub waiters: Option<u64>,
    /// How long the first holder has held at least, in milliseconds; 0 when nobody holds, `None` when nothing can be said.
    pub held_ms: Option<u64>,
    /// How long the first waiter has waited, in milliseconds; 0 when nobody waits.
    pub waited_ms: Option<u64>,
}

impl LockState {
    /// Takes in another lock.
    pub(super) fn add(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| a.map(|a| a + b.unwrap_or(0)).or(b);
        *self = Self {
            holders: self.holders + other.holders,
            waiters: sum(self.waiters, other.waiters),
            held_ms: self.held_ms.max(other.held_ms),
            waited_ms: self.waited_ms.max(other.waited_ms),
        };
    }
}
