//! The past in lists: the history of one lock, the timeline of all locks, and the audit log.
//!
//! All three are newest last. History has the past holds, waits and findings of one lock, and then
//! its current holders. Timeline has the events of all locks and of the connection. Audit has the
//! deletions of this console and of others.

use std::borrow::Cow;

use serde::Serialize;

use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Filter, Pane, Rows, Screen, TimelineEntry};
use crate::tui::lock_history::{HistoryEntry, Stay, StayEnd};
use crate::tui::screen::Column;
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::{Code, Severity};
use lockscope_model::queue::{ContenderId, LockName};
use lockscope_model::report::{ClientFacts, FindingLine, FindingNews, HappeningLine, rfc3339};
use lockscope_model::text::human::{duration, exact_time};

/// Maximum number of holders that are listed. Only semaphores and read locks have more than one.
const MAX_HOLDERS: usize = 100;

pub struct HistoryList;

/// The identity of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryId {
    /// An entry of the history.
    Past(u64),
    /// A current holder.
    Holder(ContenderId),
}

#[derive(Clone, Debug)]
pub struct HistoryRow<'a> {
    id: HistoryId,
    pub entry: Cow<'a, HistoryEntry>,
}

/// The rows of the open lock that pass the filter: a few hundred at most.
pub struct HistoryRows<'a>(Vec<HistoryRow<'a>>);

impl Rows<HistoryId> for HistoryRows<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn rank(&self, id: &HistoryId) -> Option<usize> {
        self.0.iter().position(|row| row.id == *id)
    }

    fn id(&self, rank: usize) -> Option<HistoryId> {
        self.0.get(rank).map(|row| row.id.clone())
    }
}

impl HistoryList {
    /// Returns the history of the lock that was opened last: first the past, oldest first, and then
    /// the current holders.
    fn entries(app: &App) -> impl Iterator<Item = HistoryRow<'_>> {
        let world = app.world();
        let past = world.opened().into_iter().flat_map(|lock| world.histories().of(lock));
        let past = past.map(|(number, entry)| HistoryRow { id: HistoryId::Past(*number), entry: Cow::Borrowed(entry) });
        let lock = world.open_lock();
        let holders = lock.into_iter().flat_map(|lock| lock.rows(0..lock.holding().min(MAX_HOLDERS)));
        let holders = holders.map(|row| {
            let stay = Stay::of(row.contender, world.table(), app.now());
            HistoryRow { id: HistoryId::Holder(row.contender.id()), entry: Cow::Owned(HistoryEntry::Stay(stay)) }
        });
        past.chain(holders).filter(|row| takes_history_entry(&app.history_filter, &row.entry))
    }

    /// Returns the number of rows before the filter, and the number of entries that were dropped.
    pub fn size(app: &App) -> (usize, u64) {
        let world = app.world();
        let Some(lock) = world.opened() else { return (0, 0) };
        let holders = world.open_lock().map_or(0, |lock| lock.holding().min(MAX_HOLDERS));
        (world.histories().of(lock).count() + holders, world.histories().forgotten(lock))
    }
}

