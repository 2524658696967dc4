//! Sessions: every session that holds a lock or waits for one.

use serde::Serialize;

use crate::diagnose::SessionLocks;
use crate::report::SessionFacts;
use crate::tui::app::list::{ListOrder, ListScreen};
use crate::tui::app::{App, Filter, Rows, SessionOrder};
use crate::znode::SessionId;

pub struct Sessions;

impl ListOrder for SessionOrder {
    const ALL: &'static [Self] = &[Self::Liveness, Self::Holds, Self::Waits, Self::Client, Self::Heard, Self::Session];
    const POINTS_DOWN: bool = false;

    fn id(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Holds => "holds",
            Self::Waits => "waits",
            Self::Client => "client",
            Self::Heard => "heard",
            Self::Session => "session",
        }
    }
}

#[derive(Serialize)]
struct SessionsExport<'a> {
    sessions: Vec<SessionFacts<'a>>,
}

impl ListScreen<App> for Sessions {
    type Id = SessionId;
    type Row<'a> = &'a SessionLocks;
    type Order = SessionOrder;

    fn rows<'a>(&self, app: &'a App) -> impl Rows<SessionId> + 'a {
        app.world().sessions()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a SessionLocks> {
        app.world().sessions().row(rank)
    }

    cursor_in!(sessions: SessionId);

    fn copied(&self, _: &App, row: &SessionLocks) -> Option<String> {
        Some(row.session.to_string())
    }

    /// Opens the session's page.
    fn open(&self, app: &mut App) {
        match ListScreen::session(self, app) {
            Some(session) => app.open_session(session),
            None => app.show_failure("There is no session to open.".to_owned()),
        }
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        self.row(app, self.cursor(app).rank()).map(|row| row.session)
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().sessions().filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        let now = app.now();
        app.each_world(|world| world.arrange_sessions(|sessions| sessions.set_filter(filter.clone()), now));
    }

    fn order(&self, app: &App) -> Option<(SessionOrder, bool)> {
        Some((app.world().sessions().by(), app.world().sessions().reversed()))
    }

    fn sort(&self, app: &mut App, order: SessionOrder, reversed: bool) {
        let now = app.now();
        app.each_world(|world| world.arrange_sessions(|sessions| sessions.sort(order, reversed), now));
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let (world, at) = (app.world(), app.world().table_at(app.now()));
        let sessions = world.sessions().rows().iter().map(|row| SessionFacts::new(row, at)).collect();
        app.as_json(SessionsExport { sessions })
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.table().contender_count() > 0
    }

    fn list_again(&self, app: &mut App) {
        let now = app.now();
        app.shown_world_mut().list_sessions(now);
    }
}
