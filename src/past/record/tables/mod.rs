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

pub(super) mod attempt;
pub(super) mod columns;
mod contender;
mod deletion;
mod ensemble;
mod excerpt;
mod found;
mod gaps;
mod lookup;
pub(super) mod merge;
mod recorder;
mod resume;
mod retention;
mod rows;
mod schema;
mod sessions;
mod source;
mod span_recorder;
mod standing;
mod stored;
#[cfg(test)]
mod tests;
mod trace;
mod unsettled;

pub use attempt::RecordedAttempts;
pub use contender::ContenderEnd;
pub use deletion::RecordedDeletion;
pub(super) use excerpt::TableExcerpt;
pub use gaps::GapRecord;
pub(in crate::record) use gaps::NOT_READ;
pub use recorder::TableRecorder;
pub use retention::forget_before;
pub use rows::{TableRows, TableWriter};
pub use schema::TABLES_VERSION;
pub use source::Source;
pub use span_recorder::SpanRecorder;

/// Creates the tables in a file that has none.
pub fn create(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.execute_batch(schema::SCHEMA)?;
    columns::add_missing(connection)
}