fn takes_history_entry(filter: &Filter, entry: &HistoryEntry) -> bool {
    let mut matching = filter.matching();
    match entry {
        HistoryEntry::Stay(stay) => {
            matching.texts([&*stay.node, stay.end.id()]).texts(stay.data());
            matching.session(stay.session).client(&stay.client);
            for time in stay.waited.iter().chain(stay.held.as_ref().map(|held| &held.at_least)) {
                matching.figure(|| duration(*time));
            }
            matching.figure(|| exact_time(stay.until, true)).figure(|| exact_time(stay.until, false));
        }
        HistoryEntry::Finding { finding, .. } => {
            matching.texts([
                finding.code.id(),
                finding.code.title(),
                finding.severity.id(),
                &finding.summary,
                &finding.remedy,
            ]);
            matching.texts(finding.node.as_deref());
            if let Some(client) = &finding.client {
                matching.client(client);
            }
        }
    }
    matching.passes()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryColumn {
    Since,
    What,
    Who,
    Waited,
    Held,
    Until,
    Node,
}

const HISTORY_COLUMNS: &[Column<HistoryColumn>] = &[
    Column::text(HistoryColumn::Since, "SINCE", 14, 14, 2),
    Column::text(HistoryColumn::What, "WHAT", 14, 20, 0),
    Column::text(HistoryColumn::Who, "WHO", 15, 48, 0),
    Column::number(HistoryColumn::Waited, "WAITED", 6, 1),
    Column::number(HistoryColumn::Held, "HELD", 8, 0),
    Column::text(HistoryColumn::Until, "UNTIL", 12, 12, 0),
    Column::text(HistoryColumn::Node, "NODE", 26, 54, 3),
];

impl ListScreen<App> for HistoryList {
    type Id = HistoryId;
    type Row<'a> = HistoryRow<'a>;
    type Order = FixedOrder<HistoryColumn>;
    type Column = HistoryColumn;

    fn columns(&self) -> &'static [Column<HistoryColumn>] {
        HISTORY_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::History)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<HistoryId> + 'a {
        HistoryRows(Self::entries(app).collect())
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<HistoryRow<'a>> {
        Self::entries(app).nth(rank)
    }

    cursor_in!(history: HistoryId);

    /// Returns the client's session, or the node if the session is unknown. For a finding, returns
    /// its text.
    fn copied(&self, _: &App, row: HistoryRow<'_>) -> Option<String> {
        match &*row.entry {
            HistoryEntry::Stay(stay) => Some(stay.session.map_or_else(|| stay.node.to_string(), |id| id.to_string())),
            HistoryEntry::Finding { finding, .. } => Some(finding.sentence().into_owned()),
        }
    }

    fn open(&self, app: &mut App) {
        app.navigation.go_to_pane(Pane::Details);
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        match &*self.row(app, app.cursors.history.rank())?.entry {
            HistoryEntry::Stay(stay) => stay.session,
            HistoryEntry::Finding { finding, .. } => {
                let lock = app.world().open_lock()?;
                let node = finding.node.as_deref()?;
                lock.rows(0..lock.len()).find(|row| *row.contender.node == *node)?.contender.session()
            }
        }
    }

    /// Returns the path of the entry's node, even if the node is gone. For an entry without a node,
    /// returns the path of the lock.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let row = self.row(app, app.cursors.history.rank())?;
        let node = match &*row.entry {
            HistoryEntry::Stay(stay) => Some(&*stay.node),
            HistoryEntry::Finding { finding, .. } => finding.node.as_deref(),
        };
        let parent = &app.opened()?.path;
        match (node, app.world().open_lock()) {
            (None, _) => Some(parent.clone()),
            (_, Some(lock)) if lock.kind() == LockKind::SingleNode => Some(parent.clone()),
            (Some(node), None) if node == parent.name() => Some(parent.clone()),
            (Some(node), Some(lock)) => Some(lock.queue_path().child(node)),
            (Some(node), None) => Some(parent.child(node)),
        }
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(&app.history_filter)
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.history_filter = filter;
    }

    fn changes_with_time(&self, app: &App) -> bool {
        app.world().open_lock().is_some_and(|lock| lock.holding() > 0)
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let lock = app.opened().ok_or("No lock is open.")?;
        let rows: Vec<_> = Self::entries(app).collect();
        let stays =
            || rows.iter().filter_map(|row| if let HistoryEntry::Stay(stay) = &*row.entry { Some(stay) } else { None });
        app.as_json(HistoryExport {
            holds: stays()
                .filter(|stay| stay.end != StayEnd::WaiterGone)
                .map(|stay| StayFacts::new(lock, stay))
                .collect(),
            waits: stays()
                .filter(|stay| stay.end == StayEnd::WaiterGone)
                .map(|stay| StayFacts::new(lock, stay))
                .collect(),
            findings: rows.iter().filter_map(|row| FindingRowFacts::new(lock, &row.entry)).collect(),
            forgotten: Self::size(app).1,
        })
    }
}

#[derive(Serialize)]
struct HistoryExport<'a> {
    holds: Vec<StayFacts<'a>>,
    /// Contenders that left without having held.
    waits: Vec<StayFacts<'a>>,
    findings: Vec<FindingRowFacts<'a>>,
    /// The number of older entries that were dropped.
    forgotten: u64,
}

/// A stay in the queue, as JSON.
#[derive(Serialize)]
struct StayFacts<'a> {
    lock: &'a str,
    name: Option<&'a str>,
    node: &'a str,
    mode: Option<RequestMode>,
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    /// The beginning of the node's data; `null` if it is not text.
    data: Option<&'a str>,
    /// `null` when the arrival was not seen.
    enqueued_at: Option<String>,
    acquired_at: Option<String>,
    /// When the stay ended, whatever the reason; `null` while the contender holds.
    released_at: Option<String>,
    waited_ms: Option<u64>,
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
    /// `gone` if the client released or gave up, or if another client deleted the node; `unknown`
    /// if the session may have expired instead.
    end: &'static str,
    /// Whether the stay ended while there was no connection, at an unknown time before
    /// `released_at`.
    end_unseen: bool,
}

