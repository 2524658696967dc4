//! Queries the tables of a recording: holds and waits, when, how long, and how they ended.
//!
//! One pass over the requested rows counts them, ranks locks and clients, and takes the
//! percentiles. Only the listed rows are then read completely.
//!
//! # How percentiles are taken
//!
//! Percentiles cover the exactly known lengths of contenders that ended or acquired: p90 is the
//! smallest length that nine of ten do not exceed (the nearest rank). Lengths that are known only
//! by bounds, or that still grow, are counted and not guessed.

mod attempts;
mod ensemble;
mod facts;
mod halves;
mod last_leader;
mod lines;
mod many;
mod percentiles;
mod ranking;
mod rows;
mod scan;
mod storms;
#[cfg(test)]
mod tests;
mod unrecorded;
mod window;

use rusqlite::Connection;

pub use attempts::PastAttempts;
pub use ensemble::PastEnsembleEvent;
pub use facts::HistoryFacts;
pub use lines::lines;
pub use many::{Histories, HistoriesFacts, RecordedEnsemble, clock_sentence, write_lines};
pub use percentiles::Percentiles;
pub use ranking::{RankBy, RankedClient, RankedLock, Ranking};
pub use rows::{PastContender, PastDeletion, PastFinding, PastGap};
pub use storms::Storm;
pub use window::PastWindow;

use crate::record::store::{Store, StoreError};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// Returns all gaps, oldest first.
pub(super) fn gaps(connection: &Connection) -> rusqlite::Result<Vec<PastGap>> {
    rows::gaps(connection, None, None)
}

/// The order of the listed contenders, which also selects them when not all are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// In the order in which they were first seen; selects the last ones.
    #[default]
    Time,
    /// By the certain length of the hold or wait, whichever is longer; selects the longest, longest
    /// first.
    Worst,
}

/// The filter and order of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only contenders of this lock, in all queues of the path.
    pub lock: Option<ZnodePath>,
    /// Only contenders of this session.
    pub session: Option<SessionId>,
    /// Only contenders of clients with this name or address, with or without its port.
    pub client: Option<String>,
    /// Only contenders that were present at this time or later; `None`: from the beginning.
    pub from: Option<Timestamp>,
    /// Only contenders that came by this time; `None`: up to the end.
    pub to: Option<Timestamp>,
    /// Only contenders with one of these ends; empty: any end.
    pub ends: Vec<ContenderEnd>,
    /// Only contenders that held for at least this long, or may have, in milliseconds.
    pub min_hold_ms: Option<u64>,
    /// Only contenders that waited for at least this long, or may have, in milliseconds.
    pub min_wait_ms: Option<u64>,
    /// The most listed contenders.
    pub limit: usize,
    /// The order of the list, and which contenders it has.
    pub order: ListOrder,
    /// The order of the ranking of locks and clients; `None`: no ranking.
    pub rank_by: Option<RankBy>,
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The beginning of the requested or recorded time.
    pub from: Option<Timestamp>,
    /// The end of the requested or recorded time.
    pub to: Option<Timestamp>,
    /// The time up to which the tables contain everything that was seen.
    pub recorded_until: Option<Timestamp>,
    /// The order of the lists.
    pub order: ListOrder,
    /// The contenders that held.
    pub holds: Vec<PastContender>,
    /// The contenders that never held, or do not hold yet.
    pub waits: Vec<PastContender>,
    /// The number of holds, including those that are not listed.
    pub hold_count: usize,
    /// The number of waits, including those that are not listed.
    pub wait_count: usize,
    /// The lengths of holds, in milliseconds.
    pub hold_ms: Percentiles,
    /// The waits of contenders that acquired, in milliseconds.
    pub wait_ms: Percentiles,
    /// The attempts in vain by lock and session, the most frequent first.
    pub attempts: Vec<PastAttempts>,
    /// Very many requests in vain within seconds, the largest first.
    pub storms: Vec<Storm>,
    /// The gaps, in which nothing was seen.
    pub gaps: Vec<PastGap>,
    /// What happened to the ensemble as a whole, the earliest first.
    pub ensemble: Vec<PastEnsembleEvent>,
    /// The highest-ranked locks and clients.
    pub ranking: Option<Ranking>,
}

impl History {
    /// Reads the history. Blocks the thread during disk access.
    pub fn read(store: &mut Store, query: &HistoryQuery) -> Result<Self, StoreError> {
        let second = if scan::is_of_all(query) { Store::open(store.path()).ok() } else { None };
        store.sql(|connection| {
            let mut history = Self::with_second_connection(connection, second, query)?;
            unrecorded::add(connection, query.from, query.to, &mut history.gaps)?;
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
        // One transaction, so that all rows are from the same state even during recording.
        let transaction = connection.transaction()?;
        let (began, until) = rows::recorded(&transaction)?;
        let (from, to) = (query.from.or(began), query.to.or(until));
        let mut found = match second {
            Some(second) => halves::scan(&transaction, second, query, until)?,
            None => scan::scan(&transaction, query, until)?,
        };
        let listed = found.listed(query.limit);
        let (mut holds, mut waits) = (Vec::new(), Vec::new());
        for contender in rows::contenders(&transaction, &listed, until)? {
            if contender.acquired.is_some() { holds.push(contender) } else { waits.push(contender) }
        }
        let attempts = attempts::of_query(&transaction, query)?;
        let storms = found.in_vain.storms(&transaction, &attempts::rows_of(&transaction, query)?)?;
        if query.rank_by.is_some() {
            for (lock, client, count) in attempts::sums(&transaction, query)? {
                found.tried_in_vain(lock, client, count);
            }
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
            attempts,
            storms,
            gaps: rows::gaps(&transaction, query.from, query.to)?,
            ensemble: ensemble::events(&transaction, query.from, query.to, ensemble::MAX_EVENTS)?,
            ranking,
        })
    }
}
