//! Test clients on the screen: up to two fleets side by side, as their latest reports describe
//! them, and the list of their clients.

mod acts;
pub mod clients;

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Rows;
use crate::tui::app::filter::Matching;
use crate::tui::app::list::{CellNeed, ColumnNeeds, FixedOrder, ListScreen};
use crate::tui::app::{App, Cursor, Screen};
use crate::tui::picture::{ShownTurn, TraceReplay, WakeCounts, WakeRates};
use crate::tui::screen::Column;
use lockscope_base::znode::{SessionId, Timestamp, Zxid};
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetOutcome, FleetRates, FleetStatus, LinkState, Scenario,
};
use lockscope_lock::Algorithm;
use lockscope_model::diagnose::WatchTarget;
use lockscope_model::queue::{ContenderRow, ContenderState, LockQueue};

pub use acts::{CannotJoin, ClientsWanted, DEFAULT_CLIENTS, Destination};
pub use clients::SlowMotion;
pub use clients::TestClients;

/// The half of the screen that shows a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FleetSide {
    /// The only fleet; in a pair, the herd beside a chain, or the chain beside one that looks
    /// ahead.
    #[default]
    Left,
    /// The chain beside a herd, or the chain that looks ahead beside a plain one.
    Right,
}

impl FleetSide {
    /// Both sides, from left to right.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The clients connect or contend.
    Running,
    /// The fleet was asked to stop.
    Stopping,
    Ended(Box<FleetOutcome>),
    /// The fleet could not run. The text says why and what to do.
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct FleetView {
    pub scenario: Arc<Scenario>,
    pub phase: Phase,
    status: Option<Arc<FleetStatus>>,
    pub rates: FleetRates,
    living: usize,
    holder: Option<(ClientId, Zxid)>,
    sessions: FxHashSet<SessionId>,
    /// The part of the trace that the picture shows.
    pub replay: TraceReplay,
    pub wake_rates: WakeRates,
    /// The turn that the cells show.
    pub turn: ShownTurn,
}

impl FleetView {
    fn new(scenario: Arc<Scenario>) -> Self {
        let living = usize::try_from(scenario.clients).unwrap_or(usize::MAX);
        Self {
            scenario,
            phase: Phase::Running,
            status: None,
            rates: FleetRates::default(),
            living,
            holder: None,
            sessions: FxHashSet::default(),
            replay: TraceReplay::default(),
            wake_rates: WakeRates::default(),
            turn: ShownTurn::default(),
        }
    }

    /// Returns the latest status report; `None` before the first.
    pub fn status(&self) -> Option<&FleetStatus> {
        self.status.as_deref()
    }

    /// Returns the number of living clients; 0 once the fleet has ended.
    pub fn living(&self) -> usize {
        if self.is_active() { self.living } else { 0 }
    }

    /// Returns whether a client only thinks that it holds: another one got the lock meanwhile, with a
    /// higher token, because its session had ended.
    pub fn has_outlived(&self, client: &ClientStatus) -> bool {
        self.status().is_some_and(|status| has_outlived(status, client))
    }

    /// Returns the holder in the latest report, with its fencing token. Of several holders, returns
    /// the one with the highest token, which acquired last.
    pub fn holder(&self) -> Option<(ClientId, Zxid)> {
        self.holder.filter(|_| self.is_active())
    }

    /// Returns whether the fleet is running or stopping.
    pub fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Stopping)
    }

    /// Returns the final outcome, or the outcome so far. `None` before the first report.
    pub fn outcome(&self) -> Option<FleetOutcome> {
        match (&self.phase, &self.status) {
            (Phase::Ended(outcome), _) => Some((**outcome).clone()),
            (_, status) => status.as_deref().map(FleetStatus::so_far),
        }
    }

    /// Returns the clients, sorted by id; an empty slice once the fleet has ended.
    pub fn clients(&self) -> &[ClientStatus] {
        self.status.as_deref().filter(|_| self.is_active()).map_or(&[], |status| &status.clients)
    }

    /// Returns the client with this id; `None` if it has left.
    pub fn client(&self, id: ClientId) -> Option<&ClientStatus> {
        self.clients().rank(&id).and_then(|rank| self.clients().get(rank))
    }

    /// Returns whether a session belongs to a client of this fleet.
    pub fn has_session(&self, session: SessionId) -> bool {
        self.is_active() && self.sessions.contains(&session)
    }

    /// Returns whether the picture shows the clients as cells, and not as rows.
    pub fn shows_cells(&self) -> bool {
        self.status().is_some_and(shows_cells)
    }

    fn set_status(&mut self, status: Arc<FleetStatus>, now: Timestamp) {
        self.rates.add(&status);
        let totals = &status.totals;
        let counts = WakeCounts { woken: totals.events, in_vain: totals.woken_in_vain, requests: totals.requests };
        self.wake_rates.add(status.age, counts);
        self.replay.add_status(&status, now);
        self.turn.set_turn(status.turn.as_ref().filter(|_| shows_cells(&status)), now);
        self.living = status.clients.iter().filter(|client| is_living(client)).count();
        let holding = status.clients.iter().filter(|client| !has_outlived(&status, client));
        let tokens = holding.filter_map(|client| Some((client.id, client.token?)));
        self.holder = tokens.max_by_key(|(_, token)| *token);
        self.sessions = status.clients.iter().filter_map(|client| client.session).collect();
        self.status = Some(status);
    }
}

