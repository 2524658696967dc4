//! Failed attempts: who tried how often to take a lock that was taken, and the storms of them.
//!
//! A storm is very many failed attempts at one lock within seconds, as of clients that retry
//! without a pause.

use std::cmp::Reverse;

use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashMap;

use super::HistoryQuery;
use super::rows::window;
use crate::record::memory::RowMemory;
use crate::record::tables::facts;
use lockscope_base::znode::{SessionId, Timestamp};

/// The most rows of a history.
const MAX_ROWS: usize = 100;

/// The most recorded rows that are read.
const MAX_RECORDED: usize = 100_000;

/// The attempts of one session at one lock, as the transaction logs show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastAttempts {
    /// The path of the lock that it most likely tried; `None` where several were taken.
    pub lock: Option<String>,
    /// The session; `None` for several.
    pub session: Option<SessionId>,
    /// The name of the client, from the nodes of the session.
    pub client_name: Option<String>,
    /// The time of the first attempt.
    pub from: Timestamp,
    /// The time of the last attempt.
    pub to: Timestamp,
    /// The number of attempts.
    pub count: u64,
}

/// What a query asks for, with the values of [`asked`].
const ASKED: &str = "to_at >= ?1 AND from_at <= ?2 AND (?3 IS NULL OR attempt.lock = ?3)
    AND (?4 IS NULL OR attempt.session = ?4) AND (?5 IS NULL OR client.name = ?5)";

const FROM: &str = "FROM attempt LEFT JOIN session ON session.session = attempt.session
    LEFT JOIN client ON client.id = client_id";

/// The sum of all attempts. Counts of a damaged file do not overflow it.
const SUM: &str = "CAST(total(count) AS INTEGER)";

fn asked(query: &HistoryQuery) -> impl rusqlite::Params {
    let HistoryQuery { lock, session, client, .. } = query;
    let [from, to] = window(query.from, query.to);
    (from, to, lock.as_ref().map(ToString::to_string), session.map(|session| session.0), client.clone())
}

/// Returns the attempts that a query asks for, the most frequent first.
pub fn of_query(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<PastAttempts>> {
    let rest = format!(
        "{SUM}, min(from_at), max(to_at) {FROM} WHERE {ASKED} GROUP BY attempt.lock, attempt.session
         ORDER BY {SUM} DESC, min(from_at), attempt.session LIMIT {MAX_ROWS}"
    );
    read(connection, &rest, asked(query))
}

/// The ids of a lock and a client, as far as they are known, and the number of attempts.
type Sum = (Option<i64>, Option<i64>, u64);

/// Returns the numbers of attempts by lock and client.
pub fn sums(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<Sum>> {
    if !facts::exist(connection)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&format!(
        "SELECT (SELECT id FROM lock WHERE path = attempt.lock AND name IS NULL), client.id, {SUM}
         {FROM} WHERE {ASKED} GROUP BY 1, 2"
    ))?;
    let sums = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, facts::count_of(row, 2)?));
    statement.query_map(asked(query), sums)?.collect()
}

/// Returns the attempts that a query asks for as they were recorded, the first ones.
pub fn rows_of(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<PastAttempts>> {
    let rest = format!("count, from_at, to_at {FROM} WHERE {ASKED} ORDER BY attempt.id LIMIT {MAX_RECORDED}");
    read(connection, &rest, asked(query))
}

fn read(connection: &Connection, rest: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<PastAttempts>> {
    if !facts::exist(connection)? {
        return Ok(Vec::new());
    }
    let mut query = connection.prepare(&format!("SELECT attempt.lock, attempt.session, client.name, {rest}"))?;
    let memory = RowMemory::default();
    let attempts = |row: &Row<'_>| {
        memory.charge(row)?;
        Ok(PastAttempts {
            lock: row.get(0)?,
            session: row.get::<_, Option<i64>>(1)?.map(SessionId),
            client_name: row.get(2)?,
            count: facts::count_of(row, 3)?,
            from: Timestamp(row.get(4)?),
            to: Timestamp(row.get(5)?),
        })
    };
    query.query_map(values, attempts)?.collect()
}

/// The length of a window, in milliseconds. Windows begin at its multiples.
const WINDOW_MS: i64 = 10_000;

/// The fewest requests in vain in a window that are a storm.
const MIN_REQUESTS: u64 = 100;

/// The most storms of a history: those with the most requests.
const MAX_STORMS: usize = 20;

/// Very many requests in vain for one lock within ten seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storm {
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// The beginning of the ten seconds.
    pub from: Timestamp,
    /// The number of contenders that left without a hold.
    pub left: u64,
    /// The number of creates that were refused.
    pub refused: u64,
}

