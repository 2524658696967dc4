//! The rows of Sessions: who holds and who waits, in an order.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::cursor::Rows;
use super::filter::Filter;
use crate::diagnose::{OwnerState, TableAt, WatchTarget};
use crate::queue::{ContenderState, LockId};
use crate::recipe::LockKind;
use crate::znode::{SessionId, Timestamp, ZnodePath};

/// A session that holds a lock or waits for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Which.
    pub session: SessionId,
    /// When its oldest node came, by this machine's clock.
    pub since: Timestamp,
    /// The locks that it holds, in the order of their paths.
    pub holds: Vec<LockId>,
    /// The locks that it waits for, in the order of their paths, each with its node; without one where the waiters are not in
    /// the tree (single node).
    pub awaits: Vec<(LockId, Option<ZnodePath>)>,
}

/// How a session waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStyle {
    /// It watches the node before its own.
    Chain,
    /// It watches what every other waiter watches.
    Herd,
    /// It watches nothing.
    Nothing,
    /// The servers did not tell.
    Unknown,
}

impl WaitStyle {
    /// The name on the screen and in exports.
    pub fn id(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Herd => "herd",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// Nodes of one session that are looked at for its style.
const MAX_NODES_FOR_STYLE: usize = 4;

impl SessionRow {
    /// How it waits; `None` when it does not.
    pub fn style(&self, table_at: TableAt<'_>) -> Option<WaitStyle> {
        let mut found = None;
        for (lock, node) in self.awaits.iter().take(MAX_NODES_FOR_STYLE) {
            let Some(node) = node else { return Some(WaitStyle::Herd) };
            let Some((queue, row)) = table_at.table().lock(*lock).zip(table_at.table().position(node)).and_then(
                |(queue, (id, position))| (id == *lock).then(|| queue.row(position).map(|row| (queue, row))).flatten(),
            ) else {
                continue;
            };
            match table_at.facts(queue, &row).watching {
                WatchTarget::Predecessor => return Some(WaitStyle::Chain),
                WatchTarget::Parent => return Some(WaitStyle::Herd),
                WatchTarget::Nothing => found = Some(WaitStyle::Nothing),
                WatchTarget::Unknown => found = found.or(Some(WaitStyle::Unknown)),
            }
        }
        found
    }
}

/// A column of Sessions that it can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionOrder {
    /// Those that do not live first, then those with the most locks.
    #[default]
    Liveness,
    /// Who holds most first.
    Holds,
    /// Who waits for most first.
    Waits,
    /// By the client's address; unknown ones last.
    Client,
    /// Who was heard of longest ago first.
    Heard,
    /// By the id.
    Session,
}

/// The sessions that hold or wait, as of the last second in which they were looked at.
#[derive(Clone, Debug, Default)]
pub struct SessionRows {
    by: SessionOrder,
    reversed: bool,
    filter: Filter,
    all: usize,
    rows: Vec<SessionRow>,
    ranks: FxHashMap<SessionId, usize>,
}

impl SessionRows {
    /// The column that it is sorted by.
    pub fn by(&self) -> SessionOrder {
        self.by
    }

    /// Whether the order is turned around.
    pub fn reversed(&self) -> bool {
        self.reversed
    }

    /// What a session must contain.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// How many there are, whether they pass the filter or not.
    pub fn all(&self) -> usize {
        self.all
    }

    /// The one at a place.
    pub fn row(&self, rank: usize) -> Option<&SessionRow> {
        self.rows.get(rank)
    }

    /// Every one that passes the filter, in order.
    pub fn rows(&self) -> &[SessionRow] {
        &self.rows
    }

    /// Chooses another order; [`list`](Self::list) makes it.
    pub fn sort(&mut self, by: SessionOrder, reversed: bool) {
        (self.by, self.reversed) = (by, reversed);
    }

    /// Chooses another filter; [`list`](Self::list) applies it.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Lists them anew. Work follows the number of contenders, so it is done once a second and only while they are shown.
    pub fn list(&mut self, table_at: TableAt<'_>) {
        let found = found(table_at);
        self.all = found.len();
        self.rows = found.into_values().filter(|row| self.takes(row, table_at)).collect();
        let by = self.by;
        self.rows.sort_by_cached_key(|row| (key(by, row, table_at), row.session.0.cast_unsigned()));
        if self.reversed {
            self.rows.reverse();
        }
        self.ranks = self.rows.iter().enumerate().map(|(rank, row)| (row.session, rank)).collect();
    }

    fn takes(&self, row: &SessionRow, table_at: TableAt<'_>) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let locks = row.holds.iter().chain(row.awaits.iter().map(|(lock, _)| lock));
        let mut paths = locks.filter_map(|id| table_at.table().lock(*id)).map(|lock| lock.path().as_str());
        let client = table_at.view().connection_of(row.session).map(|(_, connection)| connection.client.as_str());
        self.filter.takes_session(row.session)
            || client.is_some_and(|client| self.filter.is_in(client))
            || paths.any(|path| self.filter.is_in(path))
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

/// Every session that holds or waits.
fn found(table_at: TableAt<'_>) -> FxHashMap<SessionId, SessionRow> {
    let mut found: FxHashMap<SessionId, SessionRow> = FxHashMap::default();
    let table = table_at.table();
    for lock in table.locks() {
        for row in lock.rows(0..lock.len()) {
            let Some(session) = row.contender.session else { continue };
            let since = row.contender.contends_since(table.clock_ahead_ms());
            let entry = entry(&mut found, session, since);
            if row.state == ContenderState::Holds {
                entry.holds.push(lock.id());
            } else {
                entry.awaits.push((lock.id(), Some(lock.path_of(row.contender))));
            }
        }
        if lock.kind() == LockKind::SingleNode {
            for session in table_at.waiters(lock).into_iter().flat_map(|watchers| watchers.sessions) {
                entry(&mut found, session, table_at.now()).awaits.push((lock.id(), None));
            }
        }
    }
    found
}

fn entry(found: &mut FxHashMap<SessionId, SessionRow>, session: SessionId, since: Timestamp) -> &mut SessionRow {
    let empty = || SessionRow { session, since, holds: Vec::new(), awaits: Vec::new() };
    let row = found.entry(session).or_insert_with(empty);
    row.since = row.since.min(since);
    row
}

/// Small ones come first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SessionSortKey(i64, Option<Reverse<usize>>, String);

fn key(by: SessionOrder, row: &SessionRow, table_at: TableAt<'_>) -> SessionSortKey {
    let most = |count: usize| SessionSortKey(0, Some(Reverse(count)), String::new());
    let connection = || table_at.view().connection_of(row.session).map(|(_, connection)| connection);
    match by {
        SessionOrder::Liveness => {
            let danger = match table_at.owner_state(row.session, row.since).0 {
                OwnerState::Ghost => 0,
                OwnerState::Expiring => 1,
                OwnerState::Ownerless | OwnerState::Unknown | OwnerState::Live => 2,
            };
            SessionSortKey(danger, Some(Reverse(row.holds.len() + row.awaits.len())), String::new())
        }
        SessionOrder::Holds => most(row.holds.len()),
        SessionOrder::Waits => most(row.awaits.len()),
        SessionOrder::Client => match connection() {
            Some(connection) => SessionSortKey(0, None, connection.client.clone()),
            None => SessionSortKey(1, None, String::new()),
        },
        SessionOrder::Heard => {
            let heard = connection().and_then(|connection| connection.last_heard);
            SessionSortKey(heard.map_or(i64::MAX, |heard| heard.0), None, String::new())
        }
        SessionOrder::Session => SessionSortKey(0, None, String::new()),
    }
}
