//! Queue: the contenders of the open lock as a list and as a picture.
//!
//! The contenders that pass a filter are updated node by node, and so are the entries of the
//! timeline that pass one. The picture is drawn from the nodes of the lock and from the watches
//! that the servers report. It has no moving watch events, because the events delivered to other
//! programs' clients are unknown.

use std::collections::VecDeque;

use indexset::BTreeSet;
use rustc_hash::FxHashMap;

use super::super::{App, ListScreen, Screen, TimelineEntry};
use crate::tui::app::list::FixedOrder;
use crate::tui::app::{Filter, Pane, Rows};
use crate::tui::picture::{LineState, PictureRow, QueuePicture, RowId, RowState, RowTrouble, WatchLine};
use crate::tui::screen::{Column, MARK_WIDTH, Placed, choose, place};
use lockscope_base::recipe::{Classifier, LockKind, RequestMode, Role};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_lock::Access;
use lockscope_model::diagnose::{OwnerFacts, OwnerState, TableAt, WatchTarget};
use lockscope_model::queue::{Change, Contender, ContenderRow, ContenderState, LockId, LockQueue, LockTable, Timeline};

pub struct QueueList;

/// A contender of the open lock, with its current facts.
pub struct QueueRow<'a> {
    pub lock: &'a LockQueue,
    /// The contender and its position.
    pub row: ContenderRow<'a>,
    /// What is known of the contender's session and watch.
    pub facts: OwnerFacts<'a>,
}

