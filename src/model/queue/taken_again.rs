//! Notes in the table which locks one session takes again and again.

use super::{Happening, LockQueue, LockTable, RunsOfOne, TakenAgain};
use lockscope_base::znode::Timestamp;

impl LockTable {
    pub(super) fn note_runs(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            if let Some(lock) = &happening.lock {
                self.runs.take_in(lock.id, happening);
            }
        }
    }

    /// Returns how one session takes a lock again and again, up to `now`, while nobody else is in its
    /// queue.
    pub fn taken_again(&self, lock: &LockQueue, now: Timestamp) -> Option<TakenAgain> {
        self.runs.of(lock.id(), now)
    }

    /// Returns the runs of all locks. They are not part of the serialized table.
    pub fn runs_of_one(&self) -> &RunsOfOne {
        &self.runs
    }

    /// Returns the table with the runs that were stored beside it.
    #[must_use]
    pub fn with_runs_of_one(mut self, runs: RunsOfOne) -> Self {
        *self.runs = runs;
        let locks = &self.locks;
        self.runs.retain(|id| locks.contains_key(&id));
        self
    }
}
