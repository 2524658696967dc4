//! Locks: every lock, in the chosen order.

use crate::queue::{LockId, LockQueue};
use crate::tui::app::list::{ListOrder, ListScreen};
use crate::tui::app::{App, Filter, LockOrder, Rows};
use crate::znode::{SessionId, ZnodePath};

pub struct Locks;

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

impl ListScreen<App> for Locks {
    type Id = LockId;
    type Row<'a> = &'a LockQueue;
    type Order = LockOrder;

    fn rows<'a>(&self, app: &'a App) -> impl Rows<LockId> + 'a {
        app.world().locks()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a LockQueue> {
        app.world().table().lock(app.world().locks().id(rank)?)
    }

    cursor_in!(locks: LockId);

    fn copied(&self, _: &App, lock: &LockQueue) -> Option<String> {
        Some(lock.path().to_string())
    }

    fn open(&self, app: &mut App) {
        match self.cursor(app).selected(app.world().locks()) {
            Some(id) => app.open_lock(id),
            None => app.show_failure("There is no lock to open.".to_owned()),
        }
    }

    /// That of its first holder.
    fn session(&self, app: &App) -> Option<SessionId> {
        let lock = self.cursor(app).selected(app.world().locks())?;
        app.world().table().lock(lock)?.first_holder()?.session
    }

    /// The lock's parent; of a single node the node.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let lock = self.cursor(app).selected(app.world().locks())?;
        Some(app.world().table().lock(lock)?.path().clone())
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().locks().filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        let now = app.now();
        app.each_world(|world| {
            world.arrange(|locks, table, diagnosis| locks.set_filter(filter.clone(), table, diagnosis, now));
        });
    }

    fn order(&self, app: &App) -> Option<(LockOrder, bool)> {
        Some((app.world().locks().by(), app.world().locks().reversed()))
    }

    fn sort(&self, app: &mut App, order: LockOrder, reversed: bool) {
        let now = app.now;
        app.each_world(|world| {
            world.arrange(|locks, table, diagnosis| locks.sort(order, reversed, table, diagnosis, now));
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
        app.live.table().contender_count() > 0 || app.shows_recent_watch_events()
    }
}
