//! Sessions: every session that holds a lock or waits for one, and the page of one session.
//!
//! The rows of both are linear in the number of contenders. They are listed again once a second,
//! and only while they are shown. The page of one session lists the locks that it holds and waits
//! for, its watches and its events.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::super::TimelineEntry;
use super::super::list::{Directed, Sorting};
use super::history::TimelineLine;
use super::names::shorten;
use crate::tui::app::filter::Matching;
use crate::tui::app::list::{CellNeed, ColumnNeeds, FixedOrder, ListOrder, ListScreen};
use crate::tui::app::{App, Filter, Rows, Screen};
use crate::tui::screen::{Column, MARK_WIDTH, Placed, place};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::diagnose::{OwnerFacts, OwnerState, SessionLocks, TableAt, WaitStyle, session_locks};
use lockscope_model::queue::{ClientIdentity, ContenderRow, ContenderState, LockId, LockQueue, Timeline};
use lockscope_model::report::SessionFacts;
use lockscope_model::server_view::Listing;
use lockscope_model::text::human::{countdown, duration};
use lockscope_model::text::width;

pub struct SessionList;

impl ListOrder for SessionOrder {
    type Column = SessionColumn;
    const TABLE: &'static [(Self, &'static str, SessionColumn)] = &[
        (Self::Liveness, "liveness", SessionColumn::Liveness),
        (Self::Holds, "holds", SessionColumn::Holds),
        (Self::Waits, "waits", SessionColumn::Waits),
        (Self::Client, "client", SessionColumn::Client),
        (Self::Heard, "heard", SessionColumn::Heard),
        (Self::Session, "session", SessionColumn::Session),
    ];
    const POINTS_DOWN: bool = false;
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

const SESSION_COLUMNS: &[Column<SessionColumn>] = &[
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

impl ListScreen<App> for SessionList {
    type Id = SessionId;
    type Row<'a> = &'a SessionLocks;
    type Order = SessionOrder;
    type Column = SessionColumn;

    fn columns(&self) -> &'static [Column<SessionColumn>] {
        SESSION_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Sessions)
    }

    fn order_by(&self, column: SessionColumn) -> Option<SessionOrder> {
        let shown = if column == SessionColumn::ClientOrSession { SessionColumn::Client } else { column };
        SessionOrder::TABLE.iter().find(|(_, _, sorted)| *sorted == shown).map(|(order, ..)| *order)
    }

    fn needs<'a>(&self, app: &'a App) -> Option<&'a ColumnNeeds> {
        (app.screen() == Screen::Sessions).then_some(&app.navigation.needs)
    }

    fn need(&self, app: &App, row: &&SessionLocks, column: SessionColumn) -> CellNeed {
        let of = |lock, count| CellNeed::Columns(width(&self.names_of(app, lock, count, usize::MAX)));
        match column {
            SessionColumn::Holds => of(row.holds.first(), row.holds.len()),
            SessionColumn::Waits => of(row.awaits.first().map(|(lock, _)| lock), row.awaits.len()),
            SessionColumn::Client => CellNeed::Columns(row.identity(app.world().table()).columns_of_first()),
            _ => CellNeed::Nothing,
        }
    }

    /// Places the columns. If the session column does not fit, the client column shows the
    /// session's id for clients of which nothing else is known.
    fn place(&self, app: &App, width: u16) -> Vec<Placed<SessionColumn>> {
        let mut placed = place(&self.fitted(app), MARK_WIDTH, width);
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
            None => app.show_hint("There is no session to open.".to_owned()),
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

impl SessionList {
    /// Returns the node that all locks are below. The title names it, the rows do not.
    pub fn prefix<'a>(&self, app: &'a App) -> Option<&'a ZnodePath> {
        let locks = app.world().locks();
        locks.prefix().filter(|prefix| locks.len() > 1 && locks.filter().is_empty() && !prefix.is_root())
    }

    /// Names the first of several locks in `columns` columns, and counts the others.
    pub fn names_of(&self, app: &App, first: Option<&LockId>, count: usize, columns: usize) -> String {
        let Some(first) = first else { return String::new() };
        let name =
            app.world().table().lock(*first).map_or_else(|| "gone".to_owned(), |lock| lock.lock_name().to_string());
        let below = self.prefix(app).and_then(|prefix| name.strip_prefix(prefix.as_str())?.strip_prefix('/'));
        let more = if count > 1 { format!(" +{}", count - 1) } else { String::new() };
        let short = shorten(&[below.unwrap_or(&name)], columns.saturating_sub(width(&more)), app.charset());
        short.concat() + &more
    }
}

