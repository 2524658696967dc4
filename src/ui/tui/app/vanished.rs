//! Locks that vanished. They stay below the other locks for a while, and are not counted as locks.

use std::collections::VecDeque;
use std::time::Duration;

use super::cursor::Rows;
use super::filter::Filter;
use super::sorted::SortedLocks;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{LockId, LockName};

/// Maximum number of vanished locks that are kept: those that vanished last.
const MAX_VANISHED: usize = 50;

/// How long a vanished lock is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 60);

/// A lock that no longer exists.
#[derive(Clone, Debug)]
pub struct VanishedLock {
    pub name: LockName,
    /// When the lock was seen to be gone, by this machine's clock.
    pub at: Timestamp,
}

/// The locks that vanished recently, the latest first.
#[derive(Clone, Debug, Default)]
pub struct VanishedLocks {
    kept: VecDeque<VanishedLock>,
    filter: Filter,
    /// The locks that pass the filter.
    shown: Vec<VanishedLock>,
}

impl VanishedLocks {
    /// Adds a lock that is gone.
    pub fn add(&mut self, name: LockName, at: Timestamp) {
        self.kept.push_front(VanishedLock { name, at });
        self.kept.truncate(MAX_VANISHED);
        self.show();
    }

    /// Removes the vanished lock with this path and name, because a new one exists.
    pub fn came_back(&mut self, name: &LockName) {
        self.retain(|gone| (&gone.name.path, &gone.name.name) != (&name.path, &name.name));
    }

    /// Removes locks that vanished more than 30 minutes ago, and locks whose history is no longer
    /// kept.
    pub fn forget(&mut self, now: Timestamp, is_known: impl Fn(LockId) -> bool) {
        self.retain(|gone| now.since(gone.at) < KEPT_FOR && is_known(gone.name.id));
    }

    /// Sets the filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.show();
    }

    /// Finds a vanished lock that is still kept.
    pub fn get(&self, id: LockId) -> Option<&VanishedLock> {
        self.kept.iter().find(|gone| gone.name.id == id)
    }

    /// The number of vanished locks that pass the filter.
    pub fn shown(&self) -> usize {
        self.shown.len()
    }

    fn retain(&mut self, stays: impl Fn(&VanishedLock) -> bool) {
        if !self.kept.iter().all(&stays) {
            self.kept.retain(stays);
            self.show();
        }
    }

    fn show(&mut self) {
        let takes = |gone: &&VanishedLock| self.filter.matching().lock(&gone.name).text("gone").passes();
        self.shown = self.kept.iter().filter(takes).cloned().collect();
    }
}

/// The rows of Locks: the locks in their order, and below them the vanished locks.
#[derive(Clone, Copy, Debug)]
pub struct LockRows<'a> {
    pub locks: &'a SortedLocks,
    pub vanished: &'a VanishedLocks,
}

impl Rows<LockId> for LockRows<'_> {
    fn len(&self) -> usize {
        self.locks.len() + self.vanished.shown.len()
    }

    fn rank(&self, id: &LockId) -> Option<usize> {
        let vanished = || self.vanished.shown.iter().position(|gone| gone.name.id == *id);
        self.locks.rank(id).or_else(|| vanished().map(|at| self.locks.len() + at))
    }

    fn id(&self, rank: usize) -> Option<LockId> {
        match rank.checked_sub(self.locks.len()) {
            None => self.locks.id(rank),
            Some(at) => self.vanished.shown.get(at).map(|gone| gone.name.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::path;

    fn name(number: u64) -> LockName {
        LockName { id: LockId(number), path: path(&format!("/l{number}")), name: None }
    }

    fn listed(vanished: &VanishedLocks) -> Vec<LockId> {
        let locks = SortedLocks::default();
        let rows = LockRows { locks: &locks, vanished };
        (0..rows.len()).filter_map(|rank| rows.id(rank)).collect()
    }

    #[test]
    fn only_the_last_are_kept_and_none_for_long_or_without_a_history() {
        let mut vanished = VanishedLocks::default();
        for number in 0..60 {
            vanished.add(name(number), Timestamp(i64::try_from(number).unwrap() * 1_000));
        }
        let ids = listed(&vanished);
        assert_eq!((ids.len(), ids[0], ids[49]), (50, LockId(59), LockId(10)), "the last one first");
        vanished.forget(Timestamp(30 * 60_000 + 20_000), |_| true);
        assert_eq!(listed(&vanished).last(), Some(&LockId(21)), "half an hour each");
        vanished.forget(Timestamp(61_000), |id| id != LockId(30));
        assert!(!listed(&vanished).contains(&LockId(30)), "its history is forgotten");
    }

    #[test]
    fn a_recreated_lock_is_no_longer_listed_and_the_filter_applies_to_vanished_locks() {
        let mut vanished = VanishedLocks::default();
        (1..=3).for_each(|number| vanished.add(name(number), Timestamp(0)));
        vanished.came_back(&LockName { id: LockId(9), ..name(2) });
        assert_eq!(listed(&vanished), [LockId(3), LockId(1)]);
        vanished.set_filter(Filter::new("l1"));
        assert_eq!((listed(&vanished), vanished.shown()), (vec![LockId(1)], 1));
        assert!(vanished.get(LockId(3)).is_some(), "it is kept");
    }
}
