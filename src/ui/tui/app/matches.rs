//! The contenders and the timeline entries that pass a filter, updated change by change.

use std::collections::VecDeque;

use indexset::BTreeSet;
use rustc_hash::FxHashMap;

use super::TimelineEntry;
use super::cursor::Rows;
use super::filter::Filter;
use lockscope_base::recipe::{Classifier, Role};
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Change, Contender, ContenderRow, LockId, LockQueue, LockTable, Timeline};

/// The sort key of a contender, which gives the order of the queue.
type Place = (bool, i64, Zxid, ZnodePath);

/// The contenders of the open lock that pass the filter. Built when the filter is set or the lock
/// is opened, then updated node by node.
#[derive(Clone, Debug, Default)]
pub struct QueueMatches {
    filter: Filter,
    lock: Option<LockId>,
    order: BTreeSet<Place>,
    places: FxHashMap<ZnodePath, Place>,
}

impl QueueMatches {
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn lock(&self) -> Option<LockId> {
        self.lock
    }

    /// Rebuilds the matches for a lock and a filter. Linear in the length of the queue, unless the
    /// filter is empty.
    pub fn build(&mut self, filter: Filter, lock: Option<LockId>, table: &LockTable, now: Timestamp) {
        if lock == self.lock && filter.narrows(&self.filter) {
            return self.narrow(filter, table, now);
        }
        (self.filter, self.lock) = (filter, lock);
        self.order.clear();
        self.places.clear();
        if self.filter.is_empty() {
            return;
        }
        let Some(queue) = lock.and_then(|id| table.lock(id)) else { return };
        for row in queue.rows(0..queue.len()) {
            if self.filter.takes_contender(queue, &row, TableAt::new(table, now), now) {
                self.add(queue.path_of(row.contender), row.contender);
            }
        }
    }

    /// Rechecks only the contenders that passed before: a narrower filter, such as one that is
    /// being typed, passes no others.
    fn narrow(&mut self, filter: Filter, table: &LockTable, now: Timestamp) {
        self.filter = filter;
        let Some(queue) = self.lock.and_then(|id| table.lock(id)) else { return };
        let (filter, order) = (&self.filter, &mut self.order);
        self.places.retain(|path, place| {
            let row = table.position(path).and_then(|(_, position)| queue.row(position));
            let stays = row.is_some_and(|row| filter.takes_contender(queue, &row, TableAt::new(table, now), now));
            if !stays {
                order.remove(place);
            }
            stays
        });
    }

    /// Updates the matches after a change was applied to the table.
    pub fn follow(&mut self, changed: &Changed, table: &LockTable, now: Timestamp) {
        let Some(queue) = self.lock.filter(|_| !self.filter.is_empty()).and_then(|id| table.lock(id)) else { return };
        match changed {
            Changed::Everything => {
                let filter = std::mem::take(&mut self.filter);
                self.build(filter, self.lock, table, now);
            }
            Changed::Node(path) if path.is_within(queue.path()) || self.places.contains_key(path) => {
                self.recheck(path, queue, table, now);
                // At the border between a semaphore's leases and its queue, a change of one node
                // can show or hide the contender of another.
                for position in queue.holding().saturating_sub(1)..=queue.holding() + 1 {
                    if let Some(row) = queue.row(position) {
                        self.recheck(&queue.path_of(row.contender), queue, table, now);
                    }
                }
            }
            Changed::Nothing | Changed::Node(_) => {}
        }
    }

    fn recheck(&mut self, path: &ZnodePath, queue: &LockQueue, table: &LockTable, now: Timestamp) {
        if let Some(old) = self.places.remove(path) {
            self.order.remove(&old);
        }
        if let Some((id, position)) = table.position(path)
            && id == queue.id()
            && let Some(row) = queue.row(position)
            && self.filter.takes_contender(queue, &row, TableAt::new(table, now), now)
        {
            self.add(path.clone(), row.contender);
        }
    }

    fn add(&mut self, path: ZnodePath, contender: &Contender) {
        let number = contender.sequence.map_or(0, |sequence| i64::from(sequence.0));
        let place = (contender.role != Role::Lease, number, contender.czxid, path.clone());
        self.order.insert(place.clone());
        self.places.insert(path, place);
    }

    fn path(&self, rank: usize) -> Option<&ZnodePath> {
        // `get_index` beyond the end of the set is unspecified.
        if rank < self.order.len() { self.order.get_index(rank).map(|place| &place.3) } else { None }
    }
}

/// Which contenders a change can affect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Nothing,
    /// One node came, changed or went.
    Node(ZnodePath),
    /// Any contender may be affected.
    Everything,
}

