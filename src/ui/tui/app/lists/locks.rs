//! Locks: every lock, in the chosen order.

use crate::tui::app::list::{ListOrder, ListScreen, Sorting};
use crate::tui::app::{App, Filter, LockOrder, Rows, Screen, VanishedLock};
use crate::tui::screen::Column;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::queue::{LockId, LockQueue};

pub struct Locks;

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
    const ALL: &'static [Self] = &[
        Self::Severity,
        Self::Waiting,
        Self::Held,
        Self::Oldest,
        Self::Acquisitions,
        Self::Herd,
        Self::Chain,
        Self::Lock,
        Self::Recipe,
        Self::Holder,
    ];
    const POINTS_DOWN: bool = true;

    fn id(self) -> &'static str {
        match self {
            Self::Severity => "severity",
            Self::Lock => "lock",
            Self::Recipe => "recipe",
            Self::Holder => "holder",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Oldest => "oldest",
            Self::Acquisitions => "acq/s",
            Self::Herd => "herd/s",
            Self::Chain => "chain/s",
        }
    }
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
    Acquisitions,
    Herd,
    Chain,
    Holding,
    Finding,
}

const COLUMNS: &[Column<LockColumn>] = &[
    Column::text(LockColumn::Lock, "LOCK", 14, 48, 0),
    Column::text(LockColumn::Recipe, "RECIPE", 15, 16, 5),
    Column::text(LockColumn::Holder, "HOLDER", 13, 33, 1),
    Column::text(LockColumn::Data, "HOLDER'S DATA", 14, 24, 8),
    Column::number(LockColumn::Held, "HELD", 7, 1),
    Column::number(LockColumn::Holding, "HOLD", 5, 10),
    Column::number(LockColumn::Waiting, "WAIT", 5, 0),
    Column::number(LockColumn::Oldest, "OLDEST", 6, 3),
    Column::number(LockColumn::Acquisitions, "ACQ/s", 6, 4),
    Column::number(LockColumn::Herd, "HERD/s", 7, 6),
    Column::number(LockColumn::Chain, "CHAIN/s", 7, 7),
    Column::text(LockColumn::Finding, "FINDING", 12, 24, 0),
];

impl ListScreen<App> for Locks {
    type Id = LockId;
    type Row<'a> = LockRow<'a>;
    type Order = LockOrder;
    type Column = LockColumn;

    fn columns(&self) -> &'static [Column<LockColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Locks)
    }

    fn order_by(&self, column: LockColumn) -> Option<LockOrder> {
        Some(match column {
            LockColumn::Lock => LockOrder::Lock,
            LockColumn::Recipe => LockOrder::Recipe,
            LockColumn::Holder => LockOrder::Holder,
            LockColumn::Held => LockOrder::Held,
            LockColumn::Waiting => LockOrder::Waiting,
            LockColumn::Oldest => LockOrder::Oldest,
            LockColumn::Acquisitions => LockOrder::Acquisitions,
            LockColumn::Herd => LockOrder::Herd,
            LockColumn::Chain => LockOrder::Chain,
            LockColumn::Finding => LockOrder::Severity,
            LockColumn::Data | LockColumn::Holding => return None,
        })
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
