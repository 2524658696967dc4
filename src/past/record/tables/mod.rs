//! The tables of a recording that anybody can query: who held and waited, sessions, findings, gaps and deletions.
//!
//! The schema, with what each column means, is `SCHEMA`; `sqlite3 FILE .schema` shows it.
//!
//! # How to feed it
//!
//! ```text
//! tables::create(&transaction)                         when the file is made
//! tables = TableRecorder::resume(&connection, no_data) once a run; what an earlier run left open is continued or closed
//! for each change:
//!     happenings = table.apply(change, at)
//!     tables.happened(&happenings, &table, at)         after each change, also when nothing happened
//! after each look:  tables.findings_changed(&changes, &table, at)
//! when it happens:  tables.gap(from, to, reason)       what the recorder itself missed; cuts and stops are noticed without it
//!                   tables.deleted(deletion)           each outcome of the audit log
//! once a second:    rows = tables.take_rows(&table, now, false)
//! at the end:       rows = tables.take_rows(&table, now, true)
//!
//! where it is written, perhaps in another thread:
//!     writer.write(&transaction, &rows)                a TableWriter; the same rows can be written again
//!     writer.start_over()                              after a transaction that was rolled back, and after `forget_before`
//!     tables::forget_before(&transaction, time)        when old segments go
//! ```
//!
//! Rows that were taken must be written, or the run ends: nothing gives them again.
//!
//! # What is never invented
//!
//! While the table of locks is not live, nothing is known to happen at a certain time. A hold that stood before and is found again (the same
//! node, by the same transaction) goes on. One that is gone ended between the gap's beginning and its end, with the ending `unknown`,
//! unless the servers said that its session expired, or the audit log that it was deleted. A waiter that went within a gap may have held
//! in between. One whose end was seen is `unknown` too, with equal bounds, while nobody can tell whether its session had expired; when the
//! servers list that session later, it becomes `gone`. The time between two runs of the recorder is
//! such a gap.
//!
//! A node that went while its session lived is `gone`: ZooKeeper does not say who deleted it. It
//! becomes `deleted` where the audit log says so, and `released` or `left` where what the servers
//! list proves that its client did it.
//!
//! A contender that stands for less than two flushes is one insert; one that stands longer is written as `open` and updated when it acquires
//! or ends. So `recording.until_at` is one flush behind.
//!
//! With `no_data` no contender's data is written, nor a name that was read from it. Findings say such names in their sentences: feed a table
//! whose changes had the data taken out, as the segments have.

mod contender;
mod deletion;
mod excerpt;
mod found;
mod gaps;
mod lookup;
mod recorder;
mod resume;
mod retention;
mod rows;
mod schema;
mod sessions;
mod standing;
#[cfg(test)]
mod tests;
mod unsettled;

pub use contender::{ContenderEnd, TimeBounds};
pub use deletion::RecordedDeletion;
pub(super) use excerpt::TableExcerpt;
pub use recorder::TableRecorder;
pub use retention::forget_before;
pub use rows::{TableRows, TableWriter};
pub use schema::TABLES_VERSION;

/// Makes the tables in a file that has none.
pub fn create(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.execute_batch(schema::SCHEMA)
}
