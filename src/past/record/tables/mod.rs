//! The tables of a recording for queries: holds and waits, sessions, findings, gaps and deletions.
//!
//! The schema, with the meaning of each column, is `SCHEMA`; `sqlite3 FILE .schema` shows it.
//!
//! # How to feed it
//!
//! ```text
//! when the file is created:
//!     tables::create(&transaction)
//! once a run, which continues or closes what an earlier run left open:
//!     tables = TableRecorder::resume(&connection, no_data)
//! for each change, even without events:
//!     happenings = table.apply(change, at)
//!     tables.happened(&happenings, &table, at)
//! after each look for findings:
//!     tables.findings_changed(&changes, &table, at)
//! when the recorder itself misses something (cuts and stops are noticed without it):
//!     tables.gap(from, to, reason)
//! for each create that was refused, as a transaction log has it:
//!     tables.attempted(attempts)
//! for each event of the ensemble that a transaction log shows:
//!     tables.happened_to_ensemble(event)
//! for each outcome of the audit log:
//!     tables.deleted(deletion)
//! once a second:
//!     rows = tables.take_rows(&table, now, false)
//! at the end:
//!     rows = tables.take_rows(&table, now, true)
//!
//! in the writer, perhaps in another thread:
//!     writer.write(&transaction, &rows)          a TableWriter; the same rows can be written again
//!     tables::forget_before(&transaction, time)  when old segments are deleted
//!     writer.start_over()                        after `forget_before`, and after a rollback
//! ```
//!
//! Rows that were taken must be written, or the run must end: they are not returned again.
//!
//! # Certainty
//!
//! While the table of locks is not live, no event has a certain time. A hold that is found again
//! afterwards (the same node, created by the same transaction) continues. One that is gone ended
//! between the beginning and the end of the gap, with the ending `unknown`, unless the servers
//! reported that its session expired or the audit log that it was deleted. A waiter that vanished
//! within a gap may have held in between.
//!
//! An end that was seen is also `unknown`, with equal bounds, while it is not known whether the
//! session had expired. When the servers list that session later, the ending becomes `gone`. The
//! time between two runs of the recorder is a gap too.
//!
//! A node that vanished while its session lived is `gone`: ZooKeeper does not report who deleted
//! it. It becomes `deleted` if the audit log says so, and `released` or `left` if the servers'
//! lists prove that its client deleted it.
//!
//! A contender that exists for less than two flushes is one insert. A longer one is written as
//! `open` and updated when it acquires or ends. So `recording.until_at` is one flush behind.
//!
//! With `no_data` neither the data of contenders nor names read from them are written. Findings
//! contain such names in their sentences: pass a table whose changes had their data removed, as the
//! segments have.

mod contender;
mod coverage;
pub(super) mod facts;
pub(super) mod merge;
mod recorder;
mod resume;
mod rows;
pub(super) mod spans;
mod standing;
mod timeline;
mod trace;
mod unsettled;

use rusqlite::Connection;

pub(in crate::record) use contender::select as select_contenders;
pub use contender::{ContenderEnd, PastContender, RowSource};
pub use coverage::{CoveredTime, ProvenTime};
pub(in crate::record) use coverage::{covered, source_at, uncovered};
pub use facts::{RecordedAttempts, RecordedDeletion};
pub use recorder::{SpanRecorder, TableRecorder};
pub(super) use resume::{TableExcerpt, deletions};
pub use rows::{TableRows, TableWriter, forget_before};
pub use timeline::GapRecord;
pub(in crate::record) use timeline::{EnsembleRecord, NOT_READ, rows as ensemble_rows};

#[cfg(test)]
mod tests;

/// Creates the tables in a file that has none.
pub fn create(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    add_missing(connection)
}

/// The version of the tables, stored in `recording.tables_version`. Columns are added, never
/// renamed; a change of meaning raises the version.
///
/// Since version 2, `released` and `left` are proven; before, every end of a node while its session
/// lived was called so.
pub const TABLES_VERSION: i64 = 2;

/// Creates the tables, their indexes and their views if they are missing.
const SCHEMA: &str = r"
-- Times are milliseconds since 1970-01-01 UTC, by the clock of the machine that recorded; the views that end in _utc show them as
-- text. Text that came from a znode stands here as it is: escape it before a terminal shows it.

