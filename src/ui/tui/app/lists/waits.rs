//! Waits: the wait-for graph across locks.

use crate::tui::app::filter::Matching;
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Rows, WaitId, WaitKind, WaitRow};
use crate::tui::screen::Column;
use lockscope_base::znode::SessionId;
use lockscope_model::report::WaitFacts;

pub struct Waits;

impl ListScreen<App> for Waits {
    type Id = WaitId;
    type Row<'a> = &'a WaitRow;
    type Order = FixedOrder;
    /// The rows are lines of text.
    type Column = ();

    fn columns(&self) -> &'static [Column<()>] {
        &[]
    }

    fn search(&self, app: &App, row: &&WaitRow, matching: &mut Matching<'_>) {
        let table = app.world().table();
        if let Some(session) = row.session {
            matching.session(Some(session)).client(&table.identity(session));
        }
        if let Some(lock) = row.lock.and_then(|lock| table.lock(lock)) {
            matching.lock(&lock.lock_name());
            if let Some(finding) = app.world().diagnosis().worst(lock.id()) {
                matching.text(finding.code.id()).text(finding.code.title()).text(&finding.summary);
            }
        }
        matching.text(match row.kind {
            WaitKind::Cycle(_) | WaitKind::InCircle { .. } => "cycle",
            WaitKind::SelfBlocked => "which it holds itself",
            WaitKind::Blocker(..) | WaitKind::Through(_) => "holds up",
            WaitKind::Lock(_) | WaitKind::Waiter | WaitKind::More(_) | WaitKind::Cut => "waits",
        });
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<WaitId> + 'a {
        app.world().waits()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a WaitRow> {
        app.world().waits().row(rank)
    }

    cursor_in!(waits: WaitId);

    /// Returns the lock's path in a row about a lock, and otherwise the session's id.
    fn copied(&self, app: &App, row: &WaitRow) -> Option<String> {
        let lock = || Some(app.world().table().lock(row.lock?)?.path().to_string());
        match row.kind {
            WaitKind::Lock(_) | WaitKind::More(_) => lock(),
            _ => row.session.map(|session| session.to_string()).or_else(lock),
        }
    }

    /// Opens the lock in a row about a lock or a cycle, and otherwise the page of the session.
    fn open(&self, app: &mut App) {
        let Some(row) = self.row(app, self.cursor(app).rank()) else {
            return app.show_failure("There is nothing to open.".to_owned());
        };
        match (row.kind, row.session, row.lock) {
            (WaitKind::Cycle(_) | WaitKind::Lock(_) | WaitKind::More(_), session, lock) => app.open_for(lock, session),
            (_, Some(session), _) => app.open_session(session),
            (_, None, lock) => app.open_for(lock, None),
        }
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        self.row(app, self.cursor(app).rank())?.session
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        app.as_json(WaitFacts::new(app.world().waits().waits(), app.world().table()))
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.table().contender_count() > 0
    }

    fn rebuild_rows(&self, app: &mut App) {
        let now = app.now();
        app.shown_world_mut().draw_waits(now);
    }
}
