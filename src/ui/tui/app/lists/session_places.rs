//! Session: the locks that one session holds and waits for.

use serde::Serialize;

use super::timeline::TimelineLine;
use crate::tui::app::filter::Matching;
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Rows, Screen, SessionPlace};
use crate::tui::screen::Column;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::diagnose::{Facts, session_locks};
use lockscope_model::queue::{ContenderRow, LockQueue};
use lockscope_model::report::SessionFacts;

pub struct SessionPlaces;

/// A request of the session for a lock, with its current state.
pub struct SessionPlaceRow<'a> {
    pub place: &'a SessionPlace,
    /// `None` once the lock is gone.
    pub lock: Option<&'a LockQueue>,
    /// The contender and what the servers report about it; `None` if the node is gone or the
    /// request has no node.
    pub contender: Option<(ContenderRow<'a>, Facts<'a>)>,
}

#[derive(Serialize)]
struct SessionExport<'a> {
    /// Empty if the session neither holds nor waits.
    sessions: Vec<SessionFacts<'a>>,
    happenings: Vec<TimelineLine<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceColumn {
    State,
    Lock,
    For,
    Number,
    WaitsFor,
    Watches,
    Node,
}

const COLUMNS: &[Column<PlaceColumn>] = &[
    Column::text(PlaceColumn::State, "STATE", 9, 9, 0),
    Column::text(PlaceColumn::Lock, "LOCK", 20, 44, 0),
    Column::number(PlaceColumn::For, "FOR", 8, 0),
    Column::number(PlaceColumn::Number, "SEQ", 8, 2),
    Column::text(PlaceColumn::WaitsFor, "WAITS FOR", 16, 20, 1),
    Column::text(PlaceColumn::Watches, "WATCHES", 17, 24, 3),
    Column::text(PlaceColumn::Node, "NODE", 26, 54, 4),
];

impl ListScreen<App> for SessionPlaces {
    type Id = SessionPlace;
    type Row<'a> = SessionPlaceRow<'a>;
    type Order = FixedOrder;
    type Column = PlaceColumn;

    fn columns(&self) -> &'static [Column<PlaceColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Session)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<SessionPlace> + 'a {
        app.world().session_detail()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<SessionPlaceRow<'a>> {
        let world = app.world();
        let place = world.session_detail().places().get(rank)?;
        let lock = world.table().lock(place.lock);
        let position = place.node.as_ref().and_then(|node| world.table().position(node));
        let row = lock.zip(position).filter(|(lock, (id, _))| lock.id() == *id);
        let row = row.and_then(|(lock, (_, position))| Some((lock, lock.row(position)?)));
        let contender = row.map(|(lock, row)| {
            let facts = world.table_at(app.now()).facts(lock, &row);
            (row, facts)
        });
        Some(SessionPlaceRow { place, lock, contender })
    }

    fn search(&self, _: &App, row: &SessionPlaceRow<'_>, matching: &mut Matching<'_>) {
        if let Some(lock) = row.lock {
            matching.lock(&lock.lock_name());
        }
        matching.texts(row.place.node.as_ref().map(ZnodePath::as_str));
        matching.texts(row.contender.as_ref().map(|(contender, _)| contender.state.id()));
    }

    cursor_in!(session_places: SessionPlace);

    /// Returns the path of the node, or of the lock if there is no node.
    fn copied(&self, _: &App, row: SessionPlaceRow<'_>) -> Option<String> {
        let lock = || row.lock.map(|lock| lock.path().to_string());
        row.place.node.as_ref().map(ToString::to_string).or_else(lock)
    }

    /// Opens the lock and selects the session's node.
    fn open(&self, app: &mut App) {
        let Some(row) = self.row(app, self.cursor(app).rank()) else {
            return app.show_failure("This session holds nothing and waits for nothing.".to_owned());
        };
        let (place, is_known) = (row.place.clone(), row.lock.is_some());
        if !is_known {
            return app.show_failure("That lock is gone.".to_owned());
        }
        app.open_lock(place.lock);
        if let Some(node) = place.node {
            app.select_contender(node);
        }
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        app.world().session_detail().session()
    }

    fn node(&self, app: &App) -> Option<ZnodePath> {
        let row = self.row(app, self.cursor(app).rank())?;
        row.place.node.clone().or_else(|| row.lock.map(|lock| lock.path().clone()))
    }

    /// Exports the session and its events, oldest first.
    fn exported(&self, app: &App) -> Result<String, String> {
        let (world, detail) = (app.world(), app.world().session_detail());
        let at = world.table_at(app.now());
        let found = detail.session().and_then(|session| session_locks(at).remove(&session));
        let sessions = found.iter().map(|row| SessionFacts::new(row, at)).collect();
        let entries = detail.events().iter().rev().filter_map(|number| world.timeline().get(*number));
        app.as_json(SessionExport { sessions, happenings: entries.map(TimelineLine::new).collect() })
    }

    fn changes_with_time(&self, _: &App) -> bool {
        true
    }

    fn rebuild_rows(&self, app: &mut App) {
        let now = app.now();
        let world = app.shown_world_mut();
        if let Some(session) = world.session_detail().session() {
            world.read_session(session, now);
        }
    }
}