impl From<&Change> for Changed {
    fn from(change: &Change) -> Self {
        match change {
            // A hint can change the recipe of all its siblings.
            Change::Appeared { path } if Classifier::is_hint(path) => Self::Everything,
            Change::Seen { path, .. }
            | Change::Deleted { path, .. }
            | Change::DeletedBy { path, .. }
            | Change::Appeared { path } => Self::Node(path.clone()),
            // The addresses of clients may have changed.
            Change::Synced | Change::Surveyed { .. } => Self::Everything,
            Change::Listed { .. }
            | Change::Unreadable { .. }
            | Change::Heard { .. }
            | Change::Sampled { .. }
            | Change::Compared { .. }
            | Change::Connection(_)
            | Change::Syncing => Self::Nothing,
        }
    }
}

/// The rows of Queue: the whole queue, or the contenders that pass the filter.
#[derive(Clone, Copy)]
pub struct QueueRows<'a> {
    table: &'a LockTable,
    queue: Option<&'a LockQueue>,
    matches: &'a QueueMatches,
}

impl<'a> QueueRows<'a> {
    pub fn new(table: &'a LockTable, matches: &'a QueueMatches) -> Self {
        Self { table, queue: matches.lock.and_then(|id| table.lock(id)), matches }
    }

    pub fn row(&self, rank: usize) -> Option<ContenderRow<'a>> {
        let queue = self.queue?;
        if self.matches.filter.is_empty() {
            return queue.row(rank);
        }
        let (id, position) = self.table.position(self.matches.path(rank)?)?;
        if id == queue.id() { queue.row(position) } else { None }
    }
}

impl Rows<ZnodePath> for QueueRows<'_> {
    fn len(&self) -> usize {
        match self.queue {
            None => 0,
            Some(queue) if self.matches.filter.is_empty() => queue.len(),
            Some(_) => self.matches.order.len(),
        }
    }

    fn rank(&self, id: &ZnodePath) -> Option<usize> {
        if !self.matches.filter.is_empty() {
            return self.matches.places.get(id).map(|place| self.matches.order.rank(place));
        }
        let (lock, position) = self.table.position(id)?;
        (Some(lock) == self.matches.lock).then_some(position)
    }

    fn id(&self, rank: usize) -> Option<ZnodePath> {
        if self.matches.filter.is_empty() {
            let queue = self.queue?;
            queue.row(rank).map(|row| queue.path_of(row.contender))
        } else {
            self.matches.path(rank).cloned()
        }
    }
}

/// The timeline entries that pass the filter, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct TimelineMatches {
    filter: Filter,
    numbers: VecDeque<u64>,
}

impl TimelineMatches {
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Rebuilds the matches for a filter. Linear in the length of the timeline.
    pub fn build(&mut self, filter: Filter, timeline: &Timeline<TimelineEntry>, table: &LockTable) {
        self.filter = filter;
        self.numbers.clear();
        if !self.filter.is_empty() {
            let numbered = (timeline.first()..).zip(timeline.iter());
            let taken = numbered.filter(|(_, entry)| self.filter.takes_timeline_entry(entry, table));
            self.numbers = taken.map(|(at, _)| at).collect();
        }
    }

    /// Checks the newest entry, and drops entries that the timeline no longer keeps.
    pub fn pushed(&mut self, timeline: &Timeline<TimelineEntry>, table: &LockTable) {
        if self.filter.is_empty() {
            return;
        }
        while self.numbers.front().is_some_and(|number| *number < timeline.first()) {
            self.numbers.pop_front();
        }
        let newest = timeline.first() + timeline.len() as u64 - 1;
        if timeline.get(newest).is_some_and(|entry| self.filter.takes_timeline_entry(entry, table)) {
            self.numbers.push_back(newest);
        }
    }
}

/// The rows of Timeline: all entries, or those that pass the filter.
#[derive(Clone, Copy)]
pub struct TimelineRows<'a> {
    timeline: &'a Timeline<TimelineEntry>,
    matches: &'a TimelineMatches,
}

impl<'a> TimelineRows<'a> {
    pub fn new(timeline: &'a Timeline<TimelineEntry>, matches: &'a TimelineMatches) -> Self {
        Self { timeline, matches }
    }
}

impl Rows<u64> for TimelineRows<'_> {
    fn len(&self) -> usize {
        if self.matches.filter.is_empty() { self.timeline.len() } else { self.matches.numbers.len() }
    }

    fn rank(&self, id: &u64) -> Option<usize> {
        if self.matches.filter.is_empty() {
            let rank = usize::try_from(id.checked_sub(self.timeline.first())?).ok()?;
            (rank < self.timeline.len()).then_some(rank)
        } else {
            self.matches.numbers.binary_search(id).ok()
        }
    }

    fn id(&self, rank: usize) -> Option<u64> {
        if self.matches.filter.is_empty() {
            (rank < self.timeline.len()).then(|| self.timeline.first() + rank as u64)
        } else {
            self.matches.numbers.get(rank).copied()
        }
    }
}
