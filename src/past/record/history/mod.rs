//! What the tables of a recording say of the past: who held and waited, when, for how long, and how it ended.
//!
//! One pass over the rows that were asked for counts them, ranks locks and clients and takes the percentiles; then only those rows are
//! read whole that are listed.
//!
//! # How percentiles are taken
//!
//! Of the lengths that are known exactly, of those that ended or acquired: p90 is the smallest one that is not exceeded by nine of ten (the
//! nearest rank). What is only known by bounds, or still goes on, is counted and not guessed.

mod facts;
mod halves;
mod lines;
mod percentiles;
mod ranking;
mod rows;
mod scan;
#[cfg(test)]
mod tests;
mod unrecorded;
mod window;

use rusqlite::Connection;

pub use facts::HistoryFacts;
pub use lines::lines;
pub use percentiles::Percentiles;
pub use ranking::{RankBy, RankedClient, RankedLock, Ranking};
pub use rows::{PastContender, PastDeletion, PastFinding, PastGap};
pub use window::PastWindow;

use crate::record::store::{Store, StoreError};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// All gaps, oldest first.
pub(super) fn gaps(connection: &Connection) -> rusqlite::Result<Vec<PastGap>> {
    rows::gaps(connection, None, None)
}

/// In which order contenders are listed, and which where not all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// In the order in which they were first seen: the last ones.
    #[default]
    Time,
    /// By how long they held or waited, whichever is longer, as far as is certain: the longest,
    /// first of all.
    Worst,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only of this lock; of all queues of that path.
    pub lock: Option<ZnodePath>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of clients with this name or address, with or without its port.
    pub client: Option<String>,
    /// Only what still stood then; `None`: from the beginning.
    pub from: Option<Timestamp>,
    /// Only what had begun then; `None`: up to the end.
    pub to: Option<Timestamp>,
    /// Only those that ended so; empty: whatever their end.
    pub ends: Vec<ContenderEnd>,
    /// Only those that held for this long or longer, or may have, in milliseconds.
    pub min_hold_ms: Option<u64>,
    /// Only those that waited for this long or longer, or may have, in milliseconds.
    pub min_wait_ms: Option<u64>,
    /// The most contenders that are listed.
    pub limit: usize,
    /// Which are listed, and in which order.
    pub order: ListOrder,
    /// By what locks and clients are ranked; `None`: not at all.
    pub rank_by: Option<RankBy>,
}

/// What the tables say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The time that was asked for, or that is recorded.
    pub from: Option<Timestamp>,
    /// The same.
    pub to: Option<Timestamp>,
    /// Up to when everything that was seen is in the tables.
    pub recorded_until: Option<Timestamp>,
    /// In which order they are listed.
    pub order: ListOrder,
    /// Those that held.
    pub holds: Vec<PastContender>,
    /// Those that never held, or do not yet.
    pub waits: Vec<PastContender>,
    /// How many holds there are, those that are not listed among them.
    pub hold_count: usize,
    /// The same of waits.
    pub wait_count: usize,
    /// The lengths of holds, in milliseconds.
    pub hold_ms: Percentiles,
    /// For how long those waited who acquired, in milliseconds.
    pub wait_ms: Percentiles,
    /// When nothing was seen.
    pub gaps: Vec<PastGap>,
    /// Locks and clients by rank, the first ones.
    pub ranking: Option<Ranking>,
}

impl History {
    /// Reads it. Blocks the thread as long as the disk does.
    pub fn read(store: &mut Store, query: &HistoryQuery) -> Result<Self, StoreError> {
        let second = if scan::is_of_all(query) { Store::open(store.path()).ok() } else { None };
        store.sql(|connection| {
            let mut history = Self::with_second_connection(connection, second, query)?;
            unrecorded::add(connection, (query.from, query.to), &mut history.gaps)?;
            Ok(history)
        })
    }

    #[cfg(test)]
    pub(in crate::record) fn from_tables(connection: &mut Connection, query: &HistoryQuery) -> rusqlite::Result<Self> {
        Self::with_second_connection(connection, None, query)
    }

    fn with_second_connection(
        connection: &mut Connection,
        second: Option<Store>,
        query: &HistoryQuery,
    ) -> rusqlite::Result<Self> {
        // All of it is of one moment, also while somebody records.
        let transaction = connection.transaction()?;
        let (began, until) = rows::recorded(&transaction)?;
        let (from, to) = (query.from.or(began), query.to.or(until));
        let found = match second {
            Some(second) => halves::scan(&transaction, second, query, until)?,
            None => scan::scan(&transaction, query, until)?,
        };
        let listed = found.listed(query.limit);
        let (mut holds, mut waits) = (Vec::new(), Vec::new());
        for contender in rows::contenders(&transaction, &listed, until)? {
            if contender.acquired.is_some() { holds.push(contender) } else { waits.push(contender) }
        }
        let ranking = query.rank_by.map(|by| ranking::rank(&transaction, &found, by)).transpose()?;
        Ok(Self {
            from,
            to,
            recorded_until: until,
            order: query.order,
            holds,
            waits,
            hold_count: found.holds,
            wait_count: found.waits,
            hold_ms: Percentiles::of(found.hold_ms),
            wait_ms: Percentiles::of(found.wait_ms),
            gaps: rows::gaps(&transaction, query.from, query.to)?,
            ranking,
        })
    }
}
