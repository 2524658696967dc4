//! Locks that nobody holds, and those that are gone.

use super::World;
use crate::tui::app::Filter;
use crate::tui::app::vanished::{LockRows, VanishedLocks};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Happening, LockEvent, LockQueue};

impl World {
    /// The locks in their order, and below them those that vanished.
    pub fn lock_rows(&self) -> LockRows<'_> {
        LockRows { locks: &self.locks, vanished: &self.vanished }
    }

    /// The locks that vanished lately.
    pub fn vanished(&self) -> &VanishedLocks {
        &self.vanished
    }

    /// Since when nobody holds a free lock, by this machine's clock, and whether that is only the
    /// latest time: it may be free for longer. `None` where nothing is known of it.
    pub fn free_since(&self, lock: &LockQueue) -> Option<(Timestamp, bool)> {
        let last = self.histories.last_hold(lock.id())?;
        Some((last.until, last.end_unseen))
    }

    /// A lock that is gone stays in sight while its history is known.
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

    /// Filters the locks anew, those that vanished too. Work follows the number of locks.
    pub fn filter_locks(&mut self, filter: &Filter, now: Timestamp) {
        self.locks.set_filter(filter.clone(), self.live.table(), self.live.diagnosis(), now);
        self.vanished.set_filter(filter.clone());
    }
}
