//! Queries the tables of a recording: holds and waits, when, how long, and how they ended.
//!
//! One pass over the requested rows counts them, ranks locks and clients by their costs, and takes
//! the percentiles. Only the listed rows are then read completely. A report takes everything in the
//! tables about a time range instead, as a `PastWindow`.
//!
//! # How percentiles are taken
//!
//! Percentiles cover the exactly known lengths of contenders that ended or acquired: p90 is the
//! smallest length that nine of ten do not exceed (the nearest rank). Lengths that are known only
//! by bounds, or that still grow, are counted and not guessed.

mod attempts;
mod cost;
mod facts;
mod lines;
pub(super) mod rows;
mod scan;

use std::cmp::Reverse;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::record::store::{Store, StoreError};
use crate::record::tables::{ContenderEnd, NOT_READ, RecordedDeletion, deletions};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath};
use scan::ScannedRows;

pub use crate::record::tables::{CoveredTime, PastContender};
pub use attempts::{PastAttempts, Storm};
pub use cost::{CountedTime, HolderCost, LockCost};
pub use facts::{CoverageFacts, HistoryFacts};
pub use lines::{Histories, HistoriesFacts, RecordedEnsemble, clock_sentence, lines, write_lines};
pub use rows::{PastEnsembleEvent, PastFinding, PastGap, PastMute};
pub use scan::Sums;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod percentiles_tests;

/// The order of the listed contenders, which also selects them when not all are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryOrder {
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
    pub order: HistoryOrder,
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
    pub order: HistoryOrder,
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
    /// What of the time is covered, the earliest first; `None` where the recording has too many gaps
    /// to tell.
    pub coverage: Option<Vec<CoveredTime>>,
    /// The gaps, in which nothing was seen: the rest of the time.
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
            history.coverage = rows::coverage(connection, query.from, query.to, &mut history.gaps)?;
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
            Some(second) => scan::scan_in_two_threads(&transaction, second, query, until)?,
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
        let gaps = rows::gaps(&transaction, query.from, query.to)?;
        let ranking = match query.rank_by {
            Some(RankBy::Cost) => Some(cost::rank(&transaction, query, [from, to, until], &gaps, &mut found)?),
            by => by.map(|by| rank(&transaction, &found, by)).transpose()?,
        };
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
            coverage: None,
            gaps,
            ensemble: rows::events(&transaction, query.from, query.to, rows::MAX_EVENTS)?,
            ranking,
        })
    }
}

/// The most contenders of a report; of more, the last ones are kept.
const MAX_CONTENDERS: usize = 200_000;

/// The most findings, events of the ensemble, and deletions, of a report.
const MAX_OTHERS: usize = 2_000;

/// A first reading that took longer is a gap that is worth to be told.
const MAX_FIRST_READING: Duration = Duration::from_secs(10);

/// The content of the tables for a time range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWindow {
    /// The beginning of the requested time, or of the recording.
    pub from: Timestamp,
    /// The end of the requested time, or the time up to which the tables are complete.
    pub to: Timestamp,
    /// The time up to which open contenders are known to be present.
    pub known_until: Timestamp,
    /// The contenders, in the order in which they were first seen.
    pub contenders: Vec<PastContender>,
    /// The number of earlier contenders that are left out.
    pub left_out: usize,
    /// What of the time is covered, the earliest first; `None` where the recording has too many gaps
    /// to tell.
    pub coverage: Option<Vec<CoveredTime>>,
    /// The gaps, in which nothing was seen: the rest of the time.
    pub gaps: Vec<PastGap>,
    /// The findings, in the order in which they were raised.
    pub findings: Vec<PastFinding>,
    /// What happened to the ensemble as a whole, the earliest first.
    pub ensemble: Vec<PastEnsembleEvent>,
    /// The deletions, in the order of time.
    pub deletions: Vec<RecordedDeletion>,
    /// The attempts in vain, in the order of time.
    pub attempts: Vec<PastAttempts>,
    /// Whether findings, events of the ensemble or deletions are left out.
    pub is_cut: bool,
}

