//! The picture of the open lock's queue, drawn from its nodes and from the watches that the servers
//! report. The picture has no moving watch events, because the events delivered to other programs'
//! clients are unknown.

use super::{App, Cursor, ListScreen, Queue, QueueRow, Screen};
use crate::tui::picture::{LineState, PictureRow, QueuePicture, RowId, RowState, RowTrouble, WatchLine};
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::{Sequence, SessionId};
use lockscope_lock::Access;
use lockscope_model::diagnose::{Facts, OwnerState, WatchTarget};
use lockscope_model::queue::{ContenderState, LockQueue};

impl App {
    /// Whether Queue shows its picture in place of the list.
    pub fn shows_queue_picture(&self) -> bool {
        self.navigation.screen == Screen::Queue
            && self.slow_motion().wants_queue_picture()
            && self.world().open_lock().is_some_and(|lock| !lock.is_empty())
    }

    /// The first `most` contenders of the open queue, ignoring the filter. Linear in `most`.
    pub fn queue_picture(&self, most: usize) -> QueuePicture {
        let Some(lock) = self.world().open_lock() else { return QueuePicture::default() };
        let most = most.min(QueuePicture::MAX_ROWS);
        let contenders: Vec<QueueRow<'_>> =
            (0..lock.len().min(most)).filter_map(|position| self.queue_row_at(lock, position)).collect();
        let mut rows = Vec::new();
        if contenders.iter().any(|shown| shown.facts.watching == WatchTarget::Parent) {
            rows.push(parent_row(lock));
        }
        rows.extend(contenders.iter().map(|shown| contender_row(lock, shown)));
        let watchers = self.world().table_at(self.now()).waiters(lock).map(|watchers| watchers.sessions);
        let watchers = watchers.unwrap_or_default();
        let room = most.saturating_sub(rows.len());
        rows.extend(watchers.iter().take(room).enumerate().map(|(at, session)| watcher_row(at, *session)));
        let hidden = lock.len().saturating_sub(contenders.len()) + watchers.len().saturating_sub(room);
        QueuePicture { rows, hidden, ..QueuePicture::default() }
    }

    fn queue_row_at<'a>(&'a self, lock: &'a LockQueue, position: usize) -> Option<QueueRow<'a>> {
        Some(Queue::known(self, lock, lock.row(position)?))
    }

    /// The session of a row of the picture; `None` when the row has none.
    pub fn session_in_picture(&self, id: RowId) -> Option<SessionId> {
        let RowId::Client(number) = id else { return None };
        let lock = self.world().open_lock()?;
        match usize::try_from(number).ok()? {
            at if at >= WATCHERS_FROM => {
                self.world().table_at(self.now()).waiters(lock)?.sessions.get(at - WATCHERS_FROM).copied()
            }
            position => lock.row(position)?.contender.session(),
        }
    }

    /// The row of the selected contender.
    pub fn selected_in_picture(&self) -> Option<RowId> {
        let cursor: &Cursor<_> = Queue.cursor(self);
        let node = cursor.selected(&self.world().queue_rows())?;
        let (_, position) = self.world().table().position(&node)?;
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
fn lines(lock: &LockQueue, facts: &Facts<'_>, row: &PictureRow) -> Vec<WatchLine> {
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