impl<'a> StayFacts<'a> {
    fn new(lock: &'a LockName, stay: &'a Stay) -> Self {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let known = stay.known.as_deref();
        Self {
            lock: lock.path.as_str(),
            name: lock.name.as_deref(),
            node: &stay.node,
            mode: known.map(|known| known.mode),
            session: stay.session.map(|session| session.to_string()),
            client: (&stay.client).into(),
            data: stay.data(),
            enqueued_at: known.and_then(|known| known.came_at).and_then(rfc3339),
            acquired_at: known.and_then(|known| known.acquired_at).and_then(rfc3339),
            released_at: (stay.end != StayEnd::Open).then(|| rfc3339(stay.until)).flatten(),
            waited_ms: stay.waited.map(millis),
            held_at_least_ms: stay.held.map(|held| millis(held.at_least)),
            held_at_most_ms: stay.held.map(|held| millis(held.at_most)),
            end: if stay.may_have_expired { "unknown" } else { stay.end.id() },
            end_unseen: stay.end_unseen,
        }
    }
}

/// A finding, as JSON.
#[derive(Serialize)]
struct FindingRowFacts<'a> {
    lock: &'a str,
    name: Option<&'a str>,
    code: Code,
    severity: Severity,
    node: Option<&'a str>,
    /// The session that owns the node.
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    /// `null` when the time is not known any more.
    raised_at: Option<String>,
    /// `null` while the finding lasts.
    cleared_at: Option<String>,
    summary: &'a str,
    remedy: &'a str,
}

impl<'a> FindingRowFacts<'a> {
    fn new(lock: &'a LockName, entry: &'a HistoryEntry) -> Option<Self> {
        let HistoryEntry::Finding { raised_at, cleared_at, finding } = entry else { return None };
        let client = finding.client.as_deref();
        Some(Self {
            lock: lock.path.as_str(),
            name: lock.name.as_deref(),
            code: finding.code,
            severity: finding.severity,
            node: finding.node.as_deref(),
            session: client.and_then(|client| client.session).map(|session| session.to_string()),
            client: client.map(ClientFacts::from).unwrap_or_default(),
            raised_at: raised_at.and_then(rfc3339),
            cleared_at: cleared_at.and_then(rfc3339),
            summary: &finding.summary,
            remedy: &finding.remedy,
        })
    }
}

pub struct TimelineList;