-- Each run of the recorder. What lies between two runs was not seen: it is a gap.
CREATE TABLE IF NOT EXISTS recording (
    id INTEGER PRIMARY KEY,
    tables_version INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,      -- up to here everything that was seen is in the tables
    source TEXT                     -- watched or log: a recorder, or the servers' transaction logs; null where an earlier version recorded
);

-- What proves that a recording from transaction logs has every transaction of a time.
CREATE TABLE IF NOT EXISTS coverage (
    id INTEGER PRIMARY KEY,
    began_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    first_zxid INTEGER NOT NULL,
    last_zxid INTEGER NOT NULL,
    proven_by TEXT NOT NULL,        -- numbers, digests, log, snapshot: of several epochs the weakest
    older_locks INTEGER NOT NULL    -- whether the locks that are older are there
);
CREATE INDEX IF NOT EXISTS coverage_ended ON coverage (ended_at);

CREATE TABLE IF NOT EXISTS lock (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,             -- the lock parent, or the lock node itself
    name TEXT,                      -- which queue, where the parent holds several
    recipe TEXT NOT NULL,
    kind TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS lock_path ON lock (path, ifnull(name, x''));

CREATE TABLE IF NOT EXISTS client (
    id INTEGER PRIMARY KEY,
    address TEXT,                   -- ADDRESS:PORT as a server listed the connection
    name TEXT                       -- what it wrote into its nodes, where that names somebody
);
CREATE UNIQUE INDEX IF NOT EXISTS client_identity ON client (ifnull(address, x''), ifnull(name, x''));

-- One row a request for a lock: who came, waited, held, and how that ended. The views hold and wait are easier to read.
-- A time that is not known exactly has two bounds: it lies after the one and not after the other. They are equal where it was seen.
CREATE TABLE IF NOT EXISTS contender (
    id INTEGER PRIMARY KEY,         -- rises in the order in which they were first seen
    lock_id INTEGER NOT NULL,       -- lock.id
    client_id INTEGER,              -- client.id
    session INTEGER,                -- signed, as ZooKeeper keeps it; null when no session owns the node
    first_seen_at INTEGER NOT NULL,
    enqueued_at INTEGER,            -- when it was seen to come, or when its node was created
    acquired_after INTEGER,         -- null for who never held
    acquired_before INTEGER,
    ended_after INTEGER,            -- null while it stands
    ended_before INTEGER,
    ending TEXT NOT NULL,           -- gone, released, left, expired, deleted, closed, unknown; open while it stands. Before tables_version 2 released and left mean gone
    mode TEXT NOT NULL,             -- exclusive, read, write, lease
    node TEXT NOT NULL,             -- of who holds a lease: the lease
    czxid INTEGER,                  -- the transaction that created the node: the fencing token
    data,                           -- the beginning of the node's data when it came, acquired or was found: text, or a blob where it is none
    deleted_by INTEGER,             -- the session whose request deleted the node, where a transaction log shows it
    source TEXT                     -- watched, log or both: a recorder, or the servers' transaction logs; null for watched
);
-- Who stood within a time is found in the index alone. Earlier versions had one without the second column.
CREATE INDEX IF NOT EXISTS contender_stood ON contender (ifnull(ended_before, 9223372036854775807), first_seen_at);
DROP INDEX IF EXISTS contender_ended;
CREATE INDEX IF NOT EXISTS contender_lock ON contender (lock_id, ifnull(ended_before, 9223372036854775807));
CREATE INDEX IF NOT EXISTS contender_session ON contender (session, ifnull(ended_before, 9223372036854775807));
CREATE INDEX IF NOT EXISTS contender_client ON contender (client_id, ifnull(ended_before, 9223372036854775807));

-- The sessions that contended.
CREATE TABLE IF NOT EXISTS session (
    session INTEGER PRIMARY KEY,
    client_id INTEGER,
    first_seen_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,  -- when it last began or ended to contend
    expired_at INTEGER              -- when a node of it was seen to go with it
);

CREATE TABLE IF NOT EXISTS finding (
    id INTEGER PRIMARY KEY,
    lock_id INTEGER NOT NULL,
    client_id INTEGER,
    session INTEGER,
    node TEXT,
    code TEXT NOT NULL,
    severity TEXT NOT NULL,         -- info, warning, critical: the worst that it was
    raised_at INTEGER NOT NULL,
    cleared_at INTEGER,             -- null while it stands
    ending TEXT NOT NULL,           -- cleared; unknown when nobody could look any more; open while it stands
    summary TEXT NOT NULL,
    remedy TEXT NOT NULL,
    muted_until INTEGER,            -- of a muted finding; null until it is cleared
    muted_note TEXT,
    muted_by TEXT                   -- who muted it; null for one that nobody muted
);
CREATE INDEX IF NOT EXISTS finding_cleared ON finding (ifnull(cleared_at, 9223372036854775807));

-- When nothing was seen, and why.
CREATE TABLE IF NOT EXISTS gap (
    id INTEGER PRIMARY KEY,
    began_at INTEGER NOT NULL,      -- up to here everything was seen
    ended_at INTEGER,               -- from here on everything was seen; null while it lasts
    reason TEXT NOT NULL
);

-- What happened to the ensemble as a whole. A time that is not known exactly has two bounds: it lies after the one and not after the
-- other.
CREATE TABLE IF NOT EXISTS ensemble_event (
    id INTEGER PRIMARY KEY,
    what TEXT NOT NULL,             -- no-majority, election, leader-changed, member-missing, slow-writes, not-seen
    member TEXT,                    -- the member that it happened to, or that leads since; null where it concerns all of them
    epoch INTEGER,                  -- the epoch that began with it
    began_after INTEGER NOT NULL,
    began_before INTEGER NOT NULL,
    ended_after INTEGER,            -- null while it lasts
    ended_before INTEGER,
    detail TEXT,                    -- what else is known, in a sentence
    source TEXT NOT NULL            -- watched, log or both: a recorder, or the servers' transaction logs
);
CREATE INDEX IF NOT EXISTS ensemble_event_ended ON ensemble_event (ifnull(ended_before, 9223372036854775807));

-- How much happened: an event is what a line of `lockscope watch` is. One row a second in which anything did.
CREATE TABLE IF NOT EXISTS activity (
    until_at INTEGER PRIMARY KEY,
    events INTEGER NOT NULL         -- since the row before, or within the last seconds
);

-- Creates that the servers refused because the node existed, as at a lock that is a single node and taken. Only transaction logs
-- show them. They name the session and not the node.
CREATE TABLE IF NOT EXISTS attempt (
    id INTEGER PRIMARY KEY,
    lock TEXT,                      -- the path that the session most likely tried; null where several locks were taken
    session INTEGER,                -- null for several sessions
    from_at INTEGER NOT NULL,       -- the first and the last of them, some seconds apart at most
    to_at INTEGER NOT NULL,
    count INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS attempt_to ON attempt (to_at);

-- What the audit log says of deletions by hand.
CREATE TABLE IF NOT EXISTS deletion (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    lock TEXT NOT NULL,
    path TEXT NOT NULL,
    czxid INTEGER,
    by TEXT,                        -- who deleted it
    result TEXT NOT NULL,
    reason TEXT
);
CREATE INDEX IF NOT EXISTS deletion_at ON deletion (at);

CREATE VIEW IF NOT EXISTS hold AS
    SELECT contender.id, lock.path AS lock, lock.name, lock.recipe, contender.node, contender.czxid, contender.mode,
        printf('0x%x', contender.session) AS session, client.address AS client, client.name AS client_name, contender.data,
        enqueued_at, CASE acquired_before WHEN acquired_after THEN acquired_before END AS acquired_at, acquired_after, acquired_before,
        ended_after, ended_before AS released_at,
        max(0, ifnull(ended_after, (SELECT max(until_at) FROM recording)) - acquired_before) AS held_at_least_ms,
        max(0, ifnull(ended_before, (SELECT max(until_at) FROM recording)) - acquired_after) AS held_at_most_ms,
        CASE acquired_before WHEN acquired_after THEN max(0, acquired_before - enqueued_at) END AS waited_ms, ending,
        CASE WHEN deleted_by IS NOT NULL THEN printf('0x%x', deleted_by) END AS deleted_by, ifnull(source, 'watched') AS source
    FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id
    WHERE acquired_before IS NOT NULL;

-- Those that never held, or do not yet.
CREATE VIEW IF NOT EXISTS wait AS
    SELECT contender.id, lock.path AS lock, lock.name, lock.recipe, contender.node, contender.czxid, contender.mode,
        printf('0x%x', contender.session) AS session, client.address AS client, client.name AS client_name, contender.data,
        enqueued_at, ended_after, ended_before AS left_at,
        max(0, ifnull(ended_before, (SELECT max(until_at) FROM recording)) - enqueued_at) AS waited_at_most_ms, ending,
        CASE WHEN deleted_by IS NOT NULL THEN printf('0x%x', deleted_by) END AS deleted_by, ifnull(source, 'watched') AS source
    FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id
    WHERE acquired_before IS NULL;

CREATE VIEW IF NOT EXISTS hold_utc AS
    SELECT lock, name, node, mode, session, client, client_name,
        strftime('%Y-%m-%dT%H:%M:%fZ', enqueued_at / 1000.0, 'unixepoch') AS enqueued_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', acquired_at / 1000.0, 'unixepoch') AS acquired_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', released_at / 1000.0, 'unixepoch') AS released_at,
        held_at_least_ms, held_at_most_ms, waited_ms, ending
    FROM hold;

CREATE VIEW IF NOT EXISTS wait_utc AS
    SELECT lock, name, node, mode, session, client, client_name,
        strftime('%Y-%m-%dT%H:%M:%fZ', enqueued_at / 1000.0, 'unixepoch') AS enqueued_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', left_at / 1000.0, 'unixepoch') AS left_at, waited_at_most_ms, ending
    FROM wait;

CREATE VIEW IF NOT EXISTS finding_utc AS
    SELECT lock.path AS lock, lock.name, finding.node, printf('0x%x', session) AS session, client.address AS client, code, severity,
        strftime('%Y-%m-%dT%H:%M:%fZ', raised_at / 1000.0, 'unixepoch') AS raised_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', cleared_at / 1000.0, 'unixepoch') AS cleared_at, ending, summary, remedy
    FROM finding JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id;

CREATE VIEW IF NOT EXISTS session_utc AS
    SELECT printf('0x%x', session) AS session, client.address AS client, client.name AS client_name,
        strftime('%Y-%m-%dT%H:%M:%fZ', first_seen_at / 1000.0, 'unixepoch') AS first_seen_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', last_seen_at / 1000.0, 'unixepoch') AS last_seen_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', expired_at / 1000.0, 'unixepoch') AS expired_at
    FROM session LEFT JOIN client ON client.id = client_id;

