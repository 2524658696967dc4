//! The order of the locks that pass the filter, updated change by change.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use std::time::Duration;

use indexset::BTreeSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::list::{Directed, Sorting};
use crate::tui::app::{Filter, Rows};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_model::diagnose::{Diagnosis, Severity, TableAt};
use lockscope_model::queue::{Contender, HeldSince, LockId, LockQueue, LockTable};

/// A column that Locks can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LockOrder {
    /// By path, ascending.
    Lock,
    /// By recipe, then path.
    Recipe,
    /// By the holder's session; free locks last.
    Holder,
    /// The lock held longest first; free locks last.
    Held,
    /// The locks with the worst findings first, then by the length of the queue.
    #[default]
    Severity,
    Waiting,
    /// The lock whose first waiter has waited longest first.
    Oldest,
    /// By what all waited for it within the last ten minutes, most first.
    Cost,
    Acquisitions,
    /// By the watch events that would be sent if every waiter watched the parent, most first.
    Herd,
    /// By the watch events that would be sent if each waiter watched its predecessor, most first.
    Chain,
}

impl LockOrder {
    /// Whether the order changes with time alone, even if the lock does not change.
    fn fades(self) -> bool {
        matches!(self, Self::Acquisitions | Self::Herd | Self::Chain | Self::Cost)
    }
}

/// The first part of a sort key, small values first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Primary {
    Number(i64),
    Worst(i64, i64),
    Path(ZnodePath),
    PathDown(Reverse<ZnodePath>),
}

/// The sort key of a lock. Path and name order locks that are equal otherwise, so the order is
/// deterministic.
#[derive(Clone, Debug)]
struct LockSortKey {
    primary: Primary,
    path: ZnodePath,
    id: LockId,
    /// Boxed to keep the keys small: every lock has a key, and few keys have these parts.
    rare: Option<Box<RareKeyParts>>,
}

/// Parts that few sort keys have.
#[derive(Clone, Debug)]
struct RareKeyParts {
    /// The second column, if the list is sorted by two.
    second: Option<Primary>,
    /// The name of the lock, if its parent holds several queues.
    name: Option<Arc<str>>,
}

impl LockSortKey {
    /// The parts to compare, in order.
    fn parts(&self) -> impl Ord + '_ {
        let rare = self.rare.as_deref();
        let (second, name) = (rare.and_then(|rare| rare.second.as_ref()), rare.and_then(|rare| rare.name.as_deref()));
        (&self.primary, second, &self.path, name, self.id)
    }
}

impl PartialEq for LockSortKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LockSortKey {}

impl PartialOrd for LockSortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LockSortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// Above this number of changed locks, sorting them before the insertion is several times as fast.
const MIN_KEYS_TO_SORT: usize = 64;

/// During the first read of the ensemble, changed locks are sorted in at once, again after this
/// time, and then each time that the read has taken twice as long. Most locks change several times
/// during the read.
const FIRST_READING_INTERVAL: Duration = Duration::from_millis(250);

/// The locks that pass the filter, in order. Each change costs time logarithmic in the number of
/// locks.
#[derive(Clone, Debug, Default)]
pub struct SortedLocks {
    sorting: Sorting<LockOrder>,
    filter: Filter,
    order: BTreeSet<Arc<LockSortKey>>,
    keys: FxHashMap<LockId, Arc<LockSortKey>>,
    /// Locks that changed during the first read and are not sorted in yet.
    waiting: FxHashSet<LockId>,
    /// The times of the first and the last batch of the first read.
    placed: Option<(Timestamp, Timestamp)>,
    /// Locks whose rates are not 0 yet.
    active: FxHashSet<LockId>,
    /// The node that all these locks are below. Locks that go do not lengthen it.
    prefix: Option<ZnodePath>,
}

impl SortedLocks {
    pub fn sorting(&self) -> Sorting<LockOrder> {
        self.sorting
    }

    /// The node that all locks are below, as far as is known.
    pub fn prefix(&self) -> Option<&ZnodePath> {
        self.prefix.as_ref()
    }