impl QueueList {
    /// Collects the facts about a contender. If the servers do not report its watch, a test client
    /// of this console can.
    pub fn known<'a>(app: &'a App, lock: &'a LockQueue, row: ContenderRow<'a>) -> QueueRow<'a> {
        let mut facts = app.world().table_at(app.now()).facts(lock, &row);
        if facts.watching == WatchTarget::Unknown {
            facts.watching = app.fleets().watched_by(lock, &row).unwrap_or(WatchTarget::Unknown);
        }
        QueueRow { lock, row, facts }
    }

    /// Returns the node of the selected contender in `rows`; for an empty queue, the lock's parent.
    fn selected_node(app: &App, rows: QueueRows<'_>) -> Option<ZnodePath> {
        let lock = rows.queue?;
        let selected = app.cursors.contenders.selected(&rows);
        selected.or_else(|| lock.is_empty().then(|| lock.path().clone()))
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

const QUEUE_COLUMNS: &[Column<QueueColumn>] = &[
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
/// about the client are left out, and the session's id takes the priority of the client. Liveness
/// then says what is missing, as soon as that is known.
fn known_columns(app: &App) -> Vec<Column<QueueColumn>> {
    if app.world().table().clients().has_listed_clients() {
        return choose(QUEUE_COLUMNS, app.chosen_columns(Screen::Queue));
    }
    let without =
        choose(QUEUE_COLUMNS, app.chosen_columns(Screen::Queue)).into_iter().filter(|column: &Column<QueueColumn>| {
            let says_why = column.key == QueueColumn::Liveness && app.unheard().is_some();
            says_why || !column.key.is_of_connections()
        });
    let first = |column: Column<QueueColumn>| match column.key {
        QueueColumn::Session => Column { rank: 1, ..column },
        _ => column,
    };
    without.map(first).collect()
}

impl ListScreen<App> for QueueList {
    type Id = ZnodePath;
    type Row<'a> = QueueRow<'a>;
    type Order = FixedOrder<QueueColumn>;
    type Column = QueueColumn;

    fn columns(&self) -> &'static [Column<QueueColumn>] {
        QUEUE_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Queue)
    }

    /// Places the columns. The sequence column is as wide as the last number.
    ///
    /// If the watches column does not fit, a sign in the waits-for column replaces it. If that does
    /// not fit either, the sign is in the state column.
    fn place(&self, app: &App, width: u16) -> Vec<Placed<QueueColumn>> {
        let mut columns = known_columns(app);
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

    fn node(&self, app: &App) -> Option<ZnodePath> {
        Self::selected_node(app, app.world().queue_rows())
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

    fn deletable(&self, app: &App) -> Vec<ZnodePath> {
        Self::selected_node(app, app.live.queue_rows()).into_iter().collect()
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.live.open_lock().is_some_and(|lock| !lock.is_empty())
    }
}

/// The sort key of a contender, which gives the order of the queue.
type QueueKey = (bool, i64, Zxid, ZnodePath);

/// The contenders of the open lock that pass the filter. Built when the filter is set or the lock
/// is opened, then updated node by node.
#[derive(Clone, Debug, Default)]
pub struct QueueMatches {
    filter: Filter,
    lock: Option<LockId>,
    order: BTreeSet<QueueKey>,
    places: FxHashMap<ZnodePath, QueueKey>,
}

impl QueueMatches {
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn lock(&self) -> Option<LockId> {
        self.lock
    }

    /// Rebuilds the matches for a lock and a filter. Linear in the length of the queue, unless the
    /// filter is empty.
    pub fn build(&mut self, filter: Filter, lock: Option<LockId>, table: &LockTable, now: Timestamp) {
        if lock == self.lock && filter.narrows(&self.filter) {
            return self.narrow(filter, table, now);
        }
        (self.filter, self.lock) = (filter, lock);
        self.order.clear();
        self.places.clear();
        if self.filter.is_empty() {
            return;
        }
        let Some(queue) = lock.and_then(|id| table.lock(id)) else { return };
        for row in queue.rows(0..queue.len()) {
            if self.filter.takes_contender(queue, &row, TableAt::new(table, now), now) {
                self.add(queue.path_of(row.contender), row.contender);
            }
        }
    }

    /// Rechecks only the contenders that passed before: a narrower filter, such as one that is
    /// being typed, passes no others.
    fn narrow(&mut self, filter: Filter, table: &LockTable, now: Timestamp) {
        self.filter = filter;
        let Some(queue) = self.lock.and_then(|id| table.lock(id)) else { return };
        let (filter, order) = (&self.filter, &mut self.order);
        self.places.retain(|path, place| {
            let row = table.position(path).and_then(|(_, position)| queue.row(position));
            let stays = row.is_some_and(|row| filter.takes_contender(queue, &row, TableAt::new(table, now), now));
            if !stays {
                order.remove(place);
            }
            stays
        });
    }

    /// Updates the matches after a change was applied to the table.
    pub fn follow(&mut self, changed: &Changed, table: &LockTable, now: Timestamp) {
        let Some(queue) = self.lock.filter(|_| !self.filter.is_empty()).and_then(|id| table.lock(id)) else { return };
        match changed {
            Changed::Everything => {
                let filter = std::mem::take(&mut self.filter);
                self.build(filter, self.lock, table, now);
            }
            Changed::Node(path) if path.is_within(queue.path()) || self.places.contains_key(path) => {
                self.recheck(path, queue, table, now);
                // At the border between a semaphore's leases and its queue, a change of one node
                // can show or hide the contender of another.
                for position in queue.holding().saturating_sub(1)..=queue.holding() + 1 {
                    if let Some(row) = queue.row(position) {
                        self.recheck(&queue.path_of(row.contender), queue, table, now);
                    }
                }
            }
            Changed::Nothing | Changed::Node(_) => {}
        }
    }

    fn recheck(&mut self, path: &ZnodePath, queue: &LockQueue, table: &LockTable, now: Timestamp) {
        if let Some(old) = self.places.remove(path) {
            self.order.remove(&old);
        }
        if let Some((id, position)) = table.position(path)
            && id == queue.id()
            && let Some(row) = queue.row(position)
            && self.filter.takes_contender(queue, &row, TableAt::new(table, now), now)
        {
            self.add(path.clone(), row.contender);
        }
    }

    fn add(&mut self, path: ZnodePath, contender: &Contender) {
        let number = contender.sequence.map_or(0, |sequence| i64::from(sequence.0));
        let place = (contender.role != Role::Lease, number, contender.czxid, path.clone());
        self.order.insert(place.clone());
        self.places.insert(path, place);
    }

    fn path(&self, rank: usize) -> Option<&ZnodePath> {
        // `get_index` beyond the end of the set is unspecified.
        if rank < self.order.len() { self.order.get_index(rank).map(|place| &place.3) } else { None }
    }
}

/// Which contenders a change can affect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    Nothing,
    /// One node came, changed or went.
    Node(ZnodePath),
    /// Any contender may be affected.
    Everything,
}

impl From<&Change> for Changed {
    fn from(change: &Change) -> Self {
        match change {
            // A hint can change the recipe of all its siblings.
            Change::Appeared { path } if Classifier::is_hint(path) => Self::Everything,
            Change::Seen { path, .. }
            | Change::Deleted { path, .. }
            | Change::DeletedBy { path, .. }
            | Change::Appeared { path } => Self::Node(path.clone()),
            // The addresses of clients may have changed.
            Change::Synced | Change::Surveyed { .. } => Self::Everything,
            Change::Listed { .. }
            | Change::Unreadable { .. }
            | Change::Heard { .. }
            | Change::Sampled { .. }
            | Change::Compared { .. }
            | Change::Crossed { .. }
            | Change::Muted { .. }
            | Change::Connection(_)
            | Change::Syncing => Self::Nothing,
        }
    }
}

/// The rows of Queue: the whole queue, or the contenders that pass the filter.
#[derive(Clone, Copy)]
pub struct QueueRows<'a> {
    table: &'a LockTable,
    queue: Option<&'a LockQueue>,
    matches: &'a QueueMatches,
}

