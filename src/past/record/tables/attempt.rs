//! Attempts in vain: creates that the servers refused because the node existed.

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::record::row_memory::RowMemory;
use lockscope_base::znode::{SessionId, TimeRange, Timestamp};

/// The most rows collected between two flushes. Attempts of more sessions share one row.
const MAX_ROWS: usize = 10_000;

/// Attempts of one session within a short time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAttempts {
    /// The path of the lock that it most likely tried.
    pub lock: Option<String>,
    /// The session; `None` for several.
    pub session: Option<SessionId>,
    /// The times of the first and of the last attempt.
    pub time: TimeRange,
    /// The number of attempts.
    pub count: u64,
}

/// The attempts since the last flush.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    rows: FxHashMap<(Option<SessionId>, Option<String>), RecordedAttempts>,
}

impl Attempts {
    pub fn add(&mut self, attempts: RecordedAttempts) {
        let RecordedAttempts { lock, session, time, count } = attempts;
        let key = (session, lock);
        let key = if self.rows.len() < MAX_ROWS || self.rows.contains_key(&key) { key } else { (None, None) };
        let new = || RecordedAttempts { lock: key.1.clone(), session: key.0, time, count: 0 };
        let row = self.rows.entry(key.clone()).or_insert_with(new);
        row.time = TimeRange { from: row.time.from.min(time.from), to: row.time.to.max(time.to) };
        row.count = row.count.saturating_add(count);
    }

    /// Takes the rows, in the order of time.
    pub fn take(&mut self) -> Vec<RecordedAttempts> {
        let mut rows: Vec<RecordedAttempts> = std::mem::take(&mut self.rows).into_values().collect();
        rows.sort_unstable_by(|one, other| {
            (one.time, one.session, &one.lock).cmp(&(other.time, other.session, &other.lock))
        });
        rows
    }
}

/// Reads a number of attempts. A damaged file may have one below zero.
pub(in crate::record) fn count_of(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Returns whether a file has the table: those of earlier versions do not.
pub(in crate::record) fn exist(connection: &Connection) -> rusqlite::Result<bool> {
    connection.table_exists(None, "attempt")
}

/// Reads the rows that lie within a time.
pub(super) fn within(connection: &Connection, time: TimeRange) -> rusqlite::Result<Vec<RecordedAttempts>> {
    if !exist(connection)? {
        return Ok(Vec::new());
    }
    let mut query = connection.prepare(
        "SELECT lock, session, from_at, to_at, count FROM attempt WHERE to_at BETWEEN ?1 AND ?2 AND from_at >= ?1 ORDER BY id",
    )?;
    let memory = RowMemory::default();
    let attempts = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        Ok(RecordedAttempts {
            lock: row.get(0)?,
            session: row.get::<_, Option<i64>>(1)?.map(SessionId),
            time: TimeRange { from: Timestamp(row.get(2)?), to: Timestamp(row.get(3)?) },
            count: count_of(row, 4)?,
        })
    };
    query.query_map(params![time.from.0, time.to.0], attempts)?.collect()
}

/// Gives a recording the attempts that the recording of a log has within a time, in place of its own.
/// Returns whether something changed.
pub(in crate::record) fn complete(
    connection: &Connection,
    log: &Connection,
    time: TimeRange,
) -> rusqlite::Result<bool> {
    let attempts = within(log, time)?;
    if attempts == within(connection, time)? {
        return Ok(false);
    }
    let range = params![time.from.0, time.to.0];
    connection.execute("DELETE FROM attempt WHERE to_at BETWEEN ?1 AND ?2 AND from_at >= ?1", range)?;
    attempts.iter().try_for_each(|attempts| write(connection, attempts))?;
    Ok(true)
}

/// Writes a row.
pub(super) fn write(connection: &Connection, attempts: &RecordedAttempts) -> rusqlite::Result<()> {
    let RecordedAttempts { lock, session, time, count } = attempts;
    let mut insert = connection
        .prepare_cached("INSERT INTO attempt (lock, session, from_at, to_at, count) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let count = i64::try_from(*count).unwrap_or(i64::MAX);
    insert.execute(params![lock, session.map(|session| session.0), time.from.0, time.to.0, count])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_one_session_at_one_lock_are_one_row_until_there_are_too_many() {
        let mut attempts = Attempts::default();
        let at = |session, at| RecordedAttempts {
            lock: Some("/leader".to_owned()),
            session: Some(SessionId(session)),
            time: TimeRange { from: Timestamp(at), to: Timestamp(at) },
            count: 1,
        };
        for one in [at(1, 5), at(2, 6), at(1, 9)] {
            attempts.add(one);
        }
        let rows = attempts.take();
        assert_eq!(
            rows.iter().map(|row| (row.count, row.time.from.0, row.time.to.0)).collect::<Vec<_>>(),
            [(2, 5, 9), (1, 6, 6)]
        );
        assert_eq!(attempts.take(), []);
        let many = i64::try_from(MAX_ROWS).unwrap() + 7;
        (0..many).for_each(|session| attempts.add(at(session, 1)));
        let rows = attempts.take();
        let shared: Vec<_> = rows.iter().filter(|row| row.session.is_none()).collect();
        assert_eq!((rows.len(), shared.len(), shared[0].count), (MAX_ROWS + 1, 1, 7));
    }
}
