//! Locks: every lock in the chosen order, and below them the locks that vanished a short time ago.
//!
//! Vanished locks are not counted as locks.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::list::Sorting;
use super::sorted_locks::{LockOrder, SortedLocks};
use crate::tui::app::list::{CellNeed, ColumnNeeds, ListOrder, ListScreen};
use crate::tui::app::{App, Filter, Rows, Screen};
use crate::tui::page::details;
use crate::tui::screen::{Column, MARK_WIDTH, Placed, place};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, escaped};
use lockscope_model::diagnose::WatchTarget;
use lockscope_model::queue::{LockId, LockName, LockQueue, Rates};
use lockscope_model::text::width;

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

    fn lock_name(&self) -> LockName {
        match self {
            Self::Lock(lock) => lock.lock_name(),
            Self::Vanished(gone) => gone.name.clone(),
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
    /// How long the queue is compared with the other visible ones.
    Bar,
    Waiting,
    Oldest,
    Cost,
    Acquisitions,
    Herd,
    Chain,
    Holding,
    Style,
    Finding,
}

/// What the waiters of a lock watch: the cost of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStyle {
    /// The lock's parent: a release wakes all.
    Herd,
    /// Nodes before their own: a release wakes the next.
    Chain,
    /// Some the one, some the other.
    Both,
    /// None of the waiters watches a node of the queue.
    Nothing,
}

/// Maximum waiters of a lock that tell its style.
const MAX_WAITERS_FOR_STYLE: usize = 4;

impl LockStyle {
    /// Returns the style of the first waiters; `None` where nobody waits or the servers do not tell.
    /// The waiters for a single node all watch that node, as a herd.
    pub fn of(app: &App, lock: &LockQueue) -> Option<Self> {
        let (mut found, table_at) = (None, app.world().table_at(app.now()));
        if lock.kind() == LockKind::SingleNode {
            return (table_at.waiting(lock) > 0).then_some(Self::Herd);
        }
        let first = lock.holding();
        for row in lock.rows(first..first + MAX_WAITERS_FOR_STYLE) {
            let watched = app.fleets().watched_by(lock, &row);
            let style = match watched.unwrap_or_else(|| table_at.facts(lock, &row).watching) {
                WatchTarget::Parent => Self::Herd,
                WatchTarget::Predecessor | WatchTarget::TwoBefore => Self::Chain,
                WatchTarget::Nothing => Self::Nothing,
                WatchTarget::Unknown => continue,
            };
            found = match found {
                None | Some(Self::Nothing) => Some(style),
                Some(before) if style == before || style == Self::Nothing => Some(before),
                Some(_) => Some(Self::Both),
            };
        }
        found
    }

    /// Returns the name on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Herd => "herd",
            Self::Chain => "chain",
            Self::Both => "both",
            Self::Nothing => "none",
        }
    }
}

/// Columns of the bar beside the number of waiters.
pub const BAR_WIDTH: u16 = 4;

/// Paths of at most this many columns are shown whole, even if all of them begin alike.
const MAX_WHOLE_PATH: u16 = 24;

/// Columns of a finding with its sign and a time.
const FINDING: usize = "! stuck 13m42s".len();

/// Follows the holder of a queue with unknown rules, where there is room.
pub const ASSUMED: &str = " (assumed)";

/// Precedes the leader of an election, where there is room.
pub const LEADER: &str = "LEADER ";