fn has_outlived(status: &FleetStatus, client: &ClientStatus) -> bool {
    let held = client.token.map(|token| (client.id, token));
    status.overlaps.iter().any(|overlap| overlap.outlived && held == Some((overlap.first, overlap.first_token)))
}

/// The shortest hold whose turns the eye can follow.
const MIN_HOLD_OF_ROWS: Duration = Duration::from_millis(500);

/// The most clients of which each gets a line at full speed.
const MAX_ROWS_AT_FULL_SPEED: usize = 16;

/// Returns whether the picture shows the clients as cells, since they are too fast or too many for
/// rows.
fn shows_cells(status: &FleetStatus) -> bool {
    !status.stepped && (status.scenario.hold < MIN_HOLD_OF_ROWS || status.clients.len() > MAX_ROWS_AT_FULL_SPEED)
}

/// Returns whether a client is alive. A frozen client is alive; a crashed or failed one is not.
pub fn is_living(client: &ClientStatus) -> bool {
    !matches!(client.state, ClientState::Crashed | ClientState::Failed)
}

impl Rows<ClientId> for [ClientStatus] {
    fn len(&self) -> usize {
        <[ClientStatus]>::len(self)
    }

    fn rank(&self, id: &ClientId) -> Option<usize> {
        self.binary_search_by_key(id, |client| client.id).ok()
    }

    fn id(&self, rank: usize) -> Option<ClientId> {
        self.get(rank).map(|client| client.id)
    }
}

/// The fleets of the screen. A clone is what a paused screen shows.
#[derive(Clone, Debug, Default)]
pub struct Fleets {
    left: Option<FleetView>,
    right: Option<FleetView>,
}

impl Fleets {
    pub fn fleet(&self, side: FleetSide) -> Option<&FleetView> {
        match side {
            FleetSide::Left => self.left.as_ref(),
            FleetSide::Right => self.right.as_ref(),
        }
    }

    fn fleet_mut(&mut self, side: FleetSide) -> Option<&mut FleetView> {
        match side {
            FleetSide::Left => self.left.as_mut(),
            FleetSide::Right => self.right.as_mut(),
        }
    }

    pub fn clients(&self, side: FleetSide) -> &[ClientStatus] {
        self.fleet(side).map_or(&[], FleetView::clients)
    }

    /// Iterates over the fleets with their sides, running or not.
    pub fn each(&self) -> impl Iterator<Item = (FleetSide, &FleetView)> {
        FleetSide::BOTH.into_iter().filter_map(|side| Some((side, self.fleet(side)?)))
    }

    /// Returns whether both sides have a fleet.
    pub fn is_pair(&self) -> bool {
        self.left.is_some() && self.right.is_some()
    }

    /// Returns whether any fleet is running or stopping.
    pub fn is_active(&self) -> bool {
        self.each().any(|(_, fleet)| fleet.is_active())
    }

    /// Returns whether any fleet is running and not stopping.
    pub fn is_running(&self) -> bool {
        self.each().any(|(_, fleet)| fleet.phase == Phase::Running)
    }

    pub fn living(&self) -> usize {
        self.each().map(|(_, fleet)| fleet.living()).sum()
    }

    /// Returns what a waiter watches if it is one of these test clients. Their algorithm determines
    /// the watch, so no server is asked. `None` for other waiters and other algorithms.
    pub(in crate::tui::app) fn watched_by(&self, lock: &LockQueue, row: &ContenderRow<'_>) -> Option<WatchTarget> {
        let session = row.contender.session().filter(|_| row.state == ContenderState::Waits)?;
        let fleets = self.each().filter(|(_, fleet)| fleet.scenario.path == *lock.path());
        let mut own = fleets.filter(|(_, fleet)| fleet.has_session(session));
        Some(match own.next()?.1.scenario.algorithm {
            Algorithm::Herd => WatchTarget::Parent,
            // The second in the queue (position 1) has only its predecessor to watch.
            Algorithm::ChainAhead if row.position > 1 => WatchTarget::TwoBefore,
            Algorithm::Chain | Algorithm::ChainAhead => WatchTarget::Predecessor,
            _ => return None,
        })
    }