impl PastWindow {
    /// Reads the window; `None` when nothing was recorded yet. Blocks the thread during disk
    /// access.
    pub fn read(store: &mut Store, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Option<Self>, StoreError> {
        store.sql(|connection| {
            let Some(mut window) = Self::from_tables(connection, from, to)? else { return Ok(None) };
            window.coverage = rows::coverage(connection, from, to, &mut window.gaps)?;
            if from.is_none() {
                window.skip_first_reading();
            }
            Ok(Some(window))
        })
    }

    /// Lets the window begin when everything had been read for the first time. Before that there was
    /// nothing to miss.
    fn skip_first_reading(&mut self) {
        let first = self.gaps.first().filter(|gap| gap.reason == NOT_READ && gap.from <= self.from);
        let read = first.and_then(|gap| gap.to).filter(|read| read.since(self.from) < MAX_FIRST_READING);
        if let Some(read) = read.filter(|read| *read <= self.to) {
            self.from = read;
            self.gaps.remove(0);
        }
    }

    fn from_tables(
        connection: &mut Connection,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> rusqlite::Result<Option<Self>> {
        let transaction = connection.transaction()?;
        let (Some(began), Some(until)) = rows::recorded(&transaction)? else { return Ok(None) };
        let from = from.unwrap_or(began);
        let to = to.unwrap_or(until).max(from);
        let query = HistoryQuery { from: Some(from), to: Some(to), ..HistoryQuery::default() };
        let found = scan::scan(&transaction, &query, Some(until))?;
        let ids = found.listed(MAX_CONTENDERS);
        let (mut findings, mut deletions) = (
            rows::findings(&transaction, from, to, MAX_OTHERS + 1)?,
            deletions(&transaction, TimeRange { from, to }, MAX_OTHERS + 1)?,
        );
        let mut events = rows::events(&transaction, Some(from), Some(to), MAX_OTHERS + 1)?;
        let is_cut = findings.len().max(deletions.len()).max(events.len()) > MAX_OTHERS;
        events.truncate(MAX_OTHERS);
        findings.truncate(MAX_OTHERS);
        deletions.truncate(MAX_OTHERS);
        Ok(Some(Self {
            from,
            to,
            known_until: until.min(to),
            contenders: rows::contenders(&transaction, &ids, Some(until))?,
            left_out: (found.holds + found.waits).saturating_sub(ids.len()),
            coverage: None,
            gaps: rows::gaps(&transaction, Some(from), Some(to))?,
            findings,
            ensemble: events,
            deletions,
            attempts: attempts::rows_of(&transaction, &query)?,
            is_cut,
        }))
    }
}

/// The most locks, and the most clients, in a ranking.
const MAX_RANKED: usize = 20;

/// The order of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// By the sum of all waits.
    Wait,
    /// By the sum of all holds.
    Hold,
    /// By the number of acquisitions.
    Handovers,
    /// By the number of requests in vain.
    InVain,
    /// By how long others waited: for the lock, or while the client held.
    Cost,
}

impl RankBy {
    fn value(self, sums: &Sums) -> u128 {
        let value = match self {
            Self::Wait => sums.waited_ms,
            Self::Hold => sums.held_ms,
            Self::Handovers => sums.handovers,
            Self::InVain => sums.in_vain,
            Self::Cost => return sums.waiter_seconds.unwrap_or_default().0.as_micros(),
        };
        value.into()
    }
}

/// A ranking of locks and clients, highest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The order of the ranking.
    pub by: RankBy,
    /// The highest-ranked locks.
    pub locks: Vec<RankedLock>,
    /// The number of all locks.
    pub lock_count: usize,
    /// The highest-ranked clients.
    pub clients: Vec<RankedClient>,
    /// The number of all clients.
    pub client_count: usize,
    /// The holds for which others waited longest, with that cost, if it is asked for.
    pub holders: Vec<(PastContender, HolderCost)>,
    /// How much of the time counts for the cost.
    pub counted: Option<Duration>,
}

/// The sums of a lock's contenders within the requested time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankedLock {
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// What its contenders add up to.
    #[serde(flatten)]
    pub sums: Sums,
}

