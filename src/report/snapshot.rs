use std::collections::BTreeMap;

use serde::ser::{Serialize, Serializer};

use super::{Ensemble, LockFacts, SCHEMA, rfc3339};
use crate::queue::{LockQueue, LockTable};
use crate::znode::{Timestamp, ZnodePath};

/// Locks of an ensemble at one time. Each lock and each contender is built only while it is written.
#[derive(Debug)]
pub struct Snapshot<'a> {
    taken_at: Timestamp,
    ensemble: &'a Ensemble,
    locks: Vec<&'a LockQueue>,
    unreadable: &'a BTreeMap<ZnodePath, String>,
}

impl<'a> Snapshot<'a> {
    /// Everything that the table holds, as of `taken_at`.
    pub fn new(ensemble: &'a Ensemble, table: &'a LockTable, taken_at: Timestamp) -> Self {
        Self { taken_at, ensemble, locks: table.locks().collect(), unreadable: table.unreadable() }
    }

    /// The same with only these locks, in this order: what a filter has left.
    #[must_use]
    pub fn with_locks(mut self, locks: Vec<&'a LockQueue>) -> Self {
        self.locks = locks;
        self
    }
}

#[derive(serde::Serialize)]
struct Fields<'a> {
    schema: u32,
    taken_at: Option<String>,
    ensemble: &'a Ensemble,
    locks: Locks<'a>,
    unreadable: Unreadable<'a>,
}

impl Serialize for Snapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields {
            schema: SCHEMA,
            taken_at: rfc3339(self.taken_at),
            ensemble: self.ensemble,
            locks: Locks(self),
            unreadable: Unreadable(self.unreadable),
        }
        .serialize(serializer)
    }
}

struct Locks<'a>(&'a Snapshot<'a>);

impl Serialize for Locks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.locks.iter().map(|lock| LockFacts::new(lock, self.0.taken_at)))
    }
}

/// Nodes that could not be read, and why.
struct Unreadable<'a>(&'a BTreeMap<ZnodePath, String>);

#[derive(serde::Serialize)]
struct UnreadableNode<'a> {
    path: &'a str,
    reason: &'a str,
}

impl Serialize for Unreadable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(path, reason)| UnreadableNode { path: path.as_str(), reason }))
    }
}