    /// Whether `is_such` is true for one of the columns that the list is sorted by.
    fn sorts_by(&self, is_such: impl Fn(LockOrder) -> bool) -> bool {
        is_such(self.sorting.first.by) || self.sorting.then.is_some_and(|then| is_such(then.by))
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Sets the order. Linear in the number of locks, apart from the sort.
    pub fn sort(&mut self, sorting: Sorting<LockOrder>, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        self.sorting = sorting;
        self.rebuild(table, diagnosis, now);
    }

    /// Sets the filter. Linear in the number of locks, apart from the sort.
    pub fn set_filter(&mut self, filter: Filter, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        self.filter = filter;
        self.rebuild(table, diagnosis, now);
    }

    /// Applies the filter again after a survey or a second: the addresses of holders and the
    /// figures may have changed. Linear in the number of locks, unless the filter is empty.
    pub fn surveyed(&mut self, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        if self.filter.is_empty() {
            return;
        }
        for lock in table.locks() {
            if self.takes(lock, table, diagnosis, now) != self.keys.contains_key(&lock.id()) {
                self.place(lock.id(), table, diagnosis, now);
            }
        }
    }

    fn rebuild(&mut self, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        self.order.clear();
        self.keys.clear();
        self.waiting.clear();
        self.prefix = None;
        let taken = table.locks().filter(|lock| self.takes(lock, table, diagnosis, now));
        let keys: Vec<_> = taken.map(|lock| Arc::new(self.key(lock, TableAt::new(table, now), diagnosis))).collect();
        self.insert(keys);
    }

    /// Inserts new keys.
    fn insert(&mut self, mut keys: Vec<Arc<LockSortKey>>) {
        if keys.len() > MIN_KEYS_TO_SORT {
            keys.sort_unstable();
        }
        for key in keys {
            self.take_prefix(&key.path);
            self.keys.insert(key.id, Arc::clone(&key));
            self.order.insert(key);
        }
    }

    /// Shortens the prefix to what it has in common with the path of another lock.
    fn take_prefix(&mut self, path: &ZnodePath) {
        let mut prefix = self.prefix.take().or_else(|| path.parent()).unwrap_or_else(ZnodePath::root);
        while !prefix.is_root() && (!path.is_within(&prefix) || *path == prefix) {
            prefix = prefix.parent().unwrap_or_else(ZnodePath::root);
        }
        self.prefix = Some(prefix);
    }

    /// Updates the order after locks changed, came or went. During the first read, updates wait for
    /// the next batch.
    pub fn touch(&mut self, touched: &[LockId], table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        if table.is_reporting() {
            self.active.extend(touched);
        } else {
            self.waiting.extend(touched);
            let (first, due) = self.placed.map_or((now, Duration::ZERO), |(first, last)| {
                (first, last.since(first) + last.since(first).max(FIRST_READING_INTERVAL))
            });
            if now.since(first) < due {
                return;
            }
            self.placed = Some((first, now));
        }
        if self.waiting.is_empty() {
            self.place_all(touched.iter().copied(), table, diagnosis, now);
        } else {
            let mut waiting = std::mem::take(&mut self.waiting);
            waiting.extend(touched);
            self.place_all(waiting.into_iter(), table, diagnosis, now);
        }
    }

    fn place_all(
        &mut self,
        locks: impl ExactSizeIterator<Item = LockId>,
        table: &LockTable,
        diagnosis: &Diagnosis,
        now: Timestamp,
    ) {
        let mut keys = Vec::with_capacity(locks.len());
        for id in locks {
            keys.extend(self.take_out(id, table, diagnosis, now));
        }
        self.insert(keys);
    }

    /// Updates the order after the findings of these locks changed.
    pub fn place_anew(&mut self, locks: &[LockId], table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        if !self.filter.is_empty() || self.sorts_by(|order| order == LockOrder::Severity) {
            for id in locks {
                self.place(*id, table, diagnosis, now);
            }
        }
    }

    /// Updates the order after a second passed, when the list is sorted by a rate. Linear in the
    /// number of locks that were active within the last seconds; by cost, in that of the locks that
    /// were waited for within the last minutes.
    pub fn fade(&mut self, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        let active: Vec<_> = self.active.iter().copied().collect();
        for id in active {
            let quiet = table.lock(id).is_none_or(|lock| {
                let rates = lock.rates(now);
                rates.acquisitions + rates.herd + rates.chain <= 0.0
            });
            if quiet {
                self.active.remove(&id);
            }
            if self.sorts_by(LockOrder::fades) {
                self.place(id, table, diagnosis, now);
            }
        }
        if self.sorts_by(|order| order == LockOrder::Cost) {
            let waited_for: Vec<_> = table.waits().locks().collect();
            for id in waited_for {
                self.place(id, table, diagnosis, now);
            }
        }
        if self.filter.may_be_of_figures() {
            self.surveyed(table, diagnosis, now);
        }
    }

    fn place(&mut self, id: LockId, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        let key = self.take_out(id, table, diagnosis, now);
        self.insert(key.into_iter().collect());
    }

    /// Removes a lock whose key has changed and returns the new key. Returns `None` when the key is
    /// unchanged or the lock does not pass the filter.
    fn take_out(
        &mut self,
        id: LockId,
        table: &LockTable,
        diagnosis: &Diagnosis,
        now: Timestamp,
    ) -> Option<Arc<LockSortKey>> {
        let lock = table.lock(id).filter(|lock| self.takes(lock, table, diagnosis, now));
        let key = lock.map(|lock| self.key(lock, TableAt::new(table, now), diagnosis));
        let old = self.keys.get(&id);
        if old.map(|old| &**old) == key.as_ref() {
            return None;
        }
        if let Some(old) = self.keys.remove(&id) {
            self.order.remove(&old);
        }
        key.map(Arc::new)
    }

    fn takes(&self, lock: &LockQueue, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) -> bool {
        self.filter.takes_lock(lock, TableAt::new(table, now), diagnosis, now)
    }

    fn key(&self, lock: &LockQueue, table_at: TableAt<'_>, diagnosis: &Diagnosis) -> LockSortKey {
        let part = |Directed { by, reversed }| match by {
            LockOrder::Lock if reversed => Primary::PathDown(Reverse(lock.path().clone())),
            LockOrder::Lock => Primary::Path(lock.path().clone()),
            LockOrder::Severity => severity_key(lock, diagnosis, reversed),
            _ => figure_key(lock, by, reversed, table_at),
        };
        let Sorting { first, then } = self.sorting;
        let (second, name) = (then.map(part), lock.name().map(Arc::from));
        let has_rare = second.is_some() || name.is_some();
        let rare = has_rare.then(|| Box::new(RareKeyParts { second, name }));
        LockSortKey { primary: part(first), path: lock.path().clone(), id: lock.id(), rare }
    }

    /// The ids of the rows of a window, in order.
    pub fn window(&self, window: std::ops::Range<usize>) -> impl Iterator<Item = LockId> {
        let end = window.end.min(self.order.len());
        (window.start.min(end)..end).filter_map(|rank| self.order.get_index(rank)).map(|key| key.id)
    }
}

fn severity_key(lock: &LockQueue, diagnosis: &Diagnosis, reversed: bool) -> Primary {
    let severity = match diagnosis.worst(lock.id()).map(|finding| (&finding.muted, finding.severity)) {
        Some((None, Severity::Critical)) => -4,
        Some((None, Severity::Warning)) => -3,
        Some((None, Severity::Info)) => -2,
        Some((Some(_), _)) => -1,
        None => 0,
    };
    let waiting = -i64::try_from(lock.waiting()).unwrap_or(i64::MAX);
    if reversed { Primary::Worst(-severity, -waiting) } else { Primary::Worst(severity, waiting) }
}

/// The sort key of a column of numbers, smaller first. Locks without a value come last in both
/// directions.
fn figure_key(lock: &LockQueue, by: LockOrder, reversed: bool, table_at: TableAt<'_>) -> Primary {
    let now = table_at.now();
    let number = match by {
        LockOrder::Lock | LockOrder::Severity => Some(0),
        LockOrder::Recipe => Some(lock.recipe().rank()),
        LockOrder::Holder => lock.first_holder().and_then(Contender::session).map(|SessionId(bits)| bits),
        LockOrder::Held => match lock.held() {
            HeldSince::Free => None,
            HeldSince::Since(Timestamp(time)) | HeldSince::AtMostSince(Timestamp(time)) => Some(time),
        },
        LockOrder::Waiting => Some(-i64::try_from(lock.waiting()).unwrap_or(i64::MAX)),
        LockOrder::Oldest => lock.first_waiter().map(|waiter| waiter.created_at.0),
        LockOrder::Cost => {
            let waited = table_at.table().waits().of_lock(lock.id(), now).0.as_millis();
            Some(-i64::try_from(waited).unwrap_or(i64::MAX))
        }
        LockOrder::Acquisitions => Some(most_first(lock.rates(now).acquisitions)),
        LockOrder::Herd => Some(most_first(lock.rates(now).herd)),
        LockOrder::Chain => Some(most_first(lock.rates(now).chain)),
    };
    Primary::Number(match number {
        Some(number) if reversed => number.saturating_neg(),
        Some(number) => number,
        None => i64::MAX,
    })
}

/// A sort key for rates, in thousandths, the highest first.
#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range saturates, and still comes first")]
fn most_first(rate: f64) -> i64 {
    -((rate * 1000.0) as i64)
}

impl Rows<LockId> for SortedLocks {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn rank(&self, id: &LockId) -> Option<usize> {
        self.keys.get(id).map(|key| self.order.rank(key))
    }

    fn id(&self, rank: usize) -> Option<LockId> {
        // `get_index` beyond the end of the set is unspecified.
        if rank < self.order.len() { self.order.get_index(rank).map(|key| key.id) } else { None }
    }
}
