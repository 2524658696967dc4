//! The tables of a recording that anybody can query: who held and waited, sessions, findings, gaps and deletions.
//!
//! The schema, with what each column means, is `SCHEMA`; `sqlite3 FILE .schema` shows it.
//!
//! # How to feed it
//!
//! ```text
//! tables::create(&transaction)                        when the file is made
//! TableWriter::resume(&connection, no_data)           once a run; what an earlier run left open is continued or closed
//! for each change:
//!     happenings = table.apply(change, at)
//!     writer.happened(&happenings, &table, at)        after each change, also when nothing happened
//! after each look:  writer.findings_changed(&changes, &table, at)
//! when it happens:  writer.gap(from, to, reason)      what the recorder itself missed; cuts and stops are noticed without it
//!                   writer.deleted(deletion)          each outcome of the audit log
//! once a second:
//!     writer.write(&transaction, &table, now)?
//!     transaction.commit()?
//!     writer.written()                                only after the commit
//! at the end:       writer.finish(&transaction, &table, now)?, commit, written()
//! when old segments go: tables::forget_before(&transaction, time)?, commit, writer.forgotten()
//! ```
//!
//! A transaction that fails is rolled back, and the next [`write`](TableWriter::write) writes the same and what came since.
//!
//! # What is never invented
//!
//! While the table of locks is not live, nothing is known to happen at a certain time. A hold that stood before and is found again (the same
//! node, by the same transaction) goes on. One that is gone ended between the gap's beginning and its end, with the ending `unknown`,
//! unless the servers said that its session expired, or the audit log that it was deleted. A waiter that went within a gap may have held
//! in between. The time between two runs of the recorder is such a gap.
//!
//! A contender that stands for less than two flushes is one insert; one that stands longer is written as `open` and updated when it acquires
//! or ends. So `recording.until_at` is one flush behind.
//!
//! With `no_data` no contender's data is written, nor a name that was read from it. Findings say such names in their sentences: feed a table
//! whose changes had the data taken out, as the segments have.

mod contender;
mod deletion;
mod found;
mod gaps;
mod lookup;
mod resume;
mod retention;
mod rows;
mod schema;
mod sessions;
mod standing;
#[cfg(test)]
mod tests;
mod writer;

pub use contender::{ContenderEnd, TimeBounds};
pub use deletion::RecordedDeletion;
pub use retention::{forget_before, oldest};
pub use schema::TABLES_VERSION;
pub use writer::TableWriter;

/// Makes the tables in a file that has none.
pub fn create(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.execute_batch(schema::SCHEMA)
}
