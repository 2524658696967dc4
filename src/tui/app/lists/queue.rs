//! Queue: the contenders of the open lock.

use crate::diagnose::{Facts, WatchTarget};
use crate::queue::{ContenderRow, LockQueue};
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Filter, Pane, Rows};
use crate::znode::{SessionId, ZnodePath};

pub struct Queue;

/// A contender of the open lock, with what is known of it.
pub struct QueueRow<'a> {
    pub lock: &'a LockQueue,
    /// The contender, and where it stands.
    pub row: ContenderRow<'a>,
    /// What the servers say of its session.
    pub facts: Facts<'a>,
}

impl Queue {
    /// A contender with what is known of it.
    pub fn known<'a>(app: &'a App, lock: &'a LockQueue, row: ContenderRow<'a>) -> QueueRow<'a> {
        let mut facts = app.world().table_at(app.now()).facts(lock, &row);
        if facts.watching == WatchTarget::Unknown {
            facts.watching = app.watched_by_own_clients(lock, &row).unwrap_or(WatchTarget::Unknown);
        }
        QueueRow { lock, row, facts }
    }
}

impl ListScreen<App> for Queue {
    type Id = ZnodePath;
    type Row<'a> = QueueRow<'a>;
    type Order = FixedOrder;

    fn rows<'a>(&self, app: &'a App) -> impl Rows<ZnodePath> + 'a {
        app.world().queue_rows()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<QueueRow<'a>> {
        let (lock, row) = app.world().open_lock().zip(app.world().queue_rows().row(rank))?;
        Some(Self::known(app, lock, row))
    }

    cursor_in!(contenders: ZnodePath);

    /// The contender's node; in the details its session.
    fn copied(&self, app: &App, QueueRow { lock, row, .. }: QueueRow<'_>) -> Option<String> {
        let session = row.contender.session.filter(|_| app.pane() == Pane::Details);
        Some(session.map_or_else(|| lock.path_of(row.contender).to_string(), |session| session.to_string()))
    }

    fn open(&self, app: &mut App) {
        app.go_to_pane(Pane::Details);
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        self.row(app, self.cursor(app).rank())?.row.contender.session
    }

    /// The contender's; of an empty queue the lock's parent.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let lock = app.world().open_lock()?;
        let selected = self.cursor(app).selected(&app.world().queue_rows());
        selected.or_else(|| lock.is_empty().then(|| lock.path().clone()))
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().queue_filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.each_world(|world| world.filter_queue(filter.clone()));
    }

    /// The lock with its whole queue: a contender without those before it would mislead.
    fn exported(&self, app: &App) -> Result<String, String> {
        let lock = app.world().open_lock().ok_or("There is no lock to export.")?;
        app.locks_as_json(vec![lock])
    }

    /// The contender; of an empty queue the lock's parent.
    fn deletable(&self, app: &App) -> Vec<ZnodePath> {
        let Some(lock) = app.live.open_lock() else { return Vec::new() };
        let selected = self.cursor(app).selected(&app.live.queue_rows());
        selected.or_else(|| lock.is_empty().then(|| lock.path().clone())).into_iter().collect()
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.open_lock().is_some_and(|lock| !lock.is_empty())
    }
}
