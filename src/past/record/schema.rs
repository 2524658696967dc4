//! What is in the file of a recording.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

use super::memory::MAX_VALUE;
use super::tables;

/// Marks a `SQLite` file as a recording: `lksc`, as bytes of a number.
const APPLICATION_ID: i64 = 0x6c6b_7363;

/// The version of everything in the file. It changes when an older program would misread it.
pub(super) const FORMAT: i64 = 3;

/// The oldest version that is read. What it lacks is not known.
pub(super) const OLDEST_FORMAT: i64 = 2;

/// Bytes that the log of changes beside the file keeps when nobody reads it.
const MAX_LOG_BYTES: u32 = 4 << 20;

/// What the connection of who writes keeps of the file in memory, at most, in units of 1,024 bytes.
const MAX_CACHE_KILOBYTES: i64 = 8_192;

/// And at most this part of what the file may become.
const CACHE_FRACTION: u64 = 8;

/// The stream of changes.
///
/// A segment is what was learned from `from_ms` to `until_ms`, both by the recorder's clock. While it grows it has a chunk for each time it was
/// written; then they are put together in one. Both keyframes and chunks are zstd frames: `record::state` and `record::entry` say what is in
/// them. Programs other than lockscope find what happened in the tables of `record::tables`.
const STREAM: &str = "
-- What was recorded without a gap.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    -- The servers, and the node that stands for /.
    connect TEXT NOT NULL,
    -- The version of lockscope.
    version TEXT NOT NULL
);
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (id),
    from_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    entries INTEGER NOT NULL
);
CREATE INDEX segment_time ON segment (from_ms);
-- The state before the first entry of a segment.
CREATE TABLE keyframe (
    segment INTEGER PRIMARY KEY REFERENCES segment (id) ON DELETE CASCADE,
    state BLOB NOT NULL
);
CREATE TABLE chunk (
    segment INTEGER NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (segment, number)
);
";

/// Makes everything in an empty file.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // Freed pages are given back to the system in small steps, so that a bound can be kept without copying the file.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(STREAM)?;
    tables::create(&transaction)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Settings of every connection to a file: what others put into it runs nothing when it is read or written, and no value fills the memory.
pub(super) fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA trusted_schema = OFF")?;
    // A view in the place of a table could make rows without an end.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    Ok(())
}

/// Makes what an older version did not make. What is written from now on is of this version.
pub(super) fn complete(connection: &Connection) -> rusqlite::Result<()> {
    tables::create(connection)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Settings of the connection of who writes.
pub(super) fn prepare_to_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    // What was written survives the end of the program; of a power failure, only what was moved into the file.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Keeps the pages in memory that each second changes, which would be read again from the file; `max_bytes` is the bound of the file.
pub(super) fn set_cache(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    let part = max_bytes.and_then(|most| i64::try_from(most / CACHE_FRACTION / 1_024).ok());
    connection.pragma_update(None, "cache_size", -MAX_CACHE_KILOBYTES.min(part.unwrap_or(MAX_CACHE_KILOBYTES)))
}

/// Whether nothing was ever made in a database.
pub(super) fn is_empty(connection: &Connection) -> bool {
    let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0)).ok();
    count("SELECT count(*) FROM sqlite_master") == Some(0) && count("PRAGMA application_id") == Some(0)
}

/// The format of a recording; `None` when it is none.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((id == APPLICATION_ID).then_some(format))
}
