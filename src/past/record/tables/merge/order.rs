//! The order of the rows: their ids rise in the order in which contenders were first seen.

use lockscope_base::znode::Timestamp;
use rusqlite::{Connection, params};

/// Numbers the rows from a time on anew, behind all others. Rows after `last_id` were added.
pub(super) fn renumber(connection: &Connection, from: Timestamp, last_id: i64) -> rusqlite::Result<()> {
    let is_behind: bool = connection.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM contender WHERE id <= ?1 AND first_seen_at >= ?2)",
        params![last_id, from.0],
        |row| row.get(0),
    )?;
    if is_behind {
        return Ok(());
    }
    connection.execute_batch("CREATE TEMP TABLE merge_order (place INTEGER PRIMARY KEY, old INTEGER NOT NULL)")?;
    connection.execute(
        "INSERT INTO merge_order (old) SELECT id FROM contender WHERE first_seen_at >= ?1 OR id > ?2
         ORDER BY first_seen_at, id",
        params![from.0, last_id],
    )?;
    // All new numbers are larger than the old ones, so none is taken twice.
    let last: i64 = connection.query_row("SELECT ifnull(max(id), 0) FROM contender", [], |row| row.get(0))?;
    connection.execute(
        "UPDATE contender SET id = ?1 + place FROM temp.merge_order WHERE contender.id = merge_order.old",
        [last],
    )?;
    connection.execute_batch("DROP TABLE temp.merge_order")
}
