//! How far back a recording reaches, and how large its file may become.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::tables;
use crate::znode::Timestamp;

/// How much of a recording is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What is older is deleted; `None` for never.
    pub keep: Option<Duration>,
    /// How large the file may become, in bytes, with what SQLite keeps beside it; `None` for as large as the disk. The oldest goes first.
    pub max_bytes: Option<u64>,
}

impl Bounds {
    /// The smallest bound on the size that makes sense, in bytes.
    pub const MIN_BYTES: u64 = 16 << 20;

    /// What SQLite may keep beside the file, in bytes.
    const BESIDE: u64 = 8 << 20;

    /// So many of the oldest segments are deleted at once, so that no transaction is long.
    const AT_ONCE: u32 = 4;

    /// Has SQLite refuse what would make the file larger than it may become.
    pub(super) fn limit(&self, sql: &Connection) -> rusqlite::Result<()> {
        let Some(most) = self.file_bytes() else { return Ok(()) };
        let page: u64 = sql.pragma_query_value(None, "page_size", |row| row.get(0))?;
        sql.pragma_update(None, "max_page_count", (most / page.max(1)).min(u32::MAX.into()))
    }

    /// Deletes what is too old or too much, and gives the space back. Whether there was anything to delete.
    pub(super) fn keep(&self, sql: &mut Connection, now: Timestamp) -> rusqlite::Result<bool> {
        let mut deleted = false;
        if let Some(keep) = self.keep {
            let oldest = now.0.saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
            while delete_oldest(sql, "until_ms < ?1", oldest)? {
                deleted = true;
            }
        }
        if let Some(most) = self.file_bytes() {
            // A tenth is left for what comes until the next segment ends.
            while used_bytes(sql)? > most / 10 * 9 && delete_oldest(sql, "?1 = 0", 0)? {
                deleted = true;
            }
        }
        sql.execute_batch("PRAGMA incremental_vacuum")?;
        Ok(deleted)
    }

    fn file_bytes(&self) -> Option<u64> {
        Some(self.max_bytes?.saturating_sub(Self::BESIDE))
    }
}

/// Deletes some of the oldest segments of which that is true, and never the last one. Whether there were any.
fn delete_oldest(sql: &mut Connection, condition: &str, value: i64) -> rusqlite::Result<bool> {
    let transaction = sql.transaction()?;
    let oldest = format!(
        "DELETE FROM segment WHERE id IN (SELECT id FROM segment WHERE {condition} AND id < (SELECT max(id) FROM segment)
         ORDER BY id LIMIT ?2)"
    );
    let deleted = transaction.execute(&oldest, params![value, Bounds::AT_ONCE])?;
    if deleted > 0 {
        // The tables reach as far back as the stream.
        let first = transaction.query_row("SELECT min(from_ms) FROM segment", [], |row| row.get(0))?;
        tables::forget_before(&transaction, Timestamp(first))?;
    }
    transaction.commit()?;
    Ok(deleted > 0)
}

/// What is in use of the file, in bytes.
fn used_bytes(sql: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| sql.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok((pragma("page_count")?.saturating_sub(pragma("freelist_count")?)) * pragma("page_size")?)
}