    fn replace(&mut self, left: Scenario, right: Option<Scenario>) {
        self.left = Some(FleetView::new(Arc::new(left)));
        self.right = right.map(|scenario| FleetView::new(Arc::new(scenario)));
    }
}

pub struct Clients;

/// The figures of the test clients. Each fleet has the format of `lockscope contend`.
#[derive(Serialize)]
struct FleetsExport {
    fleets: Vec<FleetOutcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientColumn {
    Id,
    State,
    Since,
    Session,
    Expired,
    Link,
    Token,
    Events,
    Requests,
    Acquired,
    Held,
    Longest,
    Median,
    Slowest,
    Trouble,
}

const CLIENT_COLUMNS: &[Column<ClientColumn>] = &[
    Column::text(ClientColumn::Id, "ID", 9, 11, 0),
    Column::text(ClientColumn::State, "STATE", 15, 15, 0),
    Column::number(ClientColumn::Since, "SINCE", 6, 2),
    Column::text(ClientColumn::Session, "SESSION", 9, 18, 3),
    Column::number(ClientColumn::Expired, "EXPIRED", 7, 7),
    Column::text(ClientColumn::Link, "LINK", 10, 12, 0),
    Column::number(ClientColumn::Token, "TOKEN", 12, 9),
    Column::number(ClientColumn::Events, "EVENTS", 7, 0),
    Column::number(ClientColumn::Acquired, "ACQ", 6, 0),
    Column::number(ClientColumn::Held, "HELD", 6, 4),
    Column::number(ClientColumn::Median, "WAIT p50", 8, 6),
    Column::number(ClientColumn::Slowest, "p99", 6, 5),
    Column::number(ClientColumn::Longest, "LONGEST", 7, 2),
    Column::number(ClientColumn::Requests, "REQUESTS", 8, 8),
    Column::text(ClientColumn::Trouble, "TROUBLE", 16, 60, 10),
];

impl ListScreen<App> for Clients {
    type Id = ClientId;
    type Row<'a> = &'a ClientStatus;
    type Order = FixedOrder<ClientColumn>;
    type Column = ClientColumn;

    fn columns(&self) -> &'static [Column<ClientColumn>] {
        CLIENT_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Contend)
    }

    fn needs<'a>(&self, app: &'a App) -> Option<&'a ColumnNeeds> {
        (app.screen() == Screen::Contend).then_some(&app.navigation.needs)
    }

    /// What is wrong with no client needs no column.
    fn need(&self, _: &App, client: &&ClientStatus, column: ClientColumn) -> CellNeed {
        let well = match column {
            ClientColumn::Link => (client.link == LinkState::Whole).then_some("connected"),
            ClientColumn::Expired => (client.expired == 0).then_some("0"),
            ClientColumn::Trouble => client.trouble.is_none().then_some(""),
            _ => return CellNeed::Nothing,
        };
        well.map_or(CellNeed::Differs, CellNeed::Alike)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<ClientId> + 'a {
        app.fleets().clients(app.side())
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a ClientStatus> {
        app.fleets().clients(app.side()).get(rank)
    }

    fn search(&self, _: &App, client: &&ClientStatus, matching: &mut Matching<'_>) {
        matching
            .made(|| client.id.name())
            .session(client.session)
            .made(|| format!("{:?}", client.state).to_lowercase());
        matching.texts(client.trouble.as_deref()).texts(client.frozen.then_some("frozen"));
        matching.texts(client.token.map(|token| token.to_string()).as_deref());
    }

    fn cursor<'a>(&self, app: &'a App) -> &'a Cursor<ClientId> {
        &app.cursors.clients[app.side() as usize]
    }

    fn cursor_mut<'a>(&self, app: &'a mut App) -> &'a mut Cursor<ClientId> {
        let side = app.side();
        &mut app.cursors.clients[side as usize]
    }

    fn copied(&self, _: &App, client: &ClientStatus) -> Option<String> {
        client.session.map(|session| session.to_string())
    }

    fn open(&self, _: &mut App) {}

    fn exported(&self, app: &App) -> Result<String, String> {
        let fleets: Vec<_> = app.fleets().each().filter_map(|(_, fleet)| fleet.outcome()).collect();
        if fleets.is_empty() {
            return Err("There are no figures of test clients to export.".to_owned());
        }
        app.as_json(FleetsExport { fleets })
    }

    fn move_sideways(&self, app: &mut App, to_right: bool) -> bool {
        let there = if to_right { FleetSide::Right } else { FleetSide::Left };
        let turns = app.side() != there;
        if turns {
            app.test_clients.turn_side();
        }
        turns
    }
}
