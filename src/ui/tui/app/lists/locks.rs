//! Locks: every lock in the chosen order, and below them the locks that vanished a short time ago.
//!
//! The order of the locks that pass the filter is updated change by change. Vanished locks are not
//! counted as locks.

use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use indexset::BTreeSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::list::{Directed, Sorting};
use crate::tui::app::list::{ListOrder, ListScreen};
use crate::tui::app::{App, Filter, Rows, Screen};
use crate::tui::screen::Column;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_model::diagnose::{Diagnosis, Severity, TableAt};
use lockscope_model::queue::{Contender, HeldSince, LockId, LockName, LockQueue, LockTable};

pub struct LockList;

/// A row of the list.
#[derive(Clone, Copy, Debug)]
pub enum LockRow<'a> {
    Lock(&'a LockQueue),
    /// A lock that is gone.
    Vanished(&'a VanishedLock),
}

impl LockRow<'_> {
    fn path(&self) -> &ZnodePath {
        match self {
            Self::Lock(lock) => lock.path(),
            Self::Vanished(gone) => &gone.name.path,
        }
    }
}

impl ListOrder for LockOrder {
    type Column = LockColumn;
    const TABLE: &'static [(Self, &'static str, LockColumn)] = &[
        (Self::Severity, "severity", LockColumn::Finding),
        (Self::Waiting, "waiting", LockColumn::Waiting),
        (Self::Held, "held", LockColumn::Held),
        (Self::Oldest, "oldest", LockColumn::Oldest),
        (Self::Cost, "cost", LockColumn::Cost),
        (Self::Acquisitions, "acq/s", LockColumn::Acquisitions),
        (Self::Herd, "herd/s", LockColumn::Herd),
        (Self::Chain, "chain/s", LockColumn::Chain),
        (Self::Lock, "lock", LockColumn::Lock),
        (Self::Recipe, "recipe", LockColumn::Recipe),
        (Self::Holder, "holder", LockColumn::Holder),
    ];
    const POINTS_DOWN: bool = true;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockColumn {
    Lock,
    Recipe,
    Holder,
    Data,
    Held,
    Waiting,
    Oldest,
    Cost,
    Acquisitions,
    Herd,
    Chain,
    Holding,
    Finding,
}

const LOCK_COLUMNS: &[Column<LockColumn>] = &[
    Column::text(LockColumn::Lock, "LOCK", 14, 48, 0),
    Column::text(LockColumn::Recipe, "RECIPE", 15, 16, 5),
    Column::text(LockColumn::Holder, "HOLDER", 13, 33, 1),
    Column::text(LockColumn::Data, "HOLDER'S DATA", 14, 24, 8),
    Column::number(LockColumn::Held, "HELD", 7, 1),
    Column::number(LockColumn::Holding, "HOLD", 5, 10),
    Column::number(LockColumn::Waiting, "WAIT", 5, 0),
    Column::number(LockColumn::Oldest, "OLDEST", 6, 3),
    Column::number(LockColumn::Cost, "COST", 6, 9),
    Column::number(LockColumn::Acquisitions, "ACQ/s", 6, 4),
    Column::number(LockColumn::Herd, "HERD/s", 7, 6),
    Column::number(LockColumn::Chain, "CHAIN/s", 7, 7),
    Column::text(LockColumn::Finding, "FINDING", 12, 24, 0),
];

impl ListScreen<App> for LockList {
    type Id = LockId;
    type Row<'a> = LockRow<'a>;
    type Order = LockOrder;
    type Column = LockColumn;

    fn columns(&self) -> &'static [Column<LockColumn>] {
        LOCK_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Locks)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<LockId> + 'a {
        app.world().lock_rows()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<LockRow<'a>> {
        let (world, id) = (app.world(), app.world().lock_rows().id(rank)?);
        let gone = || world.vanished().get(id).map(LockRow::Vanished);
        world.table().lock(id).map(LockRow::Lock).or_else(gone)
    }

    cursor_in!(locks: LockId);

    fn copied(&self, _: &App, row: LockRow<'_>) -> Option<String> {
        Some(row.path().to_string())
    }

    /// Opens the queue of a lock, or the history of a lock that is gone.
    fn open(&self, app: &mut App) {
        match self.cursor(app).selected(&app.world().lock_rows()) {
            Some(id) if app.world().table().lock(id).is_none() => app.open_vanished(id),
            Some(id) => app.open_lock(id),
            None => app.show_failure("There is no lock to open.".to_owned()),
        }
    }

    /// Returns the session of the lock's first holder.
    fn session(&self, app: &App) -> Option<SessionId> {
        let lock = self.cursor(app).selected(app.world().locks())?;
        app.world().table().lock(lock)?.first_holder()?.session()
    }

    /// Returns the lock's parent; for a single-node lock, the node.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let lock = self.cursor(app).selected(app.world().locks())?;
        Some(app.world().table().lock(lock)?.path().clone())
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().locks().filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        let now = app.now();
        app.each_world(|world| world.filter_locks(&filter, now));
    }

    fn order(&self, app: &App) -> Option<Sorting<LockOrder>> {
        Some(app.world().locks().sorting())
    }

    fn sort(&self, app: &mut App, sorting: Sorting<LockOrder>) {
        let now = app.moment();
        app.each_world(|world| {
            world.arrange(|locks, table, diagnosis| locks.sort(sorting, table, diagnosis, now));
        });
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let (world, locks) = (app.world(), app.world().locks());
        let listed = locks.window(0..locks.len()).filter_map(|id| world.table().lock(id));
        app.locks_as_json(listed.collect())
    }

    fn deletable(&self, app: &App) -> Vec<ZnodePath> {
        let lock = self.cursor(app).selected(app.live.locks()).and_then(|id| app.live.table().lock(id));
        lock.map(|lock| lock.path().clone()).into_iter().collect()
    }

    fn changes_with_time(&self, app: &App) -> bool {
        let table = app.live.table();
        table.contender_count() > 0 || app.shows_recent_watch_events() || app.shows_ages_of_free_locks()
    }
}

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
}

impl SortedLocks {
    pub fn sorting(&self) -> Sorting<LockOrder> {
        self.sorting
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
            self.keys.insert(key.id, Arc::clone(&key));
            self.order.insert(key);
        }
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
