//! Elections whose parents are gone. Curator's elections have containers for parents, which servers
//! delete soon after the last candidate: that nobody leads would be forgotten with them.

use std::time::Duration;

use super::{DepartureEnd, ElectionKind, ElectionRecord};
use crate::queue::{LockId, LockQueue, LockTable};
use lockscope_base::znode::Timestamp;

/// Maximum number of elections that are kept without a parent. The oldest is dropped first.
const MAX_WITHOUT_PARENT: usize = 1_000;

/// How long an election is kept without a parent. Its application may be gone for good.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);

impl LockTable {
    /// Keeps an election whose parent is gone, if its last leader may have lost its session.
    /// Returns whether it did.
    ///
    /// An application that ends deletes its nodes or closes its session. Its election is not missed.
    pub(in crate::queue) fn keep_without_parent(&mut self, id: LockId, now: Timestamp) -> bool {
        let Some(lock) = self.locks.get(&id) else { return false };
        let is_election = self.election_kind(lock, now).is_some_and(|kind| kind > ElectionKind::Unknown);
        let end = self.election_record(lock).and_then(ElectionRecord::last_tenure).map(|tenure| tenure.end);
        if !is_election || !matches!(end, Some(DepartureEnd::Expired | DepartureEnd::Unknown)) {
            return false;
        }
        let kept = &mut self.elections.without_parent;
        if !kept.contains(&id) {
            kept.push_back(id);
        }
        true
    }

    /// Returns whether an election is kept though its parent is gone.
    pub fn is_without_parent(&self, lock: &LockQueue) -> bool {
        self.elections.without_parent.contains(&lock.id()) && self.lacks_parent(lock)
    }

    fn lacks_parent(&self, lock: &LockQueue) -> bool {
        lock.is_empty() && !self.parents.contains_key(lock.path())
    }

    /// Returns whether more elections are kept than allowed.
    pub(in crate::queue) fn has_too_many_without_parent(&self) -> bool {
        self.elections.without_parent.len() > MAX_WITHOUT_PARENT
    }

    /// Returns the elections that are kept no longer: those that have been without a parent for long,
    /// and the oldest if there are too many.
    pub(in crate::queue) fn old_without_parent(&mut self, now: Timestamp) -> Vec<LockId> {
        let mut left = Vec::new();
        let kept = std::mem::take(&mut self.elections.without_parent);
        let too_many = kept.len().saturating_sub(MAX_WITHOUT_PARENT);
        for (position, id) in kept.into_iter().enumerate() {
            let Some(lock) = self.locks.get(&id).filter(|lock| self.lacks_parent(lock)) else { continue };
            let is_recent = self.election_record(lock).is_some_and(|record| now.since(record.changed_at()) <= MAX_AGE);
            if is_recent && position >= too_many {
                self.elections.without_parent.push_back(id);
            } else {
                left.push(id);
            }
        }
        left
    }
}
