//! The figures of one moment, and histograms of past waits and holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::{Code, Severity};
use crate::queue::{LockQueue, WatchEvents};
use crate::server_view::{Health, Load};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::ZnodePath;

/// The number of findings of each code and severity.
pub type FindingCounts = BTreeMap<(Code, Severity), u64>;

/// All figures that are served at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// The servers and the chroot, without credentials in the addresses.
    pub ensemble: String,
    /// The context, if it is one of several.
    pub context: Option<String>,
    /// Whether the table is live.
    pub is_live: bool,
    /// The number of locks; `None` while unknown.
    pub locks: Option<u64>,
    /// The number of contenders; `None` while unknown.
    pub contenders: Option<u64>,
    /// The known members of the ensemble; `None` when they are not asked.
    pub servers: Option<ServerFigures>,
    /// Whether a majority of the members works together; `None` while that is not known.
    pub has_majority: Option<bool>,
    /// Whether each server answers when it is asked about itself, by its address.
    pub answering: Vec<(String, bool)>,
    /// How each server is doing, by its address; only servers that report it.
    pub health: Vec<(String, Health)>,
    /// The checks that are not decided, by kind; none while unknown. Only those whose findings
    /// somebody should look at.
    pub unchecked: Vec<(Code, u64)>,
    /// How often the table was out of step with the ensemble.
    pub gaps: u64,
    /// The number of changes that were taken in.
    pub changes: u64,
    /// The figures of the recorder itself.
    pub process: ProcessFigures,
    /// The locks with series of their own.
    pub named: Vec<LockFigures>,
    /// All other locks together.
    pub others: LockFigures,
    /// The number of other locks; `None` while unknown.
    pub other_locks: Option<u64>,
}

/// The figures of all contexts at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrapes {
    /// The figures of each context, or of the only ensemble.
    pub known: Vec<Scrape>,
    /// The contexts that did not answer.
    pub silent: Vec<String>,
    /// What the process uses that serves all of them.
    pub process: ProcessUsage,
}

/// What a process uses of the machine; `None` where the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    /// The resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// When it started, in Unix time.
    pub start_time_seconds: Option<f64>,
    /// The number of open file descriptors.
    pub open_fds: Option<u64>,
    /// The number of file descriptors that it may have open; `None` without a limit, too.
    pub max_fds: Option<u64>,
    /// The time of processors that it used.
    pub cpu_seconds: Option<f64>,
}

impl From<Scrape> for Scrapes {
    fn from(scrape: Scrape) -> Self {
        Self { known: vec![scrape], ..Self::default() }
    }
}

/// Figures from the servers' answers about themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// The number of known servers.
    pub known: u64,
    /// The number of servers that answered when last asked.
    pub answering: u64,
    /// The number of connections with a session, our own included; `None` when no server lists
    /// them.
    pub connections: Option<u64>,
    /// The cost of asking the servers.
    pub asked: Load,
}

/// The recorder's own figures for one ensemble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// The number of changes that were seen but not taken in yet.
    pub changes_behind: u64,
    /// Whether changes are written into the file; `None` without a file.
    pub is_stored: Option<bool>,
    /// How often the file was moved, removed or written by others, and another one was begun;
    /// `None` without a file.
    pub store_files_gone: Option<u64>,
    /// The spans for a collector; `None` when none are sent.
    pub otlp: Option<OtlpFigures>,
}

/// What became of the spans for an OpenTelemetry collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtlpFigures {
    /// The number of spans that the collector took.
    pub sent: u64,
    /// The number of spans that the collector refused.
    pub refused: u64,
    /// The number of spans that were lost because too many waited.
    pub lost: u64,
    /// The number of spans that wait.
    pub queued: u64,
}

/// The labels of a lock's series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockLabels {
    /// One lock.
    One {
        /// The lock's path.
        path: ZnodePath,
        /// The queue's name, for recipes where one parent can have several queues.
        name: Option<Arc<str>>,
        /// The recipe of the lock's nodes.
        recipe: Recipe,
    },
    /// All locks without series of their own.
    Others,
}

impl LockLabels {
    pub(super) fn of(lock: &LockQueue, recipe: Recipe) -> Self {
        Self::One { path: lock.path().clone(), name: lock.own_name().cloned(), recipe }
    }
}

/// The figures of one lock, or of all locks without series of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct LockFigures {
    /// The labels of the series.
    pub labels: LockLabels,
    /// The counters.
    pub counts: LockCounts,
    /// The current state; `None` while unknown.
    pub state: Option<LockState>,
    /// The number of findings of each code and severity.
    pub findings: FindingCounts,
}

impl LockFigures {
    pub(super) fn others(counts: &LockCounts) -> Self {
        Self { labels: LockLabels::Others, counts: *counts, state: None, findings: FindingCounts::new() }
    }
}

/// The counters of a lock since it has a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// The number of contenders that became holders.
    pub acquisitions: u64,
    /// The number of contenders whose session expired.
    pub expiries: u64,
    /// The cost of the lock's changes.
    pub watch_events: WatchEvents,
    /// How long all waiters waited, summed up.
    pub waited: Duration,
    /// The waits of holders, where both ends were seen.
    pub waits: Histogram,
    /// The holds, where both ends were seen.
    pub holds: Histogram,
}

/// The state of a lock. For several locks: the sums, and the longest times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockState {
    /// The number of holders.
    pub holders: u64,
    /// The number of waiters; `None` for a single node, whose waiters are not in the tree.
    pub waiters: Option<u64>,
    /// The minimum time for which the first holder has held, in milliseconds. 0 without a holder,
    /// `None` when unknown.
    pub held_ms: Option<u64>,
    /// How long the first waiter has waited, in milliseconds; 0 without a waiter.
    pub waited_ms: Option<u64>,
}

impl LockState {
    /// Adds the state of another lock.
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

/// The upper bounds of the buckets, in seconds. A last bucket has no bound.
pub const BOUNDS_SECONDS: [f64; 14] =
    [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BOUNDS_SECONDS.len() + 1],
    sum_ms: u64,
}

impl Histogram {
    /// Adds a duration of `ms` milliseconds.
    pub fn add(&mut self, ms: u64) {
        let took = seconds(ms);
        let bucket = BOUNDS_SECONDS.partition_point(|bound| *bound < took);
        self.counts[bucket] += 1;
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of all durations, in seconds.
    pub fn sum_seconds(&self) -> f64 {
        seconds(self.sum_ms)
    }

    /// Returns the buckets, each with its upper bound and its own count. The last bound is
    /// infinite.
    pub(super) fn buckets(&self) -> [(f64, u64); BOUNDS_SECONDS.len() + 1] {
        std::array::from_fn(|at| (BOUNDS_SECONDS.get(at).copied().unwrap_or(f64::INFINITY), self.counts[at]))
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285,000 years")]
pub fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_it_fits_into() {
        let mut histogram = Histogram::default();
        for ms in [0, 1, 2, 30_000, 30_001, 7_200_000] {
            histogram.add(ms);
        }
        let filled: Vec<_> = histogram.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.001, 2), (0.005, 1), (30.0, 1), (60.0, 1), (f64::INFINITY, 1)]);
        assert_eq!(histogram.count(), 6);
        assert!((histogram.sum_seconds() - 7_260.004).abs() < 1e-9);
    }
}
