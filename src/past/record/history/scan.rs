//! One pass over the requested contenders: counts, lengths and sums, without names and data.
//!
//! Very many rows are scanned in two threads, each taking half of them.

use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::thread;

use rusqlite::{Connection, Row};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::attempts::RequestCounts;
use super::rows::NamedEnds;
use super::{HistoryOrder, HistoryQuery};
use crate::record::store::{Store, StoreError};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::WaiterTime;

/// The sums of the contenders of one lock or client, within the requested time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// The number of acquisitions.
    #[serde(rename = "hand_overs")]
    pub handovers: u64,
    /// The number of requests in vain: refused, or left without a hold.
    pub in_vain: u64,
    /// The least sum of all holds, in milliseconds.
    pub held_ms: u64,
    /// The least sum of all waits, in milliseconds.
    pub waited_ms: u64,
    /// The longest hold, in milliseconds.
    pub longest_hold_ms: u64,
    /// The longest wait, in milliseconds.
    pub longest_wait_ms: u64,
    /// What all waited for the lock, or while the client held, if locks are ranked by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiter_seconds: Option<WaiterTime>,
    /// What all waited for the lock while nobody held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiter_seconds_unheld: Option<WaiterTime>,
}

/// The result of the pass.
#[derive(Debug, Default)]
pub struct ScannedRows {
    /// The ids of the rows, which rise in the order in which contenders were first seen.
    ids: Vec<i64>,
    /// The weight of each row in milliseconds, if the worst are listed.
    weights: Option<Vec<u64>>,
    pub holds: usize,
    pub waits: usize,
    pub hold_ms: Vec<u64>,
    pub wait_ms: Vec<u64>,
    pub locks: FxHashMap<i64, Sums>,
    pub clients: FxHashMap<i64, Sums>,
    pub in_vain: RequestCounts,
}

/// The columns of a pass, the same in every statement.
const COLUMNS: &str = "SELECT id, lock_id, client_id, session, enqueued_at, acquired_after, acquired_before, ended_after, ended_before, ending FROM contender WHERE";

/// The query in the form that the pass needs.
struct RowFilter {
    from: i64,
    to: i64,
    /// The time up to which open rows are known to be present.
    until: i64,
    locks: Option<FxHashSet<i64>>,
    clients: Option<FxHashSet<i64>>,
    session: Option<i64>,
    sums: bool,
    ends: Option<(Vec<ContenderEnd>, NamedEnds)>,
    min_hold_ms: Option<u64>,
    min_wait_ms: Option<u64>,
    worst: bool,
}

/// Returns whether all rows are requested.
pub fn is_of_all(query: &HistoryQuery) -> bool {
    let HistoryQuery { lock, session, client, from, to, .. } = query;
    lock.is_none() && session.is_none() && client.is_none() && from.is_none() && to.is_none()
}

/// Scans all rows with ids in a range.
fn scan_range(
    connection: &Connection,
    query: &HistoryQuery,
    until: Option<Timestamp>,
    ids: RangeInclusive<i64>,
) -> rusqlite::Result<ScannedRows> {
    let filter = RowFilter::new(connection, query, until)?;
    let mut found = ScannedRows::default();
    let mut statement = connection.prepare(&format!("{COLUMNS} id BETWEEN ?1 AND ?2"))?;
    let mut rows = statement.query([ids.start(), ids.end()])?;
    while let Some(row) = rows.next()? {
        found.read_row(row, &filter)?;
    }
    Ok(found)
}

/// Returns the latest time at which a contender present at `to` can have been first seen. If `to`
/// lies in a gap, that is the end of the gap; if it lies before the recording, the end of the first
/// look.
fn seen_until(connection: &Connection, to: i64) -> rusqlite::Result<i64> {
    let began = connection.query_row("SELECT ifnull(min(began_at), ?1) FROM recording", [to], |row| row.get(0))?;
    let to = to.max(began);
    let gap_end = "SELECT ifnull(max(ifnull(ended_at, 9223372036854775807)), ?1) FROM gap WHERE began_at <= ?1";
    Ok(connection.query_row(gap_end, [to], |row| row.get::<_, i64>(0))?.max(to))
}

