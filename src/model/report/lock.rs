//! A lock as JSON.

use serde::ser::{Serialize, Serializer};

use super::contender::ContenderFacts;
use super::election::ElectionFacts;
use super::finding::FindingFacts;
use super::rfc3339;
use super::sample::SampleFacts;
use crate::diagnose::{Diagnosis, TableAt};
use crate::queue::{LockQueue, WatchEvents};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::Timestamp;

/// A lock with its contenders in queue order. All facts are computed during serialization.
#[derive(Clone, Copy, Debug)]
pub struct LockFacts<'a> {
    lock: &'a LockQueue,
    table_at: TableAt<'a>,
    diagnosis: Option<&'a Diagnosis>,
    now: Timestamp,
}

impl<'a> LockFacts<'a> {
    /// Creates the facts of a lock. Ages are up to `now`, by the servers' clock. While the table is
    /// not live, all states are unknown.
    pub fn new(lock: &'a LockQueue, table_at: TableAt<'a>, now: Timestamp) -> Self {
        Self { lock, table_at, diagnosis: None, now }
    }

    /// Adds the findings of the lock.
    #[must_use]
    pub fn with_diagnosis(self, diagnosis: Option<&'a Diagnosis>) -> Self {
        Self { diagnosis, ..self }
    }
}

#[derive(serde::Serialize)]
struct Fields<'a> {
    path: &'a str,
    name: Option<&'a str>,
    recipe: &'static str,
    kind: LockKind,
    /// Whether the rules of the queue are unknown, so that its first contender is assumed to hold.
    assumed: bool,
    next_sequence: Option<i64>,
    /// The earliest provable time, by the servers' clock, since which the lock had no hand-over.
    no_handover_since: Option<String>,
    /// Counts during an overload, while the contenders are those from before it.
    sampled: Option<SampleFacts>,
    contenders: Contenders<'a>,
    watch_cost: Option<WatchCost>,
    #[serde(flatten)]
    election: Option<ElectionFacts>,
    findings: Findings<'a>,
}

#[derive(serde::Serialize)]
struct WatchCost {
    herd_per_release: u64,
    chain_per_release: u64,
}

impl From<WatchEvents> for WatchCost {
    fn from(events: WatchEvents) -> Self {
        Self { herd_per_release: events.herd, chain_per_release: events.chain }
    }
}

impl Serialize for LockFacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields {
            path: self.lock.path().as_str(),
            name: self.lock.name(),
            recipe: self.lock.recipe().id(),
            kind: self.lock.kind(),
            assumed: self.lock.is_assumed(),
            next_sequence: self.lock.next_sequence(),
            no_handover_since: Some(self.table_at.table())
                .filter(|table| table.is_live())
                .and_then(|table| table.no_handover_since(self.lock))
                .and_then(rfc3339),
            sampled: self.table_at.table().sampled(self.lock).map(SampleFacts::from),
            contenders: Contenders(*self),
            watch_cost: self.lock.watch_cost().map(WatchCost::from),
            election: ElectionFacts::of(self.table_at, self.lock),
            findings: Findings(*self),
        }
        .serialize(serializer)
    }
}

struct Contenders<'a>(LockFacts<'a>);

impl Serialize for Contenders<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LockFacts { lock, table_at, now, .. } = self.0;
        serializer.collect_seq(lock.rows(0..lock.len()).map(|row| ContenderFacts::new(lock, &row, table_at, now)))
    }
}

struct Findings<'a>(LockFacts<'a>);

impl Serialize for Findings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LockFacts { lock, diagnosis, .. } = self.0;
        let found = diagnosis.into_iter().flat_map(|diagnosis| diagnosis.of(lock.id()));
        serializer.collect_seq(found.map(FindingFacts::new))
    }
}
