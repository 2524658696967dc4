//! Timeline: the events of all locks and of the connection, newest last.

use serde::Serialize;

use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Filter, Rows, Screen, TimelineEntry};
use crate::tui::screen::Column;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::report::{ClientFacts, FindingLine, HappeningLine, rfc3339};

pub struct TimelineList;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TimelineLine<'a> {
    Happening(HappeningLine<'a>),
    Finding(FindingLine<'a>),
    Deletion(DeletionLine<'a>),
}

/// The outcome of a deletion from this console.
#[derive(Serialize)]
pub(super) struct DeletionLine<'a> {
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
    pub(super) fn new(entry: &'a TimelineEntry) -> Self {
        match entry {
            TimelineEntry::Happening(happening) => Self::Happening(HappeningLine::new(happening, None)),
            TimelineEntry::Finding { at, finding, raised } => Self::Finding(FindingLine::new(finding, *raised, *at)),
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

impl App {
    /// Returns the entry that is selected in Timeline.
    pub(in crate::tui::app) fn selected_timeline_entry(&self) -> Option<&TimelineEntry> {
        TimelineList.row(self, self.cursors.timeline.rank())
    }
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

const COLUMNS: &[Column<TimelineColumn>] = &[
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
    type Order = FixedOrder;
    type Column = TimelineColumn;

    fn columns(&self) -> &'static [Column<TimelineColumn>] {
        COLUMNS
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
            return app.show_failure("This concerns the connection, not a lock.".to_owned());
        };
        let (node, standing) = (entry.node().cloned(), app.standing_node(entry));
        let Some(lock) = app.known_lock(&name) else {
            return app.show_failure(format!("The lock {} is gone.", name.path));
        };
        app.open_lock(lock);
        match (node, standing) {
            (_, Some(path)) => app.select_contender(path),
            (Some(node), None) => app.show_failure(format!("{node} is not in the queue any more.")),
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
