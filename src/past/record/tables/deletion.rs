//! Deletions by hand, as the audit log has them: each is a row, and the end of the contender that it deleted.

use super::contender::{ContenderEnd, ContenderRecord};
use lockscope_base::znode::{Timestamp, Zxid};

/// What the audit log says of one deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDeletion {
    /// When its outcome was known.
    pub at: Timestamp,
    /// The lock's path.
    pub lock: String,
    /// The node's path.
    pub path: String,
    /// The transaction that created the node.
    pub czxid: Option<Zxid>,
    /// Who deleted it.
    pub by: Option<String>,
    /// The outcome's name in the audit log; `deleted` when the node was.
    pub result: String,
    /// The outcome in a sentence.
    pub reason: Option<String>,
}

/// Deletions that may come before the end of their contenders is seen: so many are remembered.
const MAX_REMEMBERED: usize = 1_000;

/// Deletions that are not written yet, and those of which the contender has not ended yet.
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

    /// Says of whom it was who ended by it.
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

/// Whether a deletion by hand says more than that.
fn is_explained(end: ContenderEnd) -> bool {
    matches!(end, ContenderEnd::Gone | ContenderEnd::Unknown)
}

impl RecordedDeletion {
    /// The name and the creation of the node that is gone by it.
    pub(super) fn node(&self) -> Option<(&str, Zxid)> {
        let name = self.path.rsplit('/').next().filter(|_| self.result == "deleted")?;
        Some((name, self.czxid?))
    }

    fn is_of(&self, record: &ContenderRecord) -> bool {
        self.node().is_some_and(|(name, czxid)| record.czxid == Some(czxid) && *record.node == *name)
    }
}