/// A column that Sessions can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionOrder {
    /// Sessions that are not alive first, then those with the most locks.
    #[default]
    Liveness,
    Holds,
    Waits,
    /// By the client's name, or else its address; unknown clients last.
    Client,
    /// The session that was heard of longest ago first.
    Heard,
    Session,
}

/// The sessions that hold or wait, as of the last refresh, at most a second ago while they are
/// shown.
#[derive(Clone, Debug, Default)]
pub struct SessionRows {
    sorting: Sorting<SessionOrder>,
    filter: Filter,
    all: usize,
    rows: Vec<SessionLocks>,
    ranks: FxHashMap<SessionId, usize>,
}

impl SessionRows {
    pub fn sorting(&self) -> Sorting<SessionOrder> {
        self.sorting
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The number of sessions, whether they pass the filter or not.
    pub fn all(&self) -> usize {
        self.all
    }

    pub fn row(&self, rank: usize) -> Option<&SessionLocks> {
        self.rows.get(rank)
    }

    /// The sessions that pass the filter, in order.
    pub fn rows(&self) -> &[SessionLocks] {
        &self.rows
    }

    /// Sets the order, which the next [`list`](Self::list) applies.
    pub fn sort(&mut self, sorting: Sorting<SessionOrder>) {
        self.sorting = sorting;
    }

    /// Sets the filter, which the next [`list`](Self::list) applies.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Rebuilds the rows. Linear in the number of contenders, so this runs once a second, and only
    /// while the sessions are shown.
    pub fn list(&mut self, table_at: TableAt<'_>) {
        let found = session_locks(table_at);
        self.all = found.len();
        self.rows = found.into_values().filter(|row| self.takes(row, table_at)).collect();
        let Sorting { first, then } = self.sorting;
        let of = |order: Directed<SessionOrder>, row: &SessionLocks| {
            let key = key(order.by, row, table_at);
            if order.reversed { Turned::Down(Reverse(key)) } else { Turned::Up(key) }
        };
        let last = |row: &SessionLocks| {
            let id = row.session.0.cast_unsigned();
            if first.reversed { u64::MAX - id } else { id }
        };
        self.rows.sort_by_cached_key(|row| (of(first, row), then.map(|then| of(then, row)), last(row)));
        self.ranks = self.rows.iter().enumerate().map(|(rank, row)| (row.session, rank)).collect();
    }

    fn takes(&self, row: &SessionLocks, table_at: TableAt<'_>) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let (table, view) = (table_at.table(), table_at.view());
        let mut matching = self.filter.matching();
        matching.session(Some(row.session)).client(&row.identity(table));
        for lock in row.holds.iter().chain(row.awaits.iter().map(|(lock, _)| lock)) {
            if let Some(lock) = table.lock(*lock).filter(|_| !matching.is_decided()) {
                matching.lock(&lock.lock_name());
            }
        }
        let (life, expires_in) = table_at.owner_state(row.session, row.since);
        matching.text(life.id()).texts(row.style(table_at).map(WaitStyle::id));
        if let Some(left) = expires_in {
            matching.figure(|| countdown(left));
        }
        if let Some((server, connection)) = view.connection_of(row.session) {
            matching.text(&server.address).texts(connection.last_operation.as_deref());
            if let Some(timeout) = connection.timeout() {
                matching.figure(|| duration(timeout));
            }
        }
        matching.passes()
    }
}

impl Rows<SessionId> for SessionRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn rank(&self, id: &SessionId) -> Option<usize> {
        self.ranks.get(id).copied()
    }

