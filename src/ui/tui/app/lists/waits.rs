//! Waits: the wait-for graph across locks, line by line.
//!
//! Cycles come first, then sessions that wait for themselves, then the sessions that block others,
//! the worst first. The graph is drawn again once a second, and only while it is shown.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tui::app::filter::Matching;
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Rows};
use crate::tui::screen::Column;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::SessionId;
use lockscope_model::diagnose::{Blocker, Cycle, TableAt, Wait, Waits, describe_cross_step, standing_cross_cycles};
use lockscope_model::queue::{ContenderState, CrossCycle, LockId, LockQueue, SameClient};
use lockscope_model::report::WaitFacts;

pub struct WaitList;

impl ListScreen<App> for WaitList {
    type Id = WaitId;
    type Row<'a> = &'a WaitRow;
    type Order = FixedOrder<()>;
    /// The rows are lines of text.
    type Column = ();

    fn columns(&self) -> &'static [Column<()>] {
        &[]
    }

    fn search(&self, app: &App, row: &&WaitRow, matching: &mut Matching<'_>) {
        let table = app.world().table();
        if let Some(session) = row.session {
            matching.session(Some(session)).client(&table.clients().identity(session));
        }
        matching.texts(row.name.as_deref());
        if let Some(lock) = row.lock.and_then(|lock| table.lock(lock)) {
            matching.lock(&lock.lock_name());
            if let Some(finding) = app.world().diagnosis().worst(lock.id()) {
                matching.text(finding.code.id()).text(finding.code.title()).text(&finding.summary);
            }
        }
        matching.text(match row.kind {
            WaitKind::Cycle(_) | WaitKind::InCircle { .. } | WaitKind::CrossCycle(..) | WaitKind::CrossStep { .. } => {
                "cycle"
            }
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
            return app.show_hint("There is nothing to open.".to_owned());
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

/// Maximum number of rows of the graph.
const MAX_WAIT_ROWS: usize = 2_000;

/// Waiters named below each lock, of those that block no other client.
const MAX_WAITERS_NAMED: usize = 3;

/// Maximum depth of the graph.
const MAX_DEPTH: usize = 12;

/// The kind of a row of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitKind {
    /// The heading of a cycle: this many sessions wait for each other.
    Cycle(usize),
    /// A session of the cycle, with the lock that it waits for.
    InCircle {
        /// The next session of the cycle, which holds that lock.
        next: SessionId,
        /// The lock that this session holds and the previous one waits for.
        holds: LockId,
        /// Whether this is the first session, which the last one waits for.
        is_first: bool,
    },
    /// The heading of a cycle over several ensembles: this many clients wait for each other.
    CrossCycle(usize, SameClient),
    /// A client of such a cycle, in a sentence.
    CrossStep { is_first: bool },
    /// A session that waits for a lock that it holds itself.
    SelfBlocked,
    /// A session that blocks others: how many, and whether the number is only a lower bound.
    Blocker(usize, bool),
    /// A lock that the session above holds, and the number of its waiters.
    Lock(usize),
    /// A session that waits for the lock above, and blocks others itself. `true` when these are
    /// listed below the row, `false` when they are already listed further up.
    Through(bool),
    /// A session that waits for the lock above.
    Waiter,
    /// The number of further waiters for the lock above.
    More(usize),
    /// The end of the rows: the graph is larger.
    Cut,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaitRow {
    pub kind: WaitKind,
    pub session: Option<SessionId>,
    pub lock: Option<LockId>,
    /// The waiter's node in the lock, if the session waits and has one.
    pub node: Option<Arc<str>>,
    /// The name of the session in the lock, if it differs from the name in the row above; the
    /// sentence of a step over several ensembles.
    pub name: Option<Arc<str>>,
    /// The number of the row's root, counted from 1.
    pub root: usize,
    /// For each level, whether another row follows on it. The last level is the row's own.
    pub follows: Vec<bool>,
}

/// The identity of a row, which stays the same when rows move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitId {
    kind: std::mem::Discriminant<WaitKind>,
    session: Option<SessionId>,
    lock: Option<LockId>,
    root: Option<SessionId>,
    /// The number of the row among rows that are alike otherwise.
    again: u32,
}

/// The wait-for graph as rows: cycles first, then the sessions that block others, the worst first.
#[derive(Clone, Debug, Default)]
pub struct WaitRows {
    waits: Waits,
    rows: Vec<WaitRow>,
    ids: Vec<WaitId>,
    ranks: FxHashMap<WaitId, usize>,
}

impl WaitRows {
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Whether a session takes part in a cycle.
    pub fn is_in_cycle(&self, session: Option<SessionId>) -> bool {
        self.waits.cycles().iter().flatten().any(|wait| Some(wait.waiter) == session)
    }

    pub fn row(&self, rank: usize) -> Option<&WaitRow> {
        self.rows.get(rank)
    }

    /// Rebuilds the rows. Linear in the number of contenders, so this runs once a second, and only
    /// while the graph is shown.
    pub fn draw(&mut self, table_at: TableAt<'_>) {
        self.waits = Waits::of(table_at.table());
        let mut drawing = WaitRowsBuilder::new(table_at);
        for (number, cycle) in self.waits.cycles().iter().enumerate() {
            drawing.cycle_of.extend(cycle.iter().map(|wait| (wait.waiter, number)));
        }
        for (cycle, held) in standing_cross_cycles(table_at) {
            drawing.cross_cycle(cycle, held.first().map(|(lock, _)| lock.id()));
        }
        for cycle in self.waits.cycles() {
            drawing.cycle(cycle);
        }
        for wait in self.waits.self_blocked() {
            drawing.self_blocked(wait);
        }
        for blocker in self.waits.blockers() {
            drawing.blocker(blocker);
        }
        self.rows = drawing.rows;
        self.identify();
    }

    fn identify(&mut self) {
        let mut root = None;
        let mut alike: FxHashMap<WaitId, u32> = FxHashMap::default();
        self.ids.clear();
        self.ranks.clear();
        for (rank, row) in self.rows.iter().enumerate() {
            if row.follows.is_empty() {
                root = row.session;
            }
            let kind = std::mem::discriminant(&row.kind);
            let mut id = WaitId { kind, session: row.session, lock: row.lock, root, again: 0 };
            let again = alike.entry(id).or_default();
            id.again = *again;
            *again += 1;
            self.ids.push(id);
            self.ranks.insert(id, rank);
        }
    }
}

impl Rows<WaitId> for WaitRows {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn rank(&self, id: &WaitId) -> Option<usize> {
        self.ranks.get(id).copied()
    }

    fn id(&self, rank: usize) -> Option<WaitId> {
        self.ids.get(rank).copied()
    }
}

/// A waiting session and its node; `None` for a single-node lock, whose waiters have no nodes.
type Waiter = (SessionId, Option<Arc<str>>);

struct WaitRowsBuilder<'a> {
    table_at: TableAt<'a>,
    /// The locks that each session holds and others wait for.
    held: FxHashMap<SessionId, Vec<LockId>>,
    /// The locks that are already drawn, with their holder.
    drawn: FxHashSet<(SessionId, LockId)>,
    /// The number of the cycle that a session is in.
    cycle_of: FxHashMap<SessionId, usize>,
    rows: Vec<WaitRow>,
    root: usize,
}

impl<'a> WaitRowsBuilder<'a> {
    fn new(table_at: TableAt<'a>) -> Self {
        let mut held: FxHashMap<SessionId, Vec<LockId>> = FxHashMap::default();
        for lock in table_at.table().locks() {
            let waited = match lock.kind() {
                LockKind::SingleNode => table_at.waiters(lock).is_some_and(|watchers| !watchers.sessions.is_empty()),
                _ => lock.waiting() > 0,
            };
            if waited {
                for session in lock.rows(0..lock.holding()).filter_map(|row| row.contender.session()) {
                    held.entry(session).or_default().push(lock.id());
                }
            }
        }
        let (drawn, cycle_of) = (FxHashSet::default(), FxHashMap::default());
        Self { table_at, held, drawn, cycle_of, rows: Vec::new(), root: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= MAX_WAIT_ROWS
    }

    fn push(&mut self, kind: WaitKind, session: Option<SessionId>, lock: Option<LockId>, follows: &[bool]) {
        let root = self.root;
        if self.rows.len() < MAX_WAIT_ROWS {
            self.rows.push(WaitRow { kind, session, lock, node: None, name: None, root, follows: follows.to_vec() });
        } else if self.rows.len() == MAX_WAIT_ROWS {
            let (session, lock, node, name) = (None, None, None, None);
            self.rows.push(WaitRow { kind: WaitKind::Cut, session, lock, node, name, root, follows: Vec::new() });
        }
    }

    fn push_waiter(&mut self, kind: WaitKind, waiter: Waiter, lock: LockId, follows: &[bool]) {
        let (session, node) = waiter;
        self.push(kind, Some(session), Some(lock), follows);
        if let Some(row) = self.rows.last_mut().filter(|row| row.session == Some(session)) {
            row.node = node;
        }
    }

    fn cycle(&mut self, cycle: &Cycle) {
        self.root += 1;
        let first = cycle.first();
        self.push(WaitKind::Cycle(cycle.len()), first.map(|wait| wait.waiter), first.map(|wait| wait.lock), &[]);
        let mut before = cycle.last();
        for (at, wait) in cycle.iter().enumerate() {
            let follows = at + 1 < cycle.len();
            let holds = before.map_or(wait.lock, |before| before.lock);
            let kind = WaitKind::InCircle { next: wait.blocker, holds, is_first: at == 0 };
            self.push(kind, Some(wait.waiter), Some(wait.lock), &[follows]);
            before = Some(wait);
        }
    }

    fn cross_cycle(&mut self, cycle: &CrossCycle, lock: Option<LockId>) {
        self.root += 1;
        self.push(WaitKind::CrossCycle(cycle.steps.len(), cycle.same), None, lock, &[]);
        for (at, step) in cycle.steps.iter().enumerate() {
            self.push(WaitKind::CrossStep { is_first: at == 0 }, None, lock, &[at + 1 < cycle.steps.len()]);
            if let Some(row) = self.rows.last_mut().filter(|row| matches!(row.kind, WaitKind::CrossStep { .. })) {
                row.name = Some(describe_cross_step(step).into());
            }
        }
    }

    fn self_blocked(&mut self, wait: &Wait) {
        self.root += 1;
        self.push(WaitKind::SelfBlocked, Some(wait.waiter), Some(wait.lock), &[]);
    }

    fn blocker(&mut self, blocker: &Blocker) {
        if self.is_full() {
            return;
        }
        self.root += 1;
        let kind = WaitKind::Blocker(blocker.holds_up, blocker.at_least);
        self.push(kind, Some(blocker.session), blocker.locks.first().copied(), &[]);
        let name = blocker.locks.first().and_then(|lock| self.name_of_holder(*lock, blocker.session));
        self.locks(blocker.session, name.as_ref(), &mut Vec::new());
    }

    fn name_of_holder(&self, lock: LockId, session: SessionId) -> Option<Arc<str>> {
        self.table_at.table().identity_of_holder(lock, session).shown_name().map(Arc::from)
    }

    /// Adds the locks that a session holds, and their waiters. `named` is the session's name in the
    /// row above.
    fn locks(&mut self, session: SessionId, named: Option<&Arc<str>>, follows: &mut Vec<bool>) {
        if follows.len() >= MAX_DEPTH || self.is_full() {
            return;
        }
        let locks = self.held.get(&session).cloned().unwrap_or_default();
        let fresh: Vec<_> = locks.into_iter().filter(|lock| self.drawn.insert((session, *lock))).collect();
        for (at, lock) in fresh.iter().enumerate() {
            if let Some(queue) = self.table_at.table().lock(*lock) {
                follows.push(at + 1 < fresh.len());
                self.waiters(session, named, queue, follows);
                follows.pop();
            }
        }
    }

    fn waiters(&mut self, holder: SessionId, named: Option<&Arc<str>>, lock: &LockQueue, follows: &mut Vec<bool>) {
        let waiting: Vec<Waiter> = if lock.kind() == LockKind::SingleNode {
            let watchers = self.table_at.waiters(lock).map(|watchers| watchers.sessions).unwrap_or_default();
            watchers.into_iter().map(|session| (session, None)).collect()
        } else {
            let rows = lock.rows(lock.holding()..lock.len()).filter(|row| row.state == ContenderState::Waits);
            let waiters = rows.filter_map(|row| Some((row.contender.session()?, Some(row.contender.node.clone()))));
            waiters.filter(|(session, _)| *session != holder).collect()
        };
        self.push(WaitKind::Lock(waiting.len()), Some(holder), Some(lock.id()), follows);
        let name = self.name_of_holder(lock.id(), holder).filter(|name| named != Some(name));
        if let Some(row) = self.rows.last_mut().filter(|row| matches!(row.kind, WaitKind::Lock(_))) {
            row.name = name;
        }
        let (through, leaves): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(session, _)| self.held.contains_key(session));
        let more = leaves.len().saturating_sub(MAX_WAITERS_NAMED);
        let last = through.len() + leaves.len().min(MAX_WAITERS_NAMED) + usize::from(more > 0);
        let mut at = 0;
        for waiter in through {
            let session = waiter.0;
            let client = match &waiter.1 {
                Some(node) => self.table_at.table().identity_at(lock.id(), node, session),
                None => self.table_at.table().clients().identity(session),
            };
            let named = client.telling_name().map(Arc::from);
            at += 1;
            if self.is_full() {
                break;
            }
            follows.push(at < last);
            // The ring is drawn once, as a cycle.
            let in_ring = self.cycle_of.get(&session).is_some_and(|cycle| self.cycle_of.get(&holder) == Some(cycle));
            let fresh = !in_ring
                && self
                    .held
                    .get(&session)
                    .is_some_and(|locks| locks.iter().any(|lock| !self.drawn.contains(&(session, *lock))));
            self.push_waiter(WaitKind::Through(fresh), waiter, lock.id(), follows);
            if fresh {
                self.locks(session, named.as_ref(), follows);
            }
            follows.pop();
        }
        for waiter in leaves.into_iter().take(MAX_WAITERS_NAMED) {
            at += 1;
            follows.push(at < last);
            self.push_waiter(WaitKind::Waiter, waiter, lock.id(), follows);
            follows.pop();
        }
        if more > 0 {
            follows.push(false);
            self.push(WaitKind::More(more), None, Some(lock.id()), follows);
            follows.pop();
        }
    }
}
