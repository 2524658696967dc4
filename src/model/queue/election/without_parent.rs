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
    pub(in crate::queue) fn keep_without_parent(&mut self, id: LockId) -> bool {
        let Some(lock) = self.locks.get(&id) else { return false };
        let is_election = self.election_kind(lock).is_some_and(|kind| kind > ElectionKind::Unknown);
        let end = self.election_record(lock).and_then(ElectionRecord::last_tenure).map(|tenure| tenure.end);
        let is_missed = is_election && matches!(end, Some(DepartureEnd::Expired | DepartureEnd::Unknown));
        if is_missed && !self.elections.without_parent.contains(&id) {
            self.elections.without_parent.push_back(id);
        }
        is_missed
    }

    /// Returns whether an election is kept though its parent is gone.
    pub fn is_without_parent(&self, lock: &LockQueue) -> bool {
        self.elections.without_parent.contains(&lock.id()) && self.lacks_parent(lock)
    }

    fn lacks_parent(&self, lock: &LockQueue) -> bool {
        lock.is_empty() && !self.parents.contains_key(lock.path())
    }

    /// Returns the elections that have been without a parent for long, or that are too many, and
    /// keeps them no longer.
    pub(in crate::queue) fn take_old_without_parent(&mut self, now: Timestamp) -> Vec<LockId> {
        let kept = std::mem::take(&mut self.elections.without_parent);
        let without = |id: &LockId| self.locks.get(id).is_some_and(|lock| self.lacks_parent(lock));
        let kept: Vec<LockId> = kept.into_iter().filter(without).collect();
        let too_many = kept.len().saturating_sub(MAX_WITHOUT_PARENT);
        let is_recent = |id: &LockId| {
            self.elections.records.get(id).is_some_and(|record| now.since(record.changed_at()) <= MAX_AGE)
        };
        let (recent, mut old): (Vec<_>, Vec<_>) = kept[too_many..].iter().copied().partition(is_recent);
        old.extend_from_slice(&kept[..too_many]);
        self.elections.without_parent = recent.into();
        old
    }
}