/// Scans the requested rows. For a lock, session or client it is linear in their rows. Otherwise it
/// reads an index entry for each contender present at the beginning, and the rows of those that
/// came before the end.
pub fn scan(connection: &Connection, query: &HistoryQuery, until: Option<Timestamp>) -> rusqlite::Result<ScannedRows> {
    if is_of_all(query) {
        return scan_range(connection, query, until, i64::MIN..=i64::MAX);
    }
    let filter = RowFilter::new(connection, query, until)?;
    let mut found = ScannedRows::default();
    let seen_until = query.to.map_or(Ok(i64::MAX), |to| seen_until(connection, to.0))?;
    let stood = "ifnull(ended_before, 9223372036854775807) >= ?1 AND first_seen_at <= ?2";
    let by = |column: &str| format!("{COLUMNS} {stood} AND {column} = ?3");
    let (statement, values): (String, Vec<i64>) = match (&filter.locks, filter.session, &filter.clients) {
        (_, Some(session), _) => (by("session"), vec![session]),
        (Some(locks), ..) => (by("lock_id"), locks.iter().copied().collect()),
        (_, _, Some(clients)) => (by("client_id"), clients.iter().copied().collect()),
        (None, None, None) => (format!("{COLUMNS} {stood} AND ?3 = 0"), vec![0]),
    };
    let mut statement = connection.prepare(&statement)?;
    for value in values {
        let mut rows = statement.query([filter.from, seen_until, value])?;
        while let Some(row) = rows.next()? {
            found.read_row(row, &filter)?;
        }
    }
    // The worst are sorted when they are listed, and each id stays beside its weight until then.
    if found.weights.is_none() {
        found.ids.sort_unstable();
    }
    Ok(found)
}

impl RowFilter {
    fn new(connection: &Connection, query: &HistoryQuery, until: Option<Timestamp>) -> rusqlite::Result<Self> {
        Ok(Self {
            from: query.from.map_or(i64::MIN, |from| from.0),
            to: query.to.map_or(i64::MAX, |to| to.0),
            until: until.map_or(i64::MAX, |until| until.0),
            locks: query.lock.as_ref().map(|path| locks(connection, path.as_str())).transpose()?,
            clients: query.client.as_ref().map(|client| clients(connection, client)).transpose()?,
            session: query.session.map(|session| session.0),
            sums: query.rank_by.is_some(),
            ends: match &*query.ends {
                [] => None,
                ends => Some((ends.to_vec(), NamedEnds::read(connection)?)),
            },
            min_hold_ms: query.min_hold_ms,
            min_wait_ms: query.min_wait_ms,
            worst: query.order == HistoryOrder::Worst,
        })
    }

    /// Returns whether the end and the lengths of a contender match the filter.
    fn takes(&self, row: &Row<'_>, times: &StayTimes) -> rusqlite::Result<bool> {
        let reaches = |least: Option<u64>, most: Option<u64>| least.is_none_or(|least| most >= Some(least));
        if !reaches(self.min_hold_ms, times.held_at_most_ms()) || !reaches(self.min_wait_ms, times.waited_at_most_ms())
        {
            return Ok(false);
        }
        let Some((ends, named)) = &self.ends else { return Ok(true) };
        let end = ContenderEnd::from_id(row.get_ref(9)?.as_str().unwrap_or_default());
        Ok(ends.contains(&named.meaning_of(end, times.ended.1)))
    }
}

/// The times of a contender's arrival, acquisition and end in a row.
struct StayTimes {
    enqueued: Option<i64>,
    acquired: (Option<i64>, Option<i64>),
    ended: (Option<i64>, Option<i64>),
    /// The time up to which open rows are known to be present.
    until: i64,
}

impl StayTimes {
    fn held_at_least_ms(&self) -> Option<u64> {
        Some(length(self.acquired.1?, self.ended.0.unwrap_or(self.until)))
    }

    fn held_at_most_ms(&self) -> Option<u64> {
        Some(length(self.acquired.0?, self.ended.1.unwrap_or(self.until)))
    }

    fn waited_at_least_ms(&self) -> Option<u64> {
        Some(length(self.enqueued?, self.acquired.0.or(self.ended.0).unwrap_or(self.until)))
    }

    fn waited_at_most_ms(&self) -> Option<u64> {
        Some(length(self.enqueued?, self.acquired.1.or(self.ended.1).unwrap_or(self.until)))
    }
}

