//! Makes spans of what a table takes in, without a file.

use rusqlite::Connection;

use super::{GapRecord, RecordedDeletion, TableRecorder, create};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::FindingChanges;
use lockscope_model::queue::{Happening, LockTable};
use lockscope_model::span::Span;

/// Makes spans of finished waits and holds, of locks and of gaps.
///
/// The owner of the table calls [`happened`](Self::happened) after each change,
/// [`findings_changed`](Self::findings_changed) after each look for findings, and
/// [`take`](Self::take) once a second. A span comes about a second after its end was seen; one
/// whose end the servers may still explain, up to ten seconds after it.
///
/// What happened before the first reading has no span. A hold that is found then begins within the
/// bounds that the table knows.
#[derive(Debug)]
pub struct SpanRecorder {
    tables: TableRecorder,
}

impl SpanRecorder {
    /// Starts to make spans. With `no_data` they contain neither the data of nodes nor names read
    /// from them: pass a table whose changes had their data removed. `gap` is the one that an earlier
    /// run left, if there was one; it becomes a span when everything is read.
    ///
    /// # Errors
    ///
    /// Only when there is no memory for empty tables.
    pub fn start(no_data: bool, gap: Option<GapRecord>) -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        create(&connection)?;
        Ok(Self { tables: TableRecorder::resume(&connection, no_data)?.with_spans(gap) })
    }

    /// Returns the gap that the end of this run leaves behind.
    pub fn left_gap(&self) -> Option<GapRecord> {
        self.tables.left_gap()
    }

    /// Records the events of one change, as [`TableRecorder::happened`] does.
    pub fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        self.tables.happened(happenings, table, at);
    }

    /// Records the changes of one look for findings.
    pub fn findings_changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        self.tables.findings_changed(changes, table, at);
    }

    /// Records that a node was deleted by hand, according to the audit log.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.tables.deleted(deletion);
    }

    /// Takes the finished spans, and the number of those that were lost because there were too many
    /// at once. Must be called about once a second, and with `is_last` at the end of the run.
    pub fn take(&mut self, table: &LockTable, now: Timestamp, is_last: bool) -> (Vec<Span>, u64) {
        self.tables.take_rows(table, now, is_last);
        self.tables.take_spans()
    }
}
