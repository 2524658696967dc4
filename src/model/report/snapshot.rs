//! All locks at one time, as one JSON object.
//!
//! Each lock and each contender is built during serialization. A lock that is an election has the
//! facts of the election, too.

use std::collections::BTreeMap;

use serde::ser::{Serialize, Serializer};

use super::contender::ContenderFacts;
use super::finding::{FindingFacts, Unreadable};
use super::lines::SampleFacts;
use super::{EnsembleEventFacts, ReportedEnsemble, SCHEMA, rfc3339};
use crate::diagnose::{Diagnosis, TableAt};
use crate::queue::{ElectionKind, LockQueue, LockTable, WatchEvents};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, ZnodePath};

#[cfg(test)]
mod tests;

/// The locks of an ensemble at one time. Each lock and each contender is built during
/// serialization.
#[derive(Debug)]
pub struct Snapshot<'a> {
    taken_at: Timestamp,
    /// The same time by the servers' clock.
    server_time: Timestamp,
    ensemble: &'a ReportedEnsemble,
    locks: Vec<&'a LockQueue>,
    table_at: TableAt<'a>,
    diagnosis: Option<&'a Diagnosis>,
    unreadable: &'a BTreeMap<ZnodePath, String>,
}

impl<'a> Snapshot<'a> {
    /// Creates a snapshot of the whole table, as of `taken_at`. While the table is not live, the
    /// state of every contender is unknown.
    pub fn new(ensemble: &'a ReportedEnsemble, table: &'a LockTable, taken_at: Timestamp) -> Self {
        Self {
            taken_at,
            server_time: table.clock().server_time(taken_at),
            ensemble,
            locks: table.locks().collect(),
            table_at: TableAt::new(table, taken_at),
            diagnosis: None,
            unreadable: table.unreadable(),
        }
    }

    /// Adds the findings.
    #[must_use]
    pub fn with_diagnosis(mut self, diagnosis: &'a Diagnosis) -> Self {
        self.diagnosis = Some(diagnosis);
        self
    }

    /// Limits the snapshot to these locks, in this order. Used for filters.
    #[must_use]
    pub fn with_locks(mut self, locks: Vec<&'a LockQueue>) -> Self {
        self.locks = locks;
        self
    }
}

#[derive(serde::Serialize)]
struct SnapshotFields<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a ReportedEnsemble,
    ensemble_events: Vec<EnsembleEventFacts<'a>>,
    locks: Locks<'a>,
    unreadable: Unreadable<'a>,
}

impl Serialize for Snapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SnapshotFields {
            schema: SCHEMA,
            taken_at: rfc3339(self.taken_at),
            ensemble: self.ensemble,
            ensemble_events: self.table_at.table().ensemble_line().events().map(Into::into).collect(),
            locks: Locks(self),
            unreadable: Unreadable(self.unreadable),
        }
        .serialize(serializer)
    }
}

struct Locks<'a>(&'a Snapshot<'a>);

impl Serialize for Locks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .locks
                .iter()
                .map(|lock| LockFacts::new(lock, self.0.table_at, self.0.server_time).with_diagnosis(self.0.diagnosis)),
        )
    }
}

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
struct LockFields<'a> {
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
        LockFields {
            path: self.lock.path().as_str(),
            name: self.lock.name(),
            recipe: self.lock.recipe().id(),
            kind: self.lock.kind(),
            assumed: self.lock.is_assumed(),
            next_sequence: self.lock.next_sequence(),
            no_handover_since: Some(self.table_at.table())
                .filter(|table| table.is_live())
                .and_then(|table| table.clock().no_handover_since(self.lock))
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

/// The further fields of an election.
#[derive(serde::Serialize)]
struct ElectionFacts {
    /// Whether the recipe or the user says that this is an election (`certain`), or only the path
    /// or the nodes' data (`likely`).
    election: &'static str,
    /// Since when the leader leads, by the servers' clock; absent if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader_since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes_of_leader: Option<Changes>,
}

/// How often the leadership changed. A number is absent if the election was not watched for that
/// long.
#[derive(serde::Serialize)]
struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_hour: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_day: Option<u32>,
}

impl ElectionFacts {
    pub fn of(table_at: TableAt<'_>, lock: &LockQueue) -> Option<Self> {
        let (table, now) = (table_at.table(), table_at.now());
        let election = match table.election_kind(lock, now)? {
            ElectionKind::Certain => "certain",
            ElectionKind::Likely => "likely",
            ElectionKind::Unknown => return None,
        };
        let held = lock.first_holder().and_then(|holder| table.clock().hold_bounds(holder, now));
        let since = held.filter(|held| table.is_live() && held.is_exact());
        let leader_since = since.map(|held| table.clock().server_time(now).minus(held.at_least)).and_then(rfc3339);
        let changes = table.elections().changes_of_leader(lock, table.clock(), now);
        let changes = Changes { last_hour: changes.last_hour, last_day: changes.last_day };
        let is_known = table.is_live() && changes.last_hour.is_some();
        Some(Self { election, leader_since, changes_of_leader: is_known.then_some(changes) })
    }
}