fn length(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

impl ScannedRows {
    /// Adds the result of later rows.
    pub fn append(&mut self, mut later: Self) {
        self.ids.append(&mut later.ids);
        if let Some(weights) = &mut later.weights {
            self.weights.get_or_insert_default().append(weights);
        }
        self.hold_ms.append(&mut later.hold_ms);
        self.wait_ms.append(&mut later.wait_ms);
        self.holds += later.holds;
        self.waits += later.waits;
        self.in_vain.append(later.in_vain);
        for (all, later) in [(&mut self.locks, later.locks), (&mut self.clients, later.clients)] {
            for (id, sums) in later {
                all.entry(id).or_default().append(sums);
            }
        }
    }

    /// Returns the ids of the listed rows: the last ones with the oldest first, or the worst ones
    /// with the worst first.
    pub fn listed(&self, limit: usize) -> Vec<i64> {
        let Some(weights) = &self.weights else {
            return self.ids[self.ids.len().saturating_sub(limit)..].to_vec();
        };
        let mut worst: Vec<(Reverse<u64>, i64)> =
            weights.iter().zip(&self.ids).map(|(weight, id)| (Reverse(*weight), *id)).collect();
        worst.sort_unstable();
        worst.truncate(limit);
        worst.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the ids of all rows, in order.
    pub fn sorted_ids(&self) -> Vec<i64> {
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        ids
    }

    /// Counts attempts in vain of a client at a lock, as far as they are known.
    pub fn tried_in_vain(&mut self, lock: Option<i64>, client: Option<i64>, count: u64) {
        let known = [lock.map(|lock| self.locks.entry(lock)), client.map(|client| self.clients.entry(client))];
        for sums in known.into_iter().flatten() {
            let sums = sums.or_default();
            sums.in_vain = sums.in_vain.saturating_add(count);
        }
    }

    fn read_row(&mut self, row: &Row<'_>, filter: &RowFilter) -> rusqlite::Result<()> {
        let (lock, client): (i64, Option<i64>) = (row.get(1)?, row.get(2)?);
        let is_wanted = |wanted: &Option<FxHashSet<i64>>, id: i64| wanted.as_ref().is_none_or(|ids| ids.contains(&id));
        let enqueued: Option<i64> = row.get(4)?;
        let acquired: (Option<i64>, Option<i64>) = (row.get(5)?, row.get(6)?);
        let began = enqueued.or(acquired.0).unwrap_or(i64::MIN);
        let is_session = match filter.session {
            Some(session) => row.get::<_, Option<i64>>(3)? == Some(session),
            None => true,
        };
        let client_is_wanted =
            filter.clients.is_none() || client.is_some_and(|client| is_wanted(&filter.clients, client));
        if began > filter.to || !is_session || !is_wanted(&filter.locks, lock) || !client_is_wanted {
            return Ok(());
        }
        let ended: (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
        let times = StayTimes { enqueued, acquired, ended, until: filter.until };
        if !filter.takes(row, &times)? {
            return Ok(());
        }
        self.ids.push(row.get(0)?);
        if filter.worst {
            let weight = times.held_at_least_ms().max(times.waited_at_least_ms()).unwrap_or(0);
            self.weights.get_or_insert_default().push(weight);
        }
        if let (Some(after), Some(before)) = acquired {
            self.holds += 1;
            if after == before {
                self.wait_ms.extend(enqueued.map(|came| length(came, after)));
                if let (Some(ended_after), Some(ended_before)) = ended
                    && ended_after == ended_before
                {
                    self.hold_ms.push(length(after, ended_after));
                }
            }
        } else {
            self.waits += 1;
            if let (Some(came), Some(_)) = (enqueued, ended.1) {
                self.in_vain.add(lock, came);
            }
        }
        if filter.sums {
            let within = |from: i64, to: i64| length(from.max(filter.from), to.min(filter.to));
            let until = ended.0.unwrap_or(filter.until);
            let waited = enqueued.map_or(0, |came| within(came, acquired.0.unwrap_or(until)));
            let held = acquired.1.map(|acquired| within(acquired, until));
            for sums in
                [Some(self.locks.entry(lock)), client.map(|client| self.clients.entry(client))].into_iter().flatten()
            {
                let sums = sums.or_default();
                sums.add(held, waited);
                sums.in_vain += u64::from(held.is_none() && ended.1.is_some());
            }
        }
        Ok(())
    }
}

impl Sums {
    pub(super) fn append(&mut self, other: Self) {
        self.handovers += other.handovers;
        self.in_vain = self.in_vain.saturating_add(other.in_vain);
        self.held_ms = self.held_ms.saturating_add(other.held_ms);
        self.waited_ms = self.waited_ms.saturating_add(other.waited_ms);
        self.longest_hold_ms = self.longest_hold_ms.max(other.longest_hold_ms);
        self.longest_wait_ms = self.longest_wait_ms.max(other.longest_wait_ms);
        if let Some(other) = other.waiter_seconds {
            self.waiter_seconds = Some(self.waiter_seconds.unwrap_or_default().plus(other));
        }
    }

    fn add(&mut self, held_ms: Option<u64>, waited_ms: u64) {
        self.handovers += u64::from(held_ms.is_some());
        let held_ms = held_ms.unwrap_or(0);
        self.held_ms = self.held_ms.saturating_add(held_ms);
        self.waited_ms = self.waited_ms.saturating_add(waited_ms);
        self.longest_hold_ms = self.longest_hold_ms.max(held_ms);
        self.longest_wait_ms = self.longest_wait_ms.max(waited_ms);
    }
}

fn locks(connection: &Connection, path: &str) -> rusqlite::Result<FxHashSet<i64>> {
    let mut statement = connection.prepare("SELECT id FROM lock WHERE path = ?1")?;
    statement.query_map([path], |row| row.get(0))?.collect()
}

/// Returns the clients with this name, this address, or this address with any port.
fn clients(connection: &Connection, client: &str) -> rusqlite::Result<FxHashSet<i64>> {
    let mut statement = connection.prepare("SELECT id, address, name FROM client")?;
    let mut rows = statement.query([])?;
    let mut found = FxHashSet::default();
    while let Some(row) = rows.next()? {
        let (address, name): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
        let host = address
            .as_deref()
            .and_then(|address| address.rsplit_once(':'))
            .map(|(host, _)| host.trim_matches(['[', ']']));
        if [address.as_deref(), name.as_deref(), host].contains(&Some(client)) {
            found.insert(row.get(0)?);
        }
    }
    Ok(found)
}

/// With fewer rows a second thread costs more than it saves.
const MIN_ROWS: i64 = 50_000;

/// The state of a recording when a connection began to read it. Every write changes it.
type Seen = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Scans all requested rows: the later half in another thread, with a connection of its own.
pub fn scan_in_two_threads(
    connection: &Connection,
    mut second: Store,
    query: &HistoryQuery,
    until: Option<Timestamp>,
) -> rusqlite::Result<ScannedRows> {
    let (least, most): (i64, i64) =
        connection.query_row("SELECT ifnull(min(id), 0), ifnull(max(id), 0) FROM contender", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if most.saturating_sub(least) < MIN_ROWS {
        return scan(connection, query, until);
    }
    let middle = least.midpoint(most);
    let later_rows = middle + 1..=i64::MAX;
    thread::scope(|scope| {
        let later = scope.spawn(|| -> Result<(Seen, ScannedRows), StoreError> {
            second.sql(|connection| {
                let transaction = connection.transaction()?;
                Ok((seen(&transaction)?, scan_range(&transaction, query, until, later_rows.clone())?))
            })
        });
        let mut found = scan_range(connection, query, until, i64::MIN..=middle)?;
        // If the other connection failed, or saw another state, this one scans those rows too.
        let now = seen(connection)?;
        let later = match later.join() {
            Ok(Ok((of, later))) if of == now => later,
            _ => scan_range(connection, query, until, later_rows.clone())?,
        };
        found.append(later);
        Ok(found)
    })
}

fn seen(connection: &Connection) -> rusqlite::Result<Seen> {
    let query = "SELECT (SELECT min(id) FROM segment), max(id), (SELECT max(until_at) FROM recording), \
                 (SELECT entries FROM segment ORDER BY id DESC LIMIT 1) FROM segment";
    connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::history::{History, RankBy};

    /// Returns a recording with enough rows for two threads.
    fn recording(folder: &std::path::Path, name: &str, segments: i64) -> Store {
        let mut store = Store::create(&folder.join(name), false).unwrap();
        let rows = format!(
            "INSERT INTO run (connect, version) VALUES ('zk1', '1');
             INSERT INTO recording (tables_version, began_at, until_at) VALUES (1, 0, 900000);
             INSERT INTO lock VALUES (1, '/a', NULL, 'curator', 'mutex'), (2, '/b', NULL, 'curator', 'mutex');
             WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {})
             INSERT INTO contender SELECT n, 1 + n % 2, 1 + n % 7, n % 9, n, n, n + 3, n + 3, n + n % 11, n + n % 11, 'released',
                'exclusive', 'lock-' || n, n, NULL, NULL, NULL FROM number WHERE n % 5 > 0;
             WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {segments})
             INSERT INTO segment (run, from_ms, until_ms, entries) SELECT 1, n, n, n FROM number;",
            MIN_ROWS * 3 / 2
        );
        store.sql(|sql| sql.execute_batch(&rows)).unwrap();
        store
    }

    #[test]
    fn two_threads_find_the_same_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = recording(folder.path(), "locks.db", 1);
        let query = HistoryQuery { rank_by: Some(RankBy::Wait), limit: 3, ..HistoryQuery::default() };
        let expected = store.sql(|sql| History::from_tables(sql, &query)).unwrap();
        assert_eq!(i64::try_from(expected.hold_count), Ok(MIN_ROWS * 3 / 2 / 5 * 4));
        let found = History { coverage: None, ..History::read(&mut store, &query).unwrap() };
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_of_another_state_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = recording(folder.path(), "locks.db", 1);
        let later = recording(folder.path(), "later.db", 2);
        let query = HistoryQuery::default();
        let found = store.sql(|sql| {
            sql.execute("DELETE FROM contender WHERE id % 2 = 0", [])?;
            scan_in_two_threads(sql, later, &query, None)
        });
        assert_eq!(i64::try_from(found.unwrap().holds), Ok(MIN_ROWS * 3 / 2 / 10 * 4));
    }
}
