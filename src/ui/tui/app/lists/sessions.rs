//! Sessions: every session that holds a lock or waits for one.

use serde::Serialize;

use crate::tui::app::list::{ListOrder, ListScreen, Sorting};
use crate::tui::app::{App, Filter, Rows, Screen, SessionOrder};
use crate::tui::screen::{Column, MARK_WIDTH, Placed, choose, place};
use lockscope_base::znode::SessionId;
use lockscope_model::diagnose::SessionLocks;
use lockscope_model::report::SessionFacts;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionColumn {
    Session,
    Client,
    /// The client, or the session's id if nothing else is known of the client.
    ClientOrSession,
    Liveness,
    Heard,
    Timeout,
    Expires,
    Holds,
    Waits,
    Style,
    Server,
    Last,
}

const COLUMNS: &[Column<SessionColumn>] = &[
    Column::text(SessionColumn::Session, "SESSION", 9, 18, 2),
    Column::text(SessionColumn::Client, "CLIENT", 15, 30, 0),
    Column::text(SessionColumn::Liveness, "LIVENESS", 12, 12, 0),
    Column::number(SessionColumn::Heard, "HEARD", 6, 3),
    Column::number(SessionColumn::Timeout, "TIMEOUT", 7, 5),
    Column::number(SessionColumn::Expires, "EXPIRES", 7, 6),
    Column::text(SessionColumn::Holds, "HOLDS", 13, 36, 0),
    Column::text(SessionColumn::Waits, "WAITS FOR", 12, 36, 0),
    Column::text(SessionColumn::Style, "STYLE", 7, 7, 4),
    Column::text(SessionColumn::Server, "SERVER", 15, 24, 7),
    Column::text(SessionColumn::Last, "LAST", 4, 4, 8),
];

impl ListScreen<App> for Sessions {
    type Id = SessionId;
    type Row<'a> = &'a SessionLocks;
    type Order = SessionOrder;
    type Column = SessionColumn;

    fn columns(&self) -> &'static [Column<SessionColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Sessions)
    }

    fn order_by(&self, column: SessionColumn) -> Option<SessionOrder> {
        Some(match column {
            SessionColumn::Session => SessionOrder::Session,
            SessionColumn::Client | SessionColumn::ClientOrSession => SessionOrder::Client,
            SessionColumn::Liveness => SessionOrder::Liveness,
            SessionColumn::Heard => SessionOrder::Heard,
            SessionColumn::Holds => SessionOrder::Holds,
            SessionColumn::Waits => SessionOrder::Waits,
            _ => return None,
        })
    }

    /// Places the columns. If the session column does not fit, the client column shows the
    /// session's id for clients of which nothing else is known.
    fn place(&self, app: &App, width: u16) -> Vec<Placed<SessionColumn>> {
        let mut placed = place(&choose(self.columns(), self.chosen(app)), MARK_WIDTH, width);
        if placed.iter().all(|column| column.key != SessionColumn::Session) {
            for column in placed.iter_mut().filter(|column| column.key == SessionColumn::Client) {
                column.key = SessionColumn::ClientOrSession;
            }
        }
        placed
    }

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

    fn order(&self, app: &App) -> Option<Sorting<SessionOrder>> {
        Some(app.world().sessions().sorting())
    }

    fn sort(&self, app: &mut App, sorting: Sorting<SessionOrder>) {
        let now = app.now();
        app.each_world(|world| world.arrange_sessions(|sessions| sessions.sort(sorting), now));
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let (world, at) = (app.world(), app.world().table_at(app.now()));
        let sessions = world.sessions().rows().iter().map(|row| SessionFacts::new(row, at)).collect();
        app.as_json(SessionsExport { sessions })
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.table().contender_count() > 0
    }

    fn rebuild_rows(&self, app: &mut App) {
        let now = app.now();
        app.shown_world_mut().list_sessions(now);
    }
}
