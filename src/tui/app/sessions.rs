//! The rows of Sessions: who holds and who waits, in an order.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::cursor::Rows;
use super::filter::Filter;
use crate::diagnose::{OwnerState, SessionLocks, TableAt, session_locks};
use crate::queue::ClientIdentity;
use crate::znode::SessionId;

/// A column of Sessions that it can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionOrder {
    /// Those that do not live first, then those with the most locks.
    #[default]
    Liveness,
    Holds,
    Waits,
    /// By what the client is called, else by its address; unknown ones last.
    Client,
    /// Who was heard of longest ago first.
    Heard,
    Session,
}

/// The sessions that hold or wait, as of the last second in which they were looked at.
#[derive(Clone, Debug, Default)]
pub struct SessionRows {
    by: SessionOrder,
    reversed: bool,
    filter: Filter,
    all: usize,
    rows: Vec<SessionLocks>,
    ranks: FxHashMap<SessionId, usize>,
}

impl SessionRows {
    pub fn by(&self) -> SessionOrder {
        self.by
    }

    pub fn reversed(&self) -> bool {
        self.reversed
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// How many there are, whether they pass the filter or not.
    pub fn all(&self) -> usize {
        self.all
    }

    pub fn row(&self, rank: usize) -> Option<&SessionLocks> {
        self.rows.get(rank)
    }

    /// Every one that passes the filter, in order.
    pub fn rows(&self) -> &[SessionLocks] {
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
        let found = session_locks(table_at);
        self.all = found.len();
        self.rows = found.into_values().filter(|row| self.takes(row, table_at)).collect();
        let by = self.by;
        self.rows.sort_by_cached_key(|row| (key(by, row, table_at), row.session.0.cast_unsigned()));
        if self.reversed {
            self.rows.reverse();
        }
        self.ranks = self.rows.iter().enumerate().map(|(rank, row)| (row.session, rank)).collect();
    }

    fn takes(&self, row: &SessionLocks, table_at: TableAt<'_>) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let locks = row.holds.iter().chain(row.awaits.iter().map(|(lock, _)| lock));
        let mut paths = locks.filter_map(|id| table_at.table().lock(*id)).map(|lock| lock.path().as_str());
        self.filter.takes_session(row.session)
            || self.filter.is_in_client(&table_at.table().identity(row.session))
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

/// Small ones come first.
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
        SessionOrder::Client => match table_at.table().identity(row.session) {
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