#[derive(Serialize)]
#[serde(untagged)]
pub enum TimelineLine<'a> {
    Happening(HappeningLine<'a>),
    Finding(FindingLine<'a>),
    Deletion(DeletionLine<'a>),
}

/// The outcome of a deletion from this console.
#[derive(Serialize)]
pub struct DeletionLine<'a> {
    at: Option<String>,
    event: &'static str,
    lock: Option<&'a str>,
    name: Option<&'a str>,
    node: &'a str,
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    result: &'static str,
    reason: String,
}

impl<'a> TimelineLine<'a> {
    pub fn new(entry: &'a TimelineEntry) -> Self {
        match entry {
            TimelineEntry::Happening(happening) => Self::Happening(HappeningLine::new(happening, None)),
            TimelineEntry::Finding { at, finding, raised } => {
                let news = if *raised { FindingNews::Raised } else { FindingNews::Cleared };
                Self::Finding(FindingLine::new(finding, news, *at))
            }
            TimelineEntry::Deletion { at, lock, node, client, ending } => Self::Deletion(DeletionLine {
                at: rfc3339(*at),
                event: entry.event(),
                lock: lock.as_ref().map(|lock| lock.path.as_str()),
                name: lock.as_ref().and_then(|lock| lock.name.as_deref()),
                node,
                session: client.session.map(|session| session.to_string()),
                client: client.into(),
                result: ending.id(),
                reason: format!("{node} {ending}"),
            }),
        }
    }
}

#[derive(Serialize)]
struct TimelineExport<'a> {
    happenings: Vec<TimelineLine<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineColumn {
    Time,
    Event,
    Lock,
    Sequence,
    Client,
    Waited,
    Held,
    Queue,
    Herd,
    Chain,
    Node,
}

const TIMELINE_COLUMNS: &[Column<TimelineColumn>] = &[
    Column::text(TimelineColumn::Time, "TIME", 12, 12, 0),
    Column::text(TimelineColumn::Event, "EVENT", 14, 14, 0),
    Column::text(TimelineColumn::Lock, "LOCK", 13, 48, 0),
    Column::number(TimelineColumn::Sequence, "SEQ", 7, 4),
    Column::text(TimelineColumn::Client, "CLIENT", 15, 36, 3),
    Column::number(TimelineColumn::Waited, "WAITED", 6, 1),
    Column::number(TimelineColumn::Held, "HELD", 6, 1),
    Column::number(TimelineColumn::Queue, "QUEUE", 6, 5),
    Column::number(TimelineColumn::Herd, "HERD", 7, 6),
    Column::number(TimelineColumn::Chain, "CHAIN", 6, 7),
    Column::text(TimelineColumn::Node, "NODE", 26, 54, 8),
];

impl ListScreen<App> for TimelineList {
    type Id = u64;
    type Row<'a> = &'a TimelineEntry;
    type Order = FixedOrder<TimelineColumn>;
    type Column = TimelineColumn;

    fn columns(&self) -> &'static [Column<TimelineColumn>] {
        TIMELINE_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Timeline)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<u64> + 'a {
        app.world().timeline_rows()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a TimelineEntry> {
        app.world().timeline().get(app.world().timeline_rows().id(rank)?)
    }

    cursor_in!(timeline: u64);

    fn copied(&self, _: &App, entry: &TimelineEntry) -> Option<String> {
        entry.lock().map(|lock| lock.path.to_string())
    }

    /// Opens the lock of the entry, and selects its contender if that is still in the queue.
    fn open(&self, app: &mut App) {
        let Some(entry) = self.row(app, self.cursor(app).rank()) else { return };
        let Some(name) = entry.lock().cloned() else {
            return app.show_hint("This concerns the connection, not a lock.".to_owned());
        };
        let (node, standing) = (entry.node().cloned(), app.standing_node(entry));
        let Some(lock) = app.known_lock(&name) else {
            return app.show_hint(format!("The lock {} is gone.", name.path));
        };
        app.open_lock(lock);
        match (node, standing) {
            (_, Some(path)) => app.select_contender(path),
            (Some(node), None) => app.show_hint(format!("{node} is not in the queue any more.")),
            (None, None) => {}
        }
    }

    /// Returns the path of the entry's node: the current one, or the last one if the node is gone.
    /// For an entry without a node, returns the path of the lock.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let entry = self.row(app, self.cursor(app).rank())?;
        let lock = entry.lock()?;
        let Some(node) = entry.node() else { return Some(lock.path.clone()) };
        let queue = app.known_lock(lock).and_then(|id| app.world().table().lock(id));
        let gone = || match queue {
            Some(queue) if queue.kind() == LockKind::SingleNode => queue.path().clone(),
            Some(queue) => queue.queue_path().child(node),
            None if **node == *lock.path.name() => lock.path.clone(),
            None => lock.path.child(node),
        };
        Some(app.standing_node(entry).unwrap_or_else(gone))
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        self.row(app, self.cursor(app).rank())?.session()
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().timeline_filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.each_world(|world| world.filter_timeline(filter.clone()));
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let rows = app.world().timeline_rows();
        let happenings = (0..rows.len()).filter_map(|rank| self.row(app, rank)).map(TimelineLine::new).collect();
        app.as_json(TimelineExport { happenings })
    }
}

pub struct AuditEntries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditColumn {
    Time,
    Action,
    Result,
    Owner,
    Who,
    Ensemble,
    Node,
}

const AUDIT_COLUMNS: &[Column<AuditColumn>] = &[
    Column::text(AuditColumn::Time, "TIME", 19, 19, 1),
    Column::text(AuditColumn::Action, "WHAT", 6, 6, 4),
    Column::text(AuditColumn::Result, "RESULT", 15, 15, 0),
    Column::text(AuditColumn::Owner, "OWNER", 9, 9, 5),
    Column::text(AuditColumn::Who, "WHO", 9, 24, 3),
    Column::text(AuditColumn::Ensemble, "ENSEMBLE", 10, 30, 2),
    Column::text(AuditColumn::Node, "NODE", 16, 70, 0),
];

impl ListScreen<App> for AuditEntries {
    type Id = String;
    type Row<'a> = &'a AuditEntry;
    type Order = FixedOrder<AuditColumn>;
    type Column = AuditColumn;

    fn columns(&self) -> &'static [Column<AuditColumn>] {
        AUDIT_COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Audit)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<String> + 'a {
        app.audit()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a AuditEntry> {
        app.audit().entry(rank)
    }

    cursor_in!(audit: String);

    /// Returns the node's path; in the details, the session that owns the node.
    fn copied(&self, app: &App, entry: &AuditEntry) -> Option<String> {
        match app.pane() {
            Pane::Details => entry.subject.owner.clone(),
            Pane::List | Pane::Findings | Pane::Events => Some(entry.subject.path.clone()),
        }
    }

    fn open(&self, app: &mut App) {
        app.navigation.go_to_pane(Pane::Details);
    }

    fn node(&self, app: &App) -> Option<ZnodePath> {
        ZnodePath::new(&app.selected_entry()?.subject.path).ok()
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.audit().filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.audit.set_filter(filter);
    }
}
