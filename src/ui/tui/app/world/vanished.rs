//! Free locks, and locks that vanished.

use super::World;
use crate::tui::app::Filter;
use crate::tui::app::vanished::{LockRows, VanishedLocks};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Happening, LockEvent, LockQueue};

impl World {
    /// Returns the locks in their order, followed by the vanished locks.
    pub fn lock_rows(&self) -> LockRows<'_> {
        LockRows { locks: &self.locks, vanished: &self.vanished }
    }

    /// Returns the locks that vanished recently.
    pub fn vanished(&self) -> &VanishedLocks {
        &self.vanished
    }

    /// Returns the time when a free lock was last released, by this machine's clock, and whether
    /// that is an upper bound: the lock may have been free for longer. `None` when no hold of it is
    /// known.
    pub fn free_since(&self, lock: &LockQueue) -> Option<(Timestamp, bool)> {
        let last = self.histories.last_hold(lock.id())?;
        Some((last.until, last.end_unseen))
    }

    /// Adds a lock that is gone to the vanished locks if its history is known, and removes a lock
    /// that came back.
    pub(super) fn note_vanished(&mut self, happening: &Happening) {
        let Some(lock) = &happening.lock else { return };
        match happening.event {
            LockEvent::LockGone if self.histories.has(lock.id) => self.vanished.add(lock.clone(), happening.at),
            LockEvent::LockFound => self.vanished.came_back(lock),
            _ => {}
        }
    }

    pub(super) fn forget_vanished(&mut self) {
        self.vanished.forget(self.now, |lock| self.histories.has(lock));
    }

    /// Filters the locks again, including the vanished ones. Linear in the number of locks.
    pub fn filter_locks(&mut self, filter: &Filter, now: Timestamp) {
        self.locks.set_filter(filter.clone(), self.live.table(), self.live.diagnosis(), now);
        self.vanished.set_filter(filter.clone());
    }
}