CREATE VIEW IF NOT EXISTS gap_utc AS
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', began_at / 1000.0, 'unixepoch') AS began_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at, reason
    FROM gap;

CREATE VIEW IF NOT EXISTS ensemble_event_utc AS
    SELECT what, member, epoch, strftime('%Y-%m-%dT%H:%M:%fZ', began_after / 1000.0, 'unixepoch') AS began_after,
        strftime('%Y-%m-%dT%H:%M:%fZ', began_before / 1000.0, 'unixepoch') AS began_before,
        strftime('%Y-%m-%dT%H:%M:%fZ', ended_after / 1000.0, 'unixepoch') AS ended_after,
        strftime('%Y-%m-%dT%H:%M:%fZ', ended_before / 1000.0, 'unixepoch') AS ended_before, detail, source
    FROM ensemble_event;

CREATE VIEW IF NOT EXISTS attempt_utc AS
    SELECT lock, printf('0x%x', session) AS session, strftime('%Y-%m-%dT%H:%M:%fZ', from_at / 1000.0, 'unixepoch') AS from_at,
        strftime('%Y-%m-%dT%H:%M:%fZ', to_at / 1000.0, 'unixepoch') AS to_at, count
    FROM attempt;

CREATE VIEW IF NOT EXISTS deletion_utc AS
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at, lock, path, czxid, by, result, reason
    FROM deletion;
";

/// The columns that were added to tables, with their types.
const ADDED: [(&str, &str, &str); 6] = [
    ("contender", "deleted_by", "INTEGER"),
    ("contender", "source", "TEXT"),
    ("recording", "source", "TEXT"),
    ("finding", "muted_until", "INTEGER"),
    ("finding", "muted_note", "TEXT"),
    ("finding", "muted_by", "TEXT"),
];

/// Returns the expression that reads an added column; NULL in a file without it.
pub(super) fn or_null(connection: &Connection, table: &str, column: &'static str) -> rusqlite::Result<&'static str> {
    Ok(if connection.column_exists(None, table, column)? { column } else { "NULL" })
}

/// Adds the columns that a file of an earlier version lacks.
fn add_missing(connection: &Connection) -> rusqlite::Result<()> {
    for (table, column, kind) in ADDED {
        if !connection.column_exists(None, table, column)? {
            connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {kind}"))?;
        }
    }
    Ok(())
}
