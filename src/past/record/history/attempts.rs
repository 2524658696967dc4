//! Attempts in vain: who tried how often to take a lock that was taken.

use rusqlite::{Connection, Row};

use super::HistoryQuery;
use super::rows::window;
use crate::record::row_memory::RowMemory;
use crate::record::tables::attempt;
use lockscope_base::znode::{SessionId, Timestamp};

/// The most rows of a history.
pub(super) const MAX_ROWS: usize = 100;

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
pub(super) fn of_query(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<PastAttempts>> {
    let rest = format!(
        "{SUM}, min(from_at), max(to_at) {FROM} WHERE {ASKED} GROUP BY attempt.lock, attempt.session
         ORDER BY {SUM} DESC, min(from_at), attempt.session LIMIT {MAX_ROWS}"
    );
    read(connection, &rest, asked(query))
}

/// The ids of a lock and a client, as far as they are known, and the number of attempts.
type Sum = (Option<i64>, Option<i64>, u64);

/// Returns the numbers of attempts by lock and client.
pub(super) fn sums(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<Sum>> {
    if !attempt::exist(connection)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&format!(
        "SELECT (SELECT id FROM lock WHERE path = attempt.lock AND name IS NULL), client.id, {SUM}
         {FROM} WHERE {ASKED} GROUP BY 1, 2"
    ))?;
    let sums = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, attempt::count_of(row, 2)?));
    statement.query_map(asked(query), sums)?.collect()
}

/// Returns the attempts that a query asks for as they were recorded, the first ones.
pub(super) fn rows_of(connection: &Connection, query: &HistoryQuery) -> rusqlite::Result<Vec<PastAttempts>> {
    let rest = format!("count, from_at, to_at {FROM} WHERE {ASKED} ORDER BY attempt.id LIMIT {MAX_RECORDED}");
    read(connection, &rest, asked(query))
}

fn read(connection: &Connection, rest: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<PastAttempts>> {
    if !attempt::exist(connection)? {
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
            count: attempt::count_of(row, 3)?,
            from: Timestamp(row.get(4)?),
            to: Timestamp(row.get(5)?),
        })
    };
    query.query_map(values, attempts)?.collect()
}