const LOCK_COLUMNS: &[Column<LockColumn>] = &[
    Column::text(LockColumn::Lock, "LOCK", 14, 48, 0),
    Column::text(LockColumn::Recipe, "RECIPE", 15, 16, 5),
    Column::text(LockColumn::Holder, "HOLDER", 13, 33, 1),
    Column::text(LockColumn::Data, "HOLDER'S DATA", 14, 24, 8),
    Column::number(LockColumn::Held, "HELD", 7, 1),
    Column::number(LockColumn::Holding, "HOLD", 5, 10),
    Column::number(LockColumn::Bar, "", BAR_WIDTH, 2).named("bar"),
    Column::number(LockColumn::Waiting, "WAIT", 5, 0),
    Column::number(LockColumn::Oldest, "OLDEST", 6, 3),
    Column::number(LockColumn::Cost, "COST", 6, 9),
    Column::number(LockColumn::Acquisitions, "ACQ/s", 7, 4),
    Column::number(LockColumn::Herd, "HERD/s", 7, 6),
    Column::number(LockColumn::Chain, "CHAIN/s", 7, 7),
    Column::text(LockColumn::Style, "STYLE", 6, 6, 2),
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

    fn needs<'a>(&self, app: &'a App) -> Option<&'a ColumnNeeds> {
        (app.screen() == Screen::Locks).then_some(&app.navigation.needs)
    }

    fn need(&self, app: &App, row: &LockRow<'_>, column: LockColumn) -> CellNeed {
        match row {
            LockRow::Vanished(gone) if column == LockColumn::Lock => {
                CellNeed::Columns(columns_of(&gone.name.path, gone.name.name.as_deref()))
            }
            LockRow::Vanished(_) => CellNeed::Nothing,
            LockRow::Lock(lock) => need_of(app, lock, column),
        }
    }

    /// Places the columns. Without what all paths begin with, the rows need less room for them.
    fn place(&self, app: &App, width: u16) -> Vec<Placed<LockColumn>> {
        let mut columns = self.fitted(app);
        if let Some(prefix) = self.prefix(app) {
            let left_out = u16::try_from(prefix.as_str().len() + 1).unwrap_or(u16::MAX);
            for column in columns.iter_mut().filter(|column| column.key == LockColumn::Lock) {
                column.need = column.need.saturating_sub(left_out);
            }
        }
        place(&columns, MARK_WIDTH, width)
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
            None => app.show_hint("There is no lock to open.".to_owned()),
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

impl LockList {
    /// Returns the node that all listed locks are below, if it is left out of the rows because
    /// whole paths would take much room. The title names it instead.
    pub fn prefix<'a>(&self, app: &'a App) -> Option<&'a ZnodePath> {
        let locks = app.world().locks();
        let prefix = locks.prefix().filter(|prefix| locks.len() > 1 && !prefix.is_root())?;
        (self.needs(app)?.of(0) > MAX_WHOLE_PATH).then_some(prefix)
    }

    /// Returns the name of a lock for its row, without what all listed paths begin with.
    pub fn name_of(&self, app: &App, lock: &LockName) -> String {
        let whole = lock.to_string();
        let below = self.prefix(app).and_then(|prefix| whole.strip_prefix(prefix.as_str())?.strip_prefix('/'));
        below.map_or_else(|| whole.clone(), str::to_owned)
    }

    /// Returns the names of the visible locks, if some need more than `columns` columns.
    pub fn long_names(&self, app: &App, columns: usize, height: usize) -> Vec<(LockId, String)> {
        let top = self.cursor(app).top();
        let rows = (top..top + height).filter_map(|rank| self.row(app, rank)).map(|row| row.lock_name());
        let names: Vec<_> = rows.map(|lock| (lock.id, self.name_of(app, &lock))).collect();
        if names.iter().all(|(_, name)| width(&escaped(name)) <= columns) { Vec::new() } else { names }
    }
}

/// Returns the columns of a lock's whole name.
fn columns_of(path: &ZnodePath, name: Option<&str>) -> usize {
    width(&escaped(path.as_str())) + name.map_or(0, |name| width(&escaped(name)) + " []".len())
}

fn need_of(app: &App, lock: &LockQueue, column: LockColumn) -> CellNeed {
    let (table, now) = (app.world().table(), app.now());
    let zero = |is_zero: bool, text: &'static str| if is_zero { CellNeed::Alike(text) } else { CellNeed::Differs };
    let rate = |of: fn(&Rates) -> f64| {
        let is_zero = table.sampled(lock).is_none() && of(&lock.rates(now)) < 0.05;
        zero(is_zero, "0")
    };
    match column {
        LockColumn::Lock => CellNeed::Columns(columns_of(lock.path(), lock.name())),
        LockColumn::Holder => lock.first_holder().map_or(CellNeed::Nothing, |holder| {
            let is_election = details::is_shown_as_election(table, lock, now);
            let around = match (is_election, lock.is_assumed()) {
                (true, _) => LEADER.len(),
                (false, true) => ASSUMED.len(),
                (false, false) => 0,
            };
            CellNeed::Columns(table.clients().identity_of(holder).columns_of_first() + around)
        }),
        LockColumn::Recipe => CellNeed::Alike(lock.recipe().title()),
        LockColumn::Style => match LockStyle::of(app, lock) {
            Some(style) => CellNeed::Alike(style.id()),
            None if lock.waiting() > 0 || may_have_waiters(app, lock) => CellNeed::Unknown,
            None => CellNeed::Nothing,
        },
        LockColumn::Bar => zero(lock.waiting() == 0 && table.sampled(lock).is_none(), ""),
        LockColumn::Oldest => zero(lock.first_waiter().is_none(), ""),
        LockColumn::Cost => zero(table.waits().of_lock(lock.id(), now).0.is_zero(), "0"),
        LockColumn::Acquisitions => rate(|rates| rates.acquisitions),
        LockColumn::Herd => rate(|rates| rates.herd),
        LockColumn::Chain => rate(|rates| rates.chain),
        LockColumn::Finding if app.world().diagnosis().worst(lock.id()).is_some() => CellNeed::Columns(FINDING),
        LockColumn::Data | LockColumn::Held | LockColumn::Waiting | LockColumn::Holding | LockColumn::Finding => {
            CellNeed::Nothing
        }
    }
}

/// Returns whether it is not known who waits for the single node of a lock.
fn may_have_waiters(app: &App, lock: &LockQueue) -> bool {
    lock.kind() == LockKind::SingleNode && app.world().table_at(app.now()).waiters(lock).is_none()
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