    fn id(&self, rank: usize) -> Option<SessionId> {
        self.rows.get(rank).map(|row| row.session)
    }
}

/// A sort key in one of two directions. All keys of one column have the same direction.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Turned {
    Up(SessionSortKey),
    Down(Reverse<SessionSortKey>),
}

/// A sort key. Smaller keys come first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SessionSortKey(i64, Option<Reverse<usize>>, String);

fn key(by: SessionOrder, row: &SessionLocks, table_at: TableAt<'_>) -> SessionSortKey {
    let most = |count: usize| SessionSortKey(0, Some(Reverse(count)), String::new());
    let connection = || table_at.view().connection_of(row.session).map(|(_, connection)| connection);
    match by {
        SessionOrder::Liveness => {
            let danger = match table_at.owner_state(row.session, row.since).0 {
                OwnerState::Ghost => 0,
                OwnerState::Expiring | OwnerState::Silent => 1,
                OwnerState::Ownerless | OwnerState::Unknown | OwnerState::Live => 2,
            };
            SessionSortKey(danger, Some(Reverse(row.holds.len() + row.awaits.len())), String::new())
        }
        SessionOrder::Holds => most(row.holds.len()),
        SessionOrder::Waits => most(row.awaits.len()),
        SessionOrder::Client => match row.identity(table_at.table()) {
            ClientIdentity { name: Some(name), .. } => SessionSortKey(0, None, name.to_string()),
            ClientIdentity { address: Some(address), .. } => SessionSortKey(0, None, address.to_string()),
            _ => SessionSortKey(1, None, String::new()),
        },
        SessionOrder::Heard => {
            let heard = connection().and_then(|connection| connection.last_heard);
            SessionSortKey(heard.map_or(i64::MAX, |heard| heard.0), None, String::new())
        }
        SessionOrder::Session => SessionSortKey(0, None, String::new()),
    }
}

pub struct SessionPlaces;

/// A request of the session for a lock, with its current state.
pub struct SessionPlaceRow<'a> {
    pub place: &'a SessionPlace,
    /// `None` once the lock is gone.
    pub lock: Option<&'a LockQueue>,
    /// The contender and what the servers report about it; `None` if the node is gone or the
    /// request has no node.
    pub contender: Option<(ContenderRow<'a>, OwnerFacts<'a>)>,
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

const PLACE_COLUMNS: &[Column<PlaceColumn>] = &[
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
    type Order = FixedOrder<PlaceColumn>;
    type Column = PlaceColumn;

    fn columns(&self) -> &'static [Column<PlaceColumn>] {
        PLACE_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Session)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<SessionPlace> + 'a {
        app.world().session_detail()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<SessionPlaceRow<'a>> {
        let world = app.world();
        let place = world.session_detail().places.get(rank)?;
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
            return app.show_hint("This session holds nothing and waits for nothing.".to_owned());
        };
        let (place, is_known) = (row.place.clone(), row.lock.is_some());
        if !is_known {
            return app.show_hint("That lock is gone.".to_owned());
        }
        app.open_lock(place.lock);
        if let Some(node) = place.node {
            app.select_contender(node);
        }
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        app.world().session_detail().session
    }

    fn node(&self, app: &App) -> Option<ZnodePath> {
        let row = self.row(app, self.cursor(app).rank())?;
        row.place.node.clone().or_else(|| row.lock.map(|lock| lock.path().clone()))
    }

    /// Exports the session and its events, oldest first.
    fn exported(&self, app: &App) -> Result<String, String> {
        let (world, detail) = (app.world(), app.world().session_detail());
        let at = world.table_at(app.now());
        let found = detail.session.and_then(|session| session_locks(at).remove(&session));
        let sessions = found.iter().map(|row| SessionFacts::new(row, at)).collect();
        let entries = detail.events.iter().rev().filter_map(|number| world.timeline().get(*number));
        app.as_json(SessionExport { sessions, happenings: entries.map(TimelineLine::new).collect() })
    }

    fn changes_with_time(&self, _: &App) -> bool {
        true
    }

    fn rebuild_rows(&self, app: &mut App) {
        let now = app.now();
        let world = app.shown_world_mut();
        if let Some(session) = world.session_detail().session {
            world.read_session(session, now);
        }
    }
}

