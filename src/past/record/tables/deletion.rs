//! Deletions by hand, from the audit log: each is a row, and the end of the contender that it
//! deleted.

use super::contender::{ContenderEnd, ContenderRecord};
use lockscope_base::znode::{Timestamp, Zxid};

/// One deletion in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDeletion {
    /// The time at which the outcome was known.
    pub at: Timestamp,
    /// The path of the lock.
    pub lock: String,
    /// The path of the node.
    pub path: String,
    /// The transaction that created the node.
    pub czxid: Option<Zxid>,
    /// The user who deleted the node.
    pub by: Option<String>,
    /// The name of the outcome in the audit log: `deleted` when the node was deleted.
    pub result: String,
    /// The outcome as a sentence.
    pub reason: Option<String>,
}

/// The most deletions remembered until the end of their contenders is seen.
const MAX_REMEMBERED: usize = 1_000;

/// Deletions not written yet, and recent ones whose contender may not have ended yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Deletions {
    pub unwritten: Vec<RecordedDeletion>,
    recent: Vec<RecordedDeletion>,
}

impl Deletions {
    pub fn add(&mut self, deletion: RecordedDeletion) {
        if deletion.node().is_some() {
            self.recent.push(deletion.clone());
        }
        if self.recent.len() > MAX_REMEMBERED {
            self.recent.remove(0);
        }
        if self.unwritten.len() < MAX_REMEMBERED {
            self.unwritten.push(deletion);
        }
    }

    /// Marks the ends that were caused by a remembered deletion.
    pub fn explain(&self, ended: &mut [ContenderRecord]) {
        if self.recent.is_empty() {
            return;
        }
        for record in ended.iter_mut().filter(|record| is_explained(record.end)) {
            if self.recent.iter().any(|deletion| deletion.is_of(record)) {
                record.end = ContenderEnd::Deleted;
            }
        }
    }
}

/// Returns whether a deletion by hand explains more than this ending.
fn is_explained(end: ContenderEnd) -> bool {
    matches!(end, ContenderEnd::Gone | ContenderEnd::Unknown)
}

impl RecordedDeletion {
    /// Returns the name and the creating transaction of the deleted node.
    pub(super) fn node(&self) -> Option<(&str, Zxid)> {
        let name = self.path.rsplit('/').next().filter(|_| self.result == "deleted")?;
        Some((name, self.czxid?))
    }

    fn is_of(&self, record: &ContenderRecord) -> bool {
        self.node().is_some_and(|(name, czxid)| record.czxid == Some(czxid) && *record.node == *name)
    }
}
