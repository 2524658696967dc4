//! The schema of a recording's file.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

use super::memory::MAX_VALUE;
use super::tables;

/// Marks a `SQLite` file as a recording: the bytes of `lksc` as a number.
const APPLICATION_ID: i64 = 0x6c6b_7363;

/// The version of the whole file. It changes when an older program would misread it.
pub(super) const FORMAT: i64 = 8;

/// The oldest version that can be read. Facts that it lacks are unknown.
pub(super) const OLDEST_FORMAT: i64 = 2;

/// The size of `SQLite`'s write-ahead log while nobody reads it, in bytes.
const MAX_LOG_BYTES: u32 = 4 << 20;

/// The largest page cache of the writing connection, in units of 1,024 bytes.
const MAX_CACHE_KILOBYTES: i64 = 8_192;

/// The cache is also at most this fraction of the largest file.
const CACHE_FRACTION: u64 = 8;

/// The stream of changes.
///
/// A segment covers the time from `from_ms` to `until_ms`, both by the recorder's clock. While it
/// grows, it has one chunk for each write; afterwards the chunks are merged into one. Keyframes and
/// chunks are zstd frames: `record::state` and `record::entry` describe their content. Other
/// programs find the events in the tables of `record::tables`.
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

/// Creates the schema in an empty file.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // Freed pages are returned to the file system in small steps, so that a bound can be kept
    // without copying the file.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(STREAM)?;
    tables::create(&transaction)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Protects a connection from the content of the file: nothing in it runs when it is read or
/// written, and no value fills the memory.
pub(super) fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA trusted_schema = OFF")?;
    // A view in place of a table could produce endless rows.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    Ok(())
}

/// Adds what an older version lacks. From now on the file has the current version.
pub(super) fn complete(connection: &Connection) -> rusqlite::Result<()> {
    tables::create(connection)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Adds what an older version lacks, within the caller's transaction. Returns whether the version
/// changed.
pub(super) fn complete_older(connection: &Connection) -> rusqlite::Result<bool> {
    let is_older = format(connection)? != Some(FORMAT);
    tables::create(connection)?;
    if is_older {
        connection.pragma_update(None, "user_version", FORMAT)?;
    }
    Ok(is_older)
}

/// Sets up the writing connection.
pub(super) fn prepare_to_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    // Written data survive the end of the program. After a power failure, only data moved into the
    // main file are certain.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Sets up the connection to a new file that nobody reads until [`complete_alone`]. What is only
/// needed for reading is left to that, and nothing waits for the disk: the caller does so once.
pub(super) fn write_alone(connection: &Connection) -> rusqlite::Result<()> {
    let query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'contender' AND sql IS NOT NULL";
    let indexes: Vec<String> =
        connection.prepare(query)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for index in indexes {
        connection.execute_batch(&format!("DROP INDEX {index}"))?;
    }
    // Else each replaced row is saved in a file first.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "synchronous", "OFF")
}

/// Completes a file, which then needs no other beside it.
pub(super) fn complete_alone(connection: &Connection) -> rusqlite::Result<()> {
    // The rows are sorted in files, however many there are.
    connection.pragma_update(None, "temp_store", "FILE")?;
    tables::create(connection)?;
    connection.pragma_update(None, "journal_mode", "DELETE")
}

/// Sizes the cache so that pages changed every second stay in memory; `max_bytes` is the bound of
/// the file.
pub(super) fn set_cache(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    let part = max_bytes.and_then(|most| i64::try_from(most / CACHE_FRACTION / 1_024).ok());
    connection.pragma_update(None, "cache_size", -MAX_CACHE_KILOBYTES.min(part.unwrap_or(MAX_CACHE_KILOBYTES)))
}

/// Returns whether a database has no content at all.
pub(super) fn is_empty(connection: &Connection) -> bool {
    let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0)).ok();
    count("SELECT count(*) FROM sqlite_master") == Some(0) && count("PRAGMA application_id") == Some(0)
}

/// Returns the format of a recording; `None` when the file is none.
pub(super) fn format(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((id == APPLICATION_ID).then_some(format))
}