impl<'a> QueueRows<'a> {
    pub fn new(table: &'a LockTable, matches: &'a QueueMatches) -> Self {
        Self { table, queue: matches.lock.and_then(|id| table.lock(id)), matches }
    }

    pub fn row(&self, rank: usize) -> Option<ContenderRow<'a>> {
        let queue = self.queue?;
        if self.matches.filter.is_empty() {
            return queue.row(rank);
        }
        let (id, position) = self.table.position(self.matches.path(rank)?)?;
        if id == queue.id() { queue.row(position) } else { None }
    }
}

impl Rows<ZnodePath> for QueueRows<'_> {
    fn len(&self) -> usize {
        match self.queue {
            None => 0,
            Some(queue) if self.matches.filter.is_empty() => queue.len(),
            Some(_) => self.matches.order.len(),
        }
    }

    fn rank(&self, id: &ZnodePath) -> Option<usize> {
        if !self.matches.filter.is_empty() {
            return self.matches.places.get(id).map(|place| self.matches.order.rank(place));
        }
        let (lock, position) = self.table.position(id)?;
        (Some(lock) == self.matches.lock).then_some(position)
    }

    fn id(&self, rank: usize) -> Option<ZnodePath> {
        if self.matches.filter.is_empty() {
            let queue = self.queue?;
            queue.row(rank).map(|row| queue.path_of(row.contender))
        } else {
            self.matches.path(rank).cloned()
        }
    }
}

/// The timeline entries that pass the filter, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct TimelineMatches {
    filter: Filter,
    numbers: VecDeque<u64>,
}

impl TimelineMatches {
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Rebuilds the matches for a filter. Linear in the length of the timeline.
    pub fn build(&mut self, filter: Filter, timeline: &Timeline<TimelineEntry>, table: &LockTable) {
        self.filter = filter;
        self.numbers.clear();
        if !self.filter.is_empty() {
            let numbered = (timeline.first()..).zip(timeline.iter());
            let taken = numbered.filter(|(_, entry)| self.filter.takes_timeline_entry(entry, table));
            self.numbers = taken.map(|(at, _)| at).collect();
        }
    }

