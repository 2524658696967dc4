//! Queue: the contenders of the open lock.

use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Filter, Pane, Rows, Screen};
use crate::tui::screen::{Column, MARK_WIDTH, Placed, choose, place};
use lockscope_base::znode::{Sequence, SessionId, ZnodePath};
use lockscope_model::diagnose::{Facts, WatchTarget};
use lockscope_model::queue::{ContenderRow, LockQueue};

pub struct Queue;

/// A contender of the open lock, with its current facts.
pub struct QueueRow<'a> {
    pub lock: &'a LockQueue,
    /// The contender and its position.
    pub row: ContenderRow<'a>,
    /// What is known of the contender's session and watch.
    pub facts: Facts<'a>,
}

impl Queue {
    /// Collects the facts about a contender. If the servers do not report its watch, a test client
    /// of this console can.
    pub fn known<'a>(app: &'a App, lock: &'a LockQueue, row: ContenderRow<'a>) -> QueueRow<'a> {
        let mut facts = app.world().table_at(app.now()).facts(lock, &row);
        if facts.watching == WatchTarget::Unknown {
            facts.watching = app.fleets().watched_by(lock, &row).unwrap_or(WatchTarget::Unknown);
        }
        QueueRow { lock, row, facts }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueColumn {
    Position,
    Sequence,
    Mode,
    State,
    /// The state, with a sign for what the contender watches.
    StateAndWatches,
    Session,
    Client,
    Liveness,
    Watches,
    Data,
    Age,
    WaitsFor,
    /// What the contender waits for, with a sign for what it watches.
    WaitsForAndWatches,
    Node,
    Czxid,
    Created,
}

const COLUMNS: &[Column<QueueColumn>] = &[
    Column::number(QueueColumn::Position, "#", 6, 3),
    Column::number(QueueColumn::Sequence, "SEQ", 10, 0),
    Column::text(QueueColumn::Mode, "", 1, 1, 0).named("mode"),
    Column::text(QueueColumn::State, "STATE", 9, 9, 0),
    Column::text(QueueColumn::Session, "SESSION", 9, 18, 5),
    Column::text(QueueColumn::Client, "CLIENT", 15, 30, 1),
    Column::text(QueueColumn::Liveness, "LIVENESS", 15, 24, 0),
    Column::number(QueueColumn::Age, "AGE", 6, 0),
    Column::text(QueueColumn::WaitsFor, "WAITS FOR", 15, 18, 2),
    Column::text(QueueColumn::Watches, "WATCHES", 18, 24, 4),
    Column::text(QueueColumn::Data, "DATA", 12, 28, 6),
    Column::text(QueueColumn::Node, "NODE", 36, 54, 7),
    Column::number(QueueColumn::Czxid, "CZXID", 14, 8),
    Column::text(QueueColumn::Created, "CREATED", 26, 26, 9),
];

impl QueueColumn {
    /// Returns whether the column needs servers that list their connections.
    fn is_of_connections(self) -> bool {
        matches!(self, Self::Client | Self::Liveness | Self::Watches)
    }
}

/// Minimum width of the sequence number, in columns.
const MIN_SEQUENCE_WIDTH: u16 = 4;

/// Returns the columns that have something to show. If no server lists its connections, the columns
/// about the client are left out, and the session's id takes the priority of the client.
fn columns(app: &App) -> Vec<Column<QueueColumn>> {
    if app.world().table().has_listed_clients() {
        return choose(COLUMNS, app.chosen_columns(Screen::Queue));
    }
    let without = choose(COLUMNS, app.chosen_columns(Screen::Queue))
        .into_iter()
        .filter(|column: &Column<QueueColumn>| !column.key.is_of_connections());
    let first = |column: Column<QueueColumn>| match column.key {
        QueueColumn::Session => Column { rank: 1, ..column },
        _ => column,
    };
    without.map(first).collect()
}

impl ListScreen<App> for Queue {
    type Id = ZnodePath;
    type Row<'a> = QueueRow<'a>;
    type Order = FixedOrder;
    type Column = QueueColumn;

    fn columns(&self) -> &'static [Column<QueueColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Queue)
    }

    /// Places the columns. The sequence column is as wide as the last number.
    ///
    /// If the watches column does not fit, a sign in the waits-for column replaces it. If that does
    /// not fit either, the sign is in the state column.
    fn place(&self, app: &App, width: u16) -> Vec<Placed<QueueColumn>> {
        let mut columns = columns(app);
        let lock = app.world().open_lock();
        let digits = lock
            .and_then(|lock| lock.row(lock.len().checked_sub(1)?))
            .map_or(0, |last| last.contender.sequence.map_or(1, |Sequence(number)| number.to_string().len()));
        for column in columns.iter_mut().filter(|column| column.key == QueueColumn::Sequence) {
            let room = u16::try_from(digits).unwrap_or(u16::MAX).clamp(MIN_SEQUENCE_WIDTH, column.most);
            (column.least, column.most) = (room, room);
        }
        let mut placed = place(&columns, MARK_WIDTH, width);
        let is_placed = |key| placed.iter().any(|column: &Placed<_>| column.key == key);
        if columns.iter().all(|column| column.key != QueueColumn::Watches) || is_placed(QueueColumn::Watches) {
            return placed;
        }
        let (from, to) = if is_placed(QueueColumn::WaitsFor) {
            (QueueColumn::WaitsFor, QueueColumn::WaitsForAndWatches)
        } else {
            (QueueColumn::State, QueueColumn::StateAndWatches)
        };
        placed.iter_mut().filter(|column| column.key == from).for_each(|column| column.key = to);
        placed
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<ZnodePath> + 'a {
        app.world().queue_rows()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<QueueRow<'a>> {
        let (lock, row) = app.world().open_lock().zip(app.world().queue_rows().row(rank))?;
        Some(Self::known(app, lock, row))
    }

    cursor_in!(contenders: ZnodePath);

    /// Returns the path of the contender's node; in the details, the id of its session.
    fn copied(&self, app: &App, QueueRow { lock, row, .. }: QueueRow<'_>) -> Option<String> {
        let session = row.contender.session().filter(|_| app.pane() == Pane::Details);
        Some(session.map_or_else(|| lock.path_of(row.contender).to_string(), |session| session.to_string()))
    }

    fn open(&self, app: &mut App) {
        app.navigation.go_to_pane(Pane::Details);
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        self.row(app, self.cursor(app).rank())?.row.contender.session()
    }

    /// Returns the contender's node; for an empty queue, the lock's parent.
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

    /// Exports the lock with its whole queue, because a contender without those before it would
    /// mislead.
    fn exported(&self, app: &App) -> Result<String, String> {
        let lock = app.world().open_lock().ok_or("There is no lock to export.")?;
        app.locks_as_json(vec![lock])
    }

    /// Returns the contender's node; for an empty queue, the lock's parent.
    fn deletable(&self, app: &App) -> Vec<ZnodePath> {
        let Some(lock) = app.live.open_lock() else { return Vec::new() };
        let selected = self.cursor(app).selected(&app.live.queue_rows());
        selected.or_else(|| lock.is_empty().then(|| lock.path().clone())).into_iter().collect()
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.open_lock().is_some_and(|lock| !lock.is_empty())
    }
}