/// The sums of a client's contenders within the requested time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankedClient {
    /// The address of the client; the latest, if there were several.
    pub client: Option<String>,
    /// The name of the client in its nodes.
    pub client_name: Option<String>,
    /// The number of addresses: the client has another port after each reconnect.
    pub addresses: usize,
    /// What its contenders add up to.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Returns the highest-ranked locks and clients, with their names.
fn rank(connection: &Connection, found: &ScannedRows, by: RankBy) -> rusqlite::Result<Ranking> {
    let mut locks = Vec::new();
    for (id, sums) in first(by_id(&found.locks), by, |(_, sums)| *sums) {
        let named = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let named = connection.query_row("SELECT path, name FROM lock WHERE id = ?1", [id], named).optional()?;
        let Some((lock, name)) = named else { continue };
        locks.push(RankedLock { lock, name, sums });
    }
    let all = known_clients(connection, found)?;
    let client_count = all.len();
    let clients = first(all, by, |client| client.sums);
    let lock_count = found.locks.len();
    Ok(Ranking { by, locks, lock_count, clients, client_count, holders: Vec::new(), counted: None })
}

/// Returns the clients that were found. A client that reconnects has another session and another
/// port, so clients with the same host and name are one client. Clients without a name stay
/// separate.
fn known_clients(connection: &Connection, found: &ScannedRows) -> rusqlite::Result<Vec<RankedClient>> {
    let mut statement = connection.prepare("SELECT address, name FROM client WHERE id = ?1")?;
    let mut ids: Vec<i64> = found.clients.keys().copied().collect();
    ids.sort_unstable();
    let mut clients: Vec<RankedClient> = Vec::new();
    let mut places: FxHashMap<(String, String), usize> = FxHashMap::default();
    for id in ids {
        let named = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?));
        let Some((address, name)) = statement.query_row([id], named).optional()? else { continue };
        let sums = found.clients.get(&id).copied().unwrap_or_default();
        let key = address.as_deref().map(host).map(str::to_owned).zip(name.clone());
        if let Some(known) = key.as_ref().and_then(|key| places.get(key)).and_then(|place| clients.get_mut(*place)) {
            known.sums.append(sums);
            (known.client, known.addresses) = (address, known.addresses + 1);
            continue;
        }
        places.extend(key.map(|key| (key, clients.len())));
        clients.push(RankedClient {
            addresses: usize::from(address.is_some()),
            client: address,
            client_name: name,
            sums,
        });
    }
    Ok(clients)
}

/// Returns an address without its port.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// Returns the sums in the order of the rows.
fn by_id(sums: &FxHashMap<i64, Sums>) -> Vec<(i64, Sums)> {
    let mut all: Vec<(i64, Sums)> = sums.iter().map(|(id, sums)| (*id, *sums)).collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    all
}

/// Returns the highest ranks.
fn first<T>(mut all: Vec<T>, by: RankBy, sums: impl Fn(&T) -> Sums) -> Vec<T> {
    // The sort is stable, so equal ranks keep their order.
    all.sort_by_key(|one| Reverse(by.value(&sums(one))));
    all.truncate(MAX_RANKED);
    all
}

/// The number of lengths and their percentiles, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The number of known lengths.
    pub count: usize,
    /// Half of the lengths do not exceed it. All percentiles are zero without lengths.
    pub p50: u64,
    /// Nine of ten lengths do not exceed it.
    pub p90: u64,
    /// 99 of 100 lengths do not exceed it.
    pub p99: u64,
    /// The longest length.
    pub max: u64,
}

impl Percentiles {
    /// Computes percentiles by the nearest rank. Linear.
    fn of(mut lengths: Vec<u64>) -> Self {
        let count = lengths.len();
        let mut from = 0;
        // Ranks in rising order: each selection separates the shorter lengths from those that
        // contain the next rank.
        let mut rank = |percent: usize| {
            let at = (count * percent).div_ceil(100).saturating_sub(1);
            let longer = lengths.get_mut(from..).filter(|longer| !longer.is_empty())?;
            let found = *longer.select_nth_unstable(at - from).1;
            from = at;
            Some(found)
        };
        let mut rank = |percent| rank(percent).unwrap_or(0);
        Self { count, p50: rank(50), p90: rank(90), p99: rank(99), max: rank(100) }
    }
}