    /// Checks the newest entry, and drops entries that the timeline no longer keeps.
    pub fn pushed(&mut self, timeline: &Timeline<TimelineEntry>, table: &LockTable) {
        if self.filter.is_empty() {
            return;
        }
        while self.numbers.front().is_some_and(|number| *number < timeline.first()) {
            self.numbers.pop_front();
        }
        let newest = timeline.first() + timeline.len() as u64 - 1;
        if timeline.get(newest).is_some_and(|entry| self.filter.takes_timeline_entry(entry, table)) {
            self.numbers.push_back(newest);
        }
    }
}

/// The rows of Timeline: all entries, or those that pass the filter.
#[derive(Clone, Copy)]
pub struct TimelineRows<'a> {
    timeline: &'a Timeline<TimelineEntry>,
    matches: &'a TimelineMatches,
}

impl<'a> TimelineRows<'a> {
    pub fn new(timeline: &'a Timeline<TimelineEntry>, matches: &'a TimelineMatches) -> Self {
        Self { timeline, matches }
    }
}

impl Rows<u64> for TimelineRows<'_> {
    fn len(&self) -> usize {
        if self.matches.filter.is_empty() { self.timeline.len() } else { self.matches.numbers.len() }
    }

    fn rank(&self, id: &u64) -> Option<usize> {
        if self.matches.filter.is_empty() {
            let rank = usize::try_from(id.checked_sub(self.timeline.first())?).ok()?;
            (rank < self.timeline.len()).then_some(rank)
        } else {
            self.matches.numbers.binary_search(id).ok()
        }
    }

    fn id(&self, rank: usize) -> Option<u64> {
        if self.matches.filter.is_empty() {
            (rank < self.timeline.len()).then(|| self.timeline.first() + rank as u64)
        } else {
            self.matches.numbers.get(rank).copied()
        }
    }
}

impl QueueList {
    /// Whether Queue shows its picture in place of the list.
    pub fn shows_picture(app: &App) -> bool {
        app.navigation.screen == Screen::Queue
            && app.slow_motion().shows_queue_picture
            && app.world().open_lock().is_some_and(|lock| !lock.is_empty())
    }

    /// The first `most` contenders of the open queue, ignoring the filter. Linear in `most`.
    pub fn picture(app: &App, most: usize) -> QueuePicture {
        let Some(lock) = app.world().open_lock() else { return QueuePicture::default() };
        let most = most.min(QueuePicture::MAX_ROWS);
        let contenders: Vec<_> = lock.rows(0..lock.len().min(most)).map(|row| Self::known(app, lock, row)).collect();
        let mut rows = Vec::new();
        if contenders.iter().any(|shown| shown.facts.watching == WatchTarget::Parent) {
            rows.push(parent_row(lock));
        }
        rows.extend(contenders.iter().map(|shown| contender_row(lock, shown)));
        let watchers = app.world().table_at(app.now()).waiters(lock).map(|watchers| watchers.sessions);
        let watchers = watchers.unwrap_or_default();
        let room = most.saturating_sub(rows.len());
        rows.extend(watchers.iter().take(room).enumerate().map(|(at, session)| watcher_row(at, *session)));
        let hidden = lock.len().saturating_sub(contenders.len()) + watchers.len().saturating_sub(room);
        QueuePicture { rows, hidden, ..QueuePicture::default() }
    }

    /// The session of a row of the picture; `None` when the row has none.
    pub fn session_in_picture(app: &App, id: RowId) -> Option<SessionId> {
        let RowId::Client(number) = id else { return None };
        let lock = app.world().open_lock()?;
        match usize::try_from(number).ok()? {
            at if at >= WATCHERS_FROM => {
                app.world().table_at(app.now()).waiters(lock)?.sessions.get(at - WATCHERS_FROM).copied()
            }
            position => lock.row(position)?.contender.session(),
        }
    }

