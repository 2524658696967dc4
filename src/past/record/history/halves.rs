//! Scans very many rows in two threads, each taking half of them.

use std::thread;

use rusqlite::Connection;

use super::HistoryQuery;
use super::scan::{self, Found};
use crate::record::store::{Store, StoreError};
use lockscope_base::znode::Timestamp;

/// With fewer rows a second thread costs more than it saves.
const MIN_ROWS: i64 = 50_000;

/// The state of a recording when a connection began to read it. Every write changes it.
type Seen = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Scans all requested rows: the later half in another thread, with a connection of its own.
pub(super) fn scan(
    connection: &Connection,
    mut second: Store,
    query: &HistoryQuery,
    until: Option<Timestamp>,
) -> rusqlite::Result<Found> {
    let (least, most): (i64, i64) =
        connection.query_row("SELECT ifnull(min(id), 0), ifnull(max(id), 0) FROM contender", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if most.saturating_sub(least) < MIN_ROWS {
        return scan::scan(connection, query, until);
    }
    let middle = least.midpoint(most);
    let later_rows = middle + 1..=i64::MAX;
    thread::scope(|scope| {
        let later = scope.spawn(|| -> Result<(Seen, Found), StoreError> {
            second.sql(|connection| {
                let transaction = connection.transaction()?;
                Ok((seen(&transaction)?, scan::scan_range(&transaction, query, until, later_rows.clone())?))
            })
        });
        let mut found = scan::scan_range(connection, query, until, i64::MIN..=middle)?;
        // If the other connection failed, or saw another state, this one scans those rows too.
        let now = seen(connection)?;
        let later = match later.join() {
            Ok(Ok((of, later))) if of == now => later,
            _ => scan::scan_range(connection, query, until, later_rows.clone())?,
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
        assert_eq!(History::read(&mut store, &query).unwrap(), expected);
    }

    #[test]
    fn rows_of_another_state_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = recording(folder.path(), "locks.db", 1);
        let later = recording(folder.path(), "later.db", 2);
        let query = HistoryQuery::default();
        let found = store.sql(|sql| {
            sql.execute("DELETE FROM contender WHERE id % 2 = 0", [])?;
            scan(sql, later, &query, None)
        });
        assert_eq!(i64::try_from(found.unwrap().holds), Ok(MIN_ROWS * 3 / 2 / 10 * 4));
    }
}