/// Maximum number of listed events of a session. The newest are listed.
const MAX_SESSION_EVENTS: usize = 200;

/// Maximum number of listed watched paths.
const MAX_WATCHED: usize = 20;

/// One request of a session for a lock, which identifies its row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionPlace {
    pub lock: LockId,
    /// The session's node; `None` for a waiter of a single-node lock, which has no node.
    pub node: Option<ZnodePath>,
}

/// The paths that a session watches by getData or exists, as far as the servers list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWatches {
    /// Whether `paths` and `more` are complete: the server of the session's connection listed all
    /// watches.
    pub is_whole: bool,
    pub paths: Vec<ZnodePath>,
    /// The number of paths that are not in `paths`.
    pub more: usize,
}

/// The session whose page is open, as of the last refresh, at most a second ago while the page is
/// shown.
#[derive(Clone, Debug, Default)]
pub struct SessionDetail {
    /// The session; `None` until a session is opened.
    pub session: Option<SessionId>,
    /// The number of locks that the session holds.
    pub holds: usize,
    /// The session's requests: first the locks that it holds, then those that it waits for, each in
    /// the order of the locks' paths.
    pub places: Vec<SessionPlace>,
    ranks: FxHashMap<SessionPlace, usize>,
    pub watches: SessionWatches,
    /// The events' numbers in the timeline, the newest first.
    pub events: Vec<u64>,
    /// Whether older events exist that are not listed.
    pub has_older_events: bool,
}

impl SessionDetail {
    /// Reads the details of a session. Linear in the number of contenders, so this runs once a
    /// second, and only while the page is shown.
    pub fn read(&mut self, session: SessionId, table_at: TableAt<'_>, timeline: &Timeline<TimelineEntry>) {
        self.session = Some(session);
        self.list(session, table_at);
        self.watches = session_watches(session, table_at);
        let end = timeline.first() + timeline.len() as u64;
        let numbered = (timeline.first()..end).rev().zip(timeline.iter().rev());
        let mut own = numbered.filter(|(_, entry)| entry.session() == Some(session)).map(|(number, _)| number);
        self.events = own.by_ref().take(MAX_SESSION_EVENTS).collect();
        self.has_older_events = own.next().is_some();
    }

    fn list(&mut self, session: SessionId, table_at: TableAt<'_>) {
        let (mut holds, mut awaits) = (Vec::new(), Vec::new());
        for lock in table_at.table().locks() {
            for row in lock.rows(0..lock.len()).filter(|row| row.contender.session() == Some(session)) {
                let place = SessionPlace { lock: lock.id(), node: Some(lock.path_of(row.contender)) };
                if row.state == ContenderState::Holds { holds.push(place) } else { awaits.push(place) }
            }
            if lock.kind() == LockKind::SingleNode
                && table_at.waiters(lock).is_some_and(|watchers| watchers.sessions.contains(&session))
            {
                awaits.push(SessionPlace { lock: lock.id(), node: None });
            }
        }
        self.holds = holds.len();
        self.places = holds;
        self.places.append(&mut awaits);
        self.ranks = self.places.iter().cloned().zip(0..).collect();
    }
}

fn session_watches(session: SessionId, table_at: TableAt<'_>) -> SessionWatches {
    let view = table_at.view();
    let listed = view.members.iter().filter_map(|member| member.watched.as_ref()).flat_map(Listing::items);
    let own = listed.filter(|watched| watched.sessions.binary_search(&session).is_ok());
    let mut paths: Vec<ZnodePath> = own.map(|watched| watched.path.clone()).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MAX_WATCHED);
    paths.truncate(MAX_WATCHED);
    SessionWatches { is_whole: view.watches_as_of(session).is_some(), paths, more }
}

impl Rows<SessionPlace> for SessionDetail {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn rank(&self, id: &SessionPlace) -> Option<usize> {
        self.ranks.get(id).copied()
    }

    fn id(&self, rank: usize) -> Option<SessionPlace> {
        self.places.get(rank).cloned()
    }
}
