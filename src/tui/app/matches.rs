use std::collections::VecDeque;
use std::sync::Arc;

use indexset::BTreeSet;
use rustc_hash::FxHashMap;

use super::cursor::Rows;
use super::filter::Filter;
use crate::queue::{Contender, LockId, LockQueue, LockTable, Timeline};
use crate::recipe::Role;
use crate::znode::{Sequence, Zxid};

/// A contender's place among those that pass the filter: the order of the queue.
type Place = (bool, Option<Sequence>, Zxid, Arc<str>);

/// The contenders of the open lock that pass the filter. Built when the filter is set or the lock is opened, then kept
/// up node by node.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    filter: Filter,
    lock: Option<LockId>,
    order: BTreeSet<Place>,
    places: FxHashMap<Arc<str>, Place>,
}

impl Matches {
    /// What a contender must contain.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Which lock this is about.
    pub fn lock(&self) -> Option<LockId> {
        self.lock
    }

    /// Starts anew for a lock and a filter. Work follows the length of that queue, unless the filter is empty.
    pub fn build(&mut self, filter: Filter, lock: Option<LockId>, table: &LockTable) {
        (self.filter, self.lock) = (filter, lock);
        self.order.clear();
        self.places.clear();
        if self.filter.is_empty() {
            return;
        }
        let Some(queue) = lock.and_then(|id| table.lock(id)) else { return };
        for row in queue.rows(0..queue.len()).filter(|row| self.filter.takes_contender(row.contender)) {
            self.add(row.contender);
        }
    }

    /// Looks again at one node, which came, changed or went.
    pub fn recheck(&mut self, node: &str, queue: &LockQueue) {
        if self.filter.is_empty() {
            return;
        }
        if let Some(old) = self.places.remove(node) {
            self.order.remove(&old);
        }
        if let Some(row) = queue.position(node).and_then(|position| queue.row(position))
            && self.filter.takes_contender(row.contender)
        {
            self.add(row.contender);
        }
    }

    fn add(&mut self, contender: &Contender) {
        let node = Arc::clone(&contender.node);
        let place = (contender.role != Role::Lease, contender.sequence, contender.czxid, Arc::clone(&node));
        self.order.insert(place.clone());
        self.places.insert(node, place);
    }
}

/// The rows of Queue: the whole queue, or what passes the filter.
#[derive(Clone, Copy)]
pub struct QueueRows<'a> {
    queue: Option<&'a LockQueue>,
    matches: &'a Matches,
}

impl<'a> QueueRows<'a> {
    /// The rows of this lock.
    pub fn new(queue: Option<&'a LockQueue>, matches: &'a Matches) -> Self {
        Self { queue, matches }
    }

    /// The place in the queue of the row with this rank.
    pub fn position(&self, rank: usize) -> Option<usize> {
        if self.matches.filter.is_empty() {
            return (rank < self.len()).then_some(rank);
        }
        self.queue?.position(&self.matches.order.get_index(rank)?.3)
    }
}

impl Rows<Arc<str>> for QueueRows<'_> {
    fn len(&self) -> usize {
        if self.matches.filter.is_empty() { self.queue.map_or(0, LockQueue::len) } else { self.matches.order.len() }
    }

    fn rank(&self, id: &Arc<str>) -> Option<usize> {
        if self.matches.filter.is_empty() {
            self.queue?.position(id)
        } else {
            self.matches.places.get(id).map(|place| self.matches.order.rank(place))
        }
    }

    fn id(&self, rank: usize) -> Option<Arc<str>> {
        if self.matches.filter.is_empty() {
            self.queue?.row(rank).map(|row| Arc::clone(&row.contender.node))
        } else {
            self.matches.order.get_index(rank).map(|place| Arc::clone(&place.3))
        }
    }
}

/// The happenings of the timeline that pass the filter, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    filter: Filter,
    numbers: VecDeque<u64>,
}

impl Moments {
    /// What a happening must contain.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Starts anew for a filter. Work follows what the timeline keeps.
    pub fn build(&mut self, filter: Filter, timeline: &Timeline) {
        self.filter = filter;
        self.numbers.clear();
        if !self.filter.is_empty() {
            let numbered = (timeline.first()..).zip(timeline.iter());
            self.numbers = numbered.filter(|(_, what)| self.filter.takes_happening(what)).map(|(at, _)| at).collect();
        }
    }

    /// Looks at the newest happening, and drops what the timeline has forgotten.
    pub fn pushed(&mut self, timeline: &Timeline) {
        if self.filter.is_empty() {
            return;
        }
        while self.numbers.front().is_some_and(|number| *number < timeline.first()) {
            self.numbers.pop_front();
        }
        let newest = timeline.first() + timeline.len() as u64 - 1;
        if timeline.get(newest).is_some_and(|happening| self.filter.takes_happening(happening)) {
            self.numbers.push_back(newest);
        }
    }
}

/// The rows of Timeline: all that it keeps, or what passes the filter.
#[derive(Clone, Copy)]
pub struct TimelineRows<'a> {
    timeline: &'a Timeline,
    moments: &'a Moments,
}

impl<'a> TimelineRows<'a> {
    /// The rows of this timeline.
    pub fn new(timeline: &'a Timeline, moments: &'a Moments) -> Self {
        Self { timeline, moments }
    }
}

impl Rows<u64> for TimelineRows<'_> {
    fn len(&self) -> usize {
        if self.moments.filter.is_empty() { self.timeline.len() } else { self.moments.numbers.len() }
    }

    fn rank(&self, id: &u64) -> Option<usize> {
        if self.moments.filter.is_empty() {
            let rank = usize::try_from(id.checked_sub(self.timeline.first())?).ok()?;
            (rank < self.timeline.len()).then_some(rank)
        } else {
            self.moments.numbers.binary_search(id).ok()
        }
    }

    fn id(&self, rank: usize) -> Option<u64> {
        if self.moments.filter.is_empty() {
            (rank < self.timeline.len()).then(|| self.timeline.first() + rank as u64)
        } else {
            self.moments.numbers.get(rank).copied()
        }
    }
}
