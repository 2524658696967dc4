use super::filter::Filter;
use super::matches::{Changed, Matches, Moments, QueueRows, TimelineRows};
use super::sorted::SortedLocks;
use crate::observe::Observed;
use crate::queue::{LockId, LockName, LockQueue, LockTable, Timeline};
use crate::znode::{Timestamp, ZnodePath};

/// Happenings that the timeline keeps.
const REMEMBERED: usize = 10_000;

/// What is known of the ensemble, and the orders in which the screens list it.
///
/// A clone of it is what a paused screen shows: all of it as of one moment.
#[derive(Clone, Debug)]
pub struct World {
    table: LockTable,
    timeline: Timeline,
    locks: SortedLocks,
    matches: Matches,
    moments: Moments,
}

impl World {
    /// Nothing is known yet.
    pub fn new(named: &[ZnodePath]) -> Self {
        Self {
            table: LockTable::new(named.iter().cloned()),
            timeline: Timeline::new(REMEMBERED),
            locks: SortedLocks::default(),
            matches: Matches::default(),
            moments: Moments::default(),
        }
    }

    /// Every lock.
    pub fn table(&self) -> &LockTable {
        &self.table
    }

    /// What happened.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The locks in the order of the screen.
    pub fn locks(&self) -> &SortedLocks {
        &self.locks
    }

    /// The rows of one lock's queue that pass the filter.
    pub fn queue_rows(&self) -> QueueRows<'_> {
        QueueRows::new(&self.table, &self.matches)
    }

    /// The happenings that pass the filter.
    pub fn timeline_rows(&self) -> TimelineRows<'_> {
        TimelineRows::new(&self.timeline, &self.moments)
    }

    /// What the rows of the queue must contain.
    pub fn queue_filter(&self) -> &Filter {
        self.matches.filter()
    }

    /// What the rows of the timeline must contain.
    pub fn timeline_filter(&self) -> &Filter {
        self.moments.filter()
    }

    /// The lock whose queue is open, as long as it is there.
    pub fn open_lock(&self) -> Option<&LockQueue> {
        self.matches.lock().and_then(|id| self.table.lock(id))
    }

    /// Takes changes in.
    pub fn apply(&mut self, changes: Vec<Observed>) {
        let mut newest = None;
        for Observed { at, change } in changes {
            newest = newest.max(Some(at));
            let moved = Changed::from(&change);
            for happening in self.table.apply(change, at) {
                self.timeline.push(happening);
                self.moments.pushed(&self.timeline);
            }
            self.matches.follow(&moved, &self.table);
        }
        if let Some(now) = newest {
            let touched = self.table.take_touched();
            self.locks.touch(&touched, &self.table, now);
        }
    }

    /// A second passed.
    pub fn tick(&mut self, now: Timestamp) {
        self.locks.fade(&self.table, now);
    }

    /// Works on the order of the locks.
    pub fn arrange(&mut self, with: impl FnOnce(&mut SortedLocks, &LockTable)) {
        with(&mut self.locks, &self.table);
    }

    /// Opens a lock's queue.
    pub fn open(&mut self, lock: Option<LockId>) {
        let filter = self.matches.filter().clone();
        self.matches.build(filter, lock, &self.table);
    }

    /// Opens the lock anew when it vanished and one of its name came back.
    pub fn reopen(&mut self, name: &LockName) {
        if self.open_lock().is_none()
            && let Some(id) = self.table.find(&name.path, name.name.as_deref())
        {
            self.open(Some(id));
        }
    }

    /// Filters the open queue.
    pub fn filter_queue(&mut self, filter: Filter) {
        let lock = self.matches.lock();
        self.matches.build(filter, lock, &self.table);
    }

    /// Filters the timeline.
    pub fn filter_timeline(&mut self, filter: Filter) {
        self.moments.build(filter, &self.timeline);
    }
}
