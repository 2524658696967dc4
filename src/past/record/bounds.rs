//! The limits of a recording in time and size.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::batch::SegmentBounds;
use super::store::{Store, StoreError};
use super::tables;
use lockscope_base::znode::Timestamp;

/// How much of a recording is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The age after which entries are deleted; `None` for never.
    pub keep: Option<Duration>,
    /// The most bytes of the file, including those that `SQLite` keeps beside it; `None` for no
    /// limit but the disk. The oldest entries are deleted first.
    pub max_bytes: Option<u64>,
}

/// The options of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// How much of the recording is kept.
    pub bounds: Bounds,
    /// Whether the data of contenders are recorded; they may hold secrets.
    pub with_data: bool,
    /// Whether the file's group may read the file from now on.
    pub group_reads: bool,
}

impl Bounds {
    /// The smallest useful limit of the size, in bytes.
    pub const MIN_BYTES: u64 = 16 << 20;

    /// The default limits of a file: a week, and 2 GiB.
    pub const USUAL: Self = Self { keep: Some(Duration::from_secs(7 * 24 * 3600)), max_bytes: Some(2 << 30) };
}

/// Keeps a recording within its bounds, in memory or in a file.
#[derive(Clone, Copy, Debug)]
pub struct SpaceKeeper {
    /// The age after which entries are deleted.
    keep: Option<Duration>,
    /// The most bytes of the file itself.
    file: Option<u64>,
    /// The most bytes in the log beside the file before they are moved into the file.
    room: Option<u64>,
    /// The most bytes of the file and what lies beside it.
    all: Option<u64>,
    /// How many of the oldest segments are deleted at once.
    at_once: u32,
}

impl SpaceKeeper {
    /// The space for files that `SQLite` keeps beside the main one, in bytes: an eighth of the
    /// total, and at least this.
    const MIN_BESIDE: u64 = 8 << 20;

    /// The part of that space that is not available: the log that `SQLite` keeps without readers,
    /// and the overhead of a write, in bytes.
    const SPARE: u64 = 5 << 20;

    /// What a write takes besides its bytes, and the index of the log, in bytes.
    const OVERHEAD: u64 = 1 << 20;

    /// How many of the oldest segments of a file are deleted at once, so that transactions stay
    /// short.
    const AT_ONCE: u32 = 4;

    pub fn new(Bounds { keep, max_bytes }: Bounds, in_memory: bool) -> Self {
        if in_memory {
            // Nothing lies beside memory; a segment must still be a small part of the total.
            return Self { keep, file: max_bytes, room: max_bytes.map(|most| most / 2), all: max_bytes, at_once: 1 };
        }
        let beside = max_bytes.map(|most| (most / 8).max(Self::MIN_BESIDE));
        let file = max_bytes.zip(beside).map(|(most, beside)| most.saturating_sub(beside));
        let room = beside.map(|beside| beside.saturating_sub(Self::SPARE));
        Self { keep, file, room, all: max_bytes, at_once: Self::AT_ONCE }
    }

    /// Returns the largest size of the file itself, in bytes.
    pub fn most_bytes(&self) -> Option<u64> {
        self.file
    }

    /// Lets `SQLite` refuse writes beyond the largest size of the file.
    pub fn limit(&self, sql: &Connection) -> rusqlite::Result<()> {
        let Some(most) = self.file else { return Ok(()) };
        let page: u64 = sql.pragma_query_value(None, "page_size", |row| row.get(0))?;
        sql.pragma_update(None, "max_page_count", (most / page.max(1)).min(u32::MAX.into()))
    }

    /// Returns the bounds of segments, so that a segment fits beside the file when its chunks are
    /// merged.
    pub fn segment_bounds(&self) -> SegmentBounds {
        let usual = SegmentBounds::default();
        let bytes = self.room.map_or(usual.bytes, |room| room / 4);
        SegmentBounds { bytes: usual.bytes.min(bytes), ..usual }
    }

    /// Makes room for `bytes` more in the log beside the file. Where many contenders stand, a state
    /// takes more than the log usually may: it then takes what the file leaves of the whole.
    pub fn make_room(&self, store: &mut Store, bytes: u64) -> Result<(), StoreError> {
        let Some((room, all)) = self.room.zip(self.all) else { return Ok(()) };
        // A transaction may write as much again for the segment whose chunks it merges.
        let most = room / 2;
        if store.log_bytes() + bytes <= most {
            return Ok(());
        }
        store.move_log()?;
        let file = store.sql(|sql| {
            free_pages(sql)?;
            file_bytes(sql)
        })?;
        if bytes <= most || bytes.saturating_add(room / 4 + Self::OVERHEAD + file) <= all {
            return Ok(());
        }
        Err(StoreError::NoRoom { path: store.path().to_owned(), bytes })
    }

    /// Deletes what is too old or too much, and frees the space; when the file is full, always
    /// deletes the oldest. Returns whether something was deleted.
    pub fn keep(&self, sql: &mut Connection, now: Timestamp, is_full: bool) -> rusqlite::Result<bool> {
        let mut deleted = false;
        if let Some(keep) = self.keep {
            let oldest = now.0.saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
            while delete_oldest(sql, self.at_once, "until_ms < ?1", oldest)? {
                deleted = true;
            }
        }
        if let Some(most) = self.file {
            // A tenth is kept free for entries until the next segment ends.
            while used_bytes(sql)? > most / 10 * 9 && delete_oldest(sql, self.at_once, "?1 = 0", 0)? {
                deleted = true;
            }
            deleted = deleted || is_full && delete_oldest(sql, self.at_once, "?1 = 0", 0)?;
        }
        free_pages(sql)?;
        Ok(deleted)
    }
}

/// Returns free pages to the file system. Each step of the statement frees one.
fn free_pages(sql: &Connection) -> rusqlite::Result<()> {
    let mut statement = sql.prepare_cached("PRAGMA incremental_vacuum")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Deletes some of the oldest segments that satisfy `condition`, but never the last one. Returns
/// whether there were any.
fn delete_oldest(sql: &mut Connection, at_once: u32, condition: &str, value: i64) -> rusqlite::Result<bool> {
    let transaction = sql.transaction()?;
    let oldest = format!(
        "DELETE FROM segment WHERE id IN (SELECT id FROM segment WHERE {condition} AND id < (SELECT max(id) FROM segment)
         ORDER BY id LIMIT ?2)"
    );
    let deleted = transaction.execute(&oldest, params![value, at_once])?;
    if deleted > 0 {
        // The tables reach as far back as the stream.
        let first = transaction.query_row("SELECT min(from_ms) FROM segment", [], |row| row.get(0))?;
        tables::forget_before(&transaction, Timestamp(first))?;
    }
    transaction.commit()?;
    Ok(deleted > 0)
}

/// Returns the size of the file once the log is moved into it.
fn file_bytes(sql: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| sql.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok(pragma("page_count")? * pragma("page_size")?)
}

/// Returns how many bytes of the file are in use.
pub fn used_bytes(sql: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| sql.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok((pragma("page_count")?.saturating_sub(pragma("freelist_count")?)) * pragma("page_size")?)
}