impl Storm {
    /// Returns the number of requests in vain.
    pub fn requests(&self) -> u64 {
        self.left.saturating_add(self.refused)
    }
}

/// The number of contenders that left without a hold in a window of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StormWindow {
    number: i64,
    left: u64,
}

/// The windows of one lock that can be storms.
#[derive(Clone, Debug)]
struct Windows {
    last: StormWindow,
    /// The first window, which may go on in earlier rows, and those with enough requests.
    kept: Vec<StormWindow>,
}

/// Counts requests in vain by lock and window.
#[derive(Clone, Debug, Default)]
pub struct RequestCounts {
    locks: FxHashMap<i64, Windows>,
}

impl RequestCounts {
    /// Counts a contender that left without a hold. Rows come in the order of their ids, which is
    /// nearly that of time.
    pub fn add(&mut self, lock: i64, at: i64) {
        self.count(lock, StormWindow { number: at.div_euclid(WINDOW_MS), left: 1 });
    }

    fn count(&mut self, lock: i64, window: StormWindow) {
        let Some(windows) = self.locks.get_mut(&lock) else {
            self.locks.insert(lock, Windows { last: window, kept: Vec::new() });
            return;
        };
        if windows.last.number == window.number {
            windows.last.left = windows.last.left.saturating_add(window.left);
            return;
        }
        let before = std::mem::replace(&mut windows.last, window);
        if windows.kept.is_empty() || before.left >= MIN_REQUESTS {
            windows.kept.push(before);
        }
    }

    /// Adds the counts of later rows.
    pub fn append(&mut self, later: Self) {
        for (lock, windows) in later.locks {
            windows.kept.into_iter().chain([windows.last]).for_each(|window| self.count(lock, window));
        }
    }

    /// Returns the storms, the largest first. `attempts` are those that the same query asks for.
    pub fn storms(&self, connection: &Connection, attempts: &[PastAttempts]) -> rusqlite::Result<Vec<Storm>> {
        let mut storms = Vec::new();
        let mut refused: FxHashMap<(String, i64), u64> = FxHashMap::default();
        for attempts in attempts {
            let window = attempts.from.0.div_euclid(WINDOW_MS);
            let Some(lock) = attempts.lock.clone() else { continue };
            let count = refused.entry((lock, window)).or_default();
            *count = count.saturating_add(attempts.count);
        }
        for (id, windows) in &self.locks {
            let large = windows.kept.iter().chain([&windows.last]);
            let large: Vec<&StormWindow> = large.filter(|window| window.left >= MIN_REQUESTS).collect();
            if large.is_empty() {
                continue;
            }
            let named = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?));
            let named = connection.query_row("SELECT path, name FROM lock WHERE id = ?1", [id], named).optional()?;
            let Some((lock, name)) = named else { continue };
            storms.extend(large.into_iter().map(|window| {
                let refused = refused.remove(&(lock.clone(), window.number)).unwrap_or(0);
                let from = Timestamp(window.number.saturating_mul(WINDOW_MS));
                Storm { lock: lock.clone(), name: name.clone(), from, left: window.left, refused }
            }));
        }
        let others = refused.into_iter().filter(|(_, count)| *count >= MIN_REQUESTS);
        storms.extend(others.map(|((lock, window), refused)| Storm {
            lock,
            name: None,
            from: Timestamp(window.saturating_mul(WINDOW_MS)),
            left: 0,
            refused,
        }));
        storms.sort_by(|one, other| {
            (Reverse(one.requests()), one.from, &one.lock).cmp(&(Reverse(other.requests()), other.from, &other.lock))
        });
        storms.truncate(MAX_STORMS);
        Ok(storms)
    }
}
