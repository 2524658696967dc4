//! The locks of an ensemble that pass the filter of the list.

use crate::tui::app::Filter;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, TableAt};
use lockscope_model::queue::{LockName, LockQueue, LockTable};

/// The locks of an ensemble that pass a filter, as its Locks would list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLocks {
    /// The filter. An answer to an earlier one says nothing.
    filter: Filter,
    count: usize,
    first: Option<LockName>,
    /// Whether the filter is the path of one of them.
    is_path: bool,
}

impl FoundLocks {
    /// Looks for locks that pass; for none if the filter is empty. Linear in the number of locks.
    pub fn of(filter: &Filter, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) -> Self {
        let mut found = Self { filter: filter.clone(), ..Self::default() };
        if filter.is_empty() {
            return found;
        }
        let at = TableAt::new(table, now);
        for lock in table.locks().filter(|lock| filter.takes_lock(lock, at, diagnosis, now)) {
            found.count += 1;
            found.is_path |= lock.path().as_str() == filter.text();
            found.first.get_or_insert_with(|| LockQueue::lock_name(lock));
        }
        found
    }

    /// Returns whether this answers a filter.
    pub fn answers(&self, filter: &Filter) -> bool {
        self.filter == *filter
    }

    /// Returns the number of locks, and the first of them; `None` if there is none, or the question
    /// was another one.
    pub fn locks(&self, filter: &Filter) -> Option<(usize, &LockName)> {
        self.first.as_ref().filter(|_| self.answers(filter)).map(|first| (self.count, first))
    }

    /// Returns whether a filter is the path of a lock.
    pub fn has_path(&self, filter: &Filter) -> bool {
        self.is_path && self.answers(filter)
    }
}