    /// The row of the selected contender.
    pub fn selected_in_picture(app: &App) -> Option<RowId> {
        let node = app.cursors.contenders.selected(&app.world().queue_rows())?;
        let (_, position) = app.world().table().position(&node)?;
        Some(RowId::Client(position as u64))
    }
}

/// The first row number of the sessions that watch a single-node lock. Smaller numbers are
/// positions in the queue.
const WATCHERS_FROM: usize = 1 << 32;

fn plain_row(id: RowId, name: String, state: RowState) -> PictureRow {
    let (lines, troubles) = (Vec::new(), Vec::new());
    PictureRow { id, name, state, access: None, lines, troubles, effect: None, token: None }
}

fn parent_row(lock: &LockQueue) -> PictureRow {
    plain_row(RowId::Parent(0), lock.path().name().to_owned(), RowState::Parent)
}

/// The row of a session that watches a single-node lock. Row 0 is that node.
fn watcher_row(at: usize, session: SessionId) -> PictureRow {
    let row = plain_row(RowId::Client((WATCHERS_FROM + at) as u64), session.to_string(), RowState::Waits);
    PictureRow { lines: vec![WatchLine { to: RowId::Client(0), state: LineState::Standing }], ..row }
}

fn contender_row(lock: &LockQueue, QueueRow { row, facts, .. }: &QueueRow<'_>) -> PictureRow {
    let contender = row.contender;
    let name = match contender.sequence {
        Some(Sequence(number)) => number.to_string(),
        None => contender.node.to_string(),
    };
    let state = match row.state {
        ContenderState::Holds => RowState::Holds,
        ContenderState::Waits => RowState::Waits,
        ContenderState::Unknown => RowState::Unknown,
    };
    let mut troubles = Vec::new();
    if !matches!(facts.owner, OwnerState::Live | OwnerState::Unknown) {
        troubles.push(RowTrouble::Owner { state: facts.owner, expires_in: facts.expires_in });
    }
    if row.state == ContenderState::Waits && facts.watching == WatchTarget::Nothing {
        troubles.push(RowTrouble::WatchesNothing);
    }
    let access = match row.mode {
        RequestMode::Read => Some(Access::Read),
        RequestMode::Write if lock.kind() == LockKind::ReadWrite => Some(Access::Write),
        _ => None,
    };
    let row = plain_row(RowId::Client(row.position as u64), name, state);
    let lines = if state == RowState::Waits { lines(lock, facts, &row) } else { Vec::new() };
    PictureRow { access, lines, troubles, ..row }
}

/// The lines from a waiter to what it watches. If the watches are unknown, the line goes to the
/// contender that it waits for, marked as unknown.
fn lines(lock: &LockQueue, facts: &OwnerFacts<'_>, row: &PictureRow) -> Vec<WatchLine> {
    let RowId::Client(number) = row.id else { return Vec::new() };
    let Ok(position) = usize::try_from(number) else { return Vec::new() };
    let before = |most: usize| {
        let awaited = facts.watched.map_or_else(|| lock.waits_for(position, most), |watched| vec![watched]);
        let found = lock.rows(0..position).filter(|other| awaited.contains(&&*other.contender.node));
        found.map(|other| RowId::Client(other.position as u64)).collect::<Vec<_>>()
    };
    let line = |state: LineState| move |to: RowId| WatchLine { to, state };
    match facts.watching {
        WatchTarget::Nothing => Vec::new(),
        WatchTarget::Parent => vec![WatchLine { to: RowId::Parent(0), state: LineState::Standing }],
        WatchTarget::Unknown => before(1).into_iter().map(line(LineState::Unknown)).collect(),
        WatchTarget::Predecessor => before(1).into_iter().map(line(LineState::Standing)).collect(),
        WatchTarget::TwoBefore => {
            let ahead = position.checked_sub(2).map(|at| RowId::Client(at as u64));
            before(1).into_iter().chain(ahead).map(line(LineState::Standing)).collect()
        }
    }
}
