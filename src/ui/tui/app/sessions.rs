//! The rows of Sessions: the sessions that hold or wait, in order.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::cursor::Rows;
use super::filter::Filter;
use super::list::{Directed, Sorting};
use lockscope_base::znode::SessionId;
use lockscope_model::diagnose::{OwnerState, SessionLocks, TableAt, WaitStyle, session_locks};
use lockscope_model::queue::ClientIdentity;
use lockscope_model::text::human::{countdown, duration};

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
