//! Writes down what a table takes in, while it does.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::bounds::Bounds;
use super::entry::Entry;
use super::segment::{GrowingSegment, SegmentBounds};
use super::state;
use super::store::{Store, StoreError};
use super::tables::{RecordedDeletion, TableRecorder, TableWriter};
use super::unwritten::Unwritten;
use super::writer::{Batch, SegmentStart, WritePlace};
use crate::diagnose::{Diagnosis, FindingChanges};
use crate::queue::{Change, Happening, LockTable};
use crate::znode::{NodeData, Timestamp};

/// A clock that was set back by less than this goes on from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// How often the end of a recording is tried to be written, and how long to wait after each.
const LAST_TRIES: u32 = 5;
const LAST_PAUSE: Duration = Duration::from_millis(400);

/// How a recording is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// How much of it is kept.
    pub bounds: Bounds,
    /// Whether the data of contenders is recorded, which may hold secrets.
    pub with_data: bool,
}

/// Records what a table takes in.
///
/// Whoever has the table lets it take in changes by [`apply`](Self::apply) and examines it by [`examine`](Self::examine), neither of which
/// waits for the disk, and calls [`flush`](Self::flush) once a second, which does.
#[derive(Debug)]
pub struct Recorder {
    store: Store,
    options: RecordOptions,
    place: WritePlace,
    tables: TableRecorder,
    table_writer: TableWriter,
    segment_bounds: SegmentBounds,
    segment: Option<GrowingSegment>,
    /// How the segment begins, while no batch has it.
    start: Option<SegmentStart>,
    unwritten: Unwritten,
    /// The servers, and the node that stands for /.
    connect: Arc<str>,
    /// Whether something is missing between the last segment and the next one.
    misses_entries: bool,
}

impl Recorder {
    /// Begins or goes on with a recording of this ensemble: its servers, and the node that stands for `/`. Blocks the thread as long as the
    /// disk does.
    pub fn start(path: &Path, connect: &str, options: RecordOptions) -> Result<Self, StoreError> {
        let mut store = Store::create(path)?;
        let place = store.sql(|sql| WritePlace::at_end(sql))?;
        let tables = store.sql(|sql| TableRecorder::resume(sql, !options.with_data))?;
        store.sql(|sql| options.bounds.limit(sql))?;
        Ok(Self {
            store,
            options,
            place,
            tables,
            table_writer: TableWriter::default(),
            segment_bounds: options.bounds.segment_bounds(),
            segment: None,
            start: None,
            unwritten: Unwritten::default(),
            connect: connect.into(),
            misses_entries: true,
        })
    }

    /// With segments that end sooner or later.
    #[cfg(test)]
    pub(super) fn with_segments(self, segment_bounds: SegmentBounds) -> Self {
        Self { segment_bounds, ..self }
    }

    /// Waits no longer for another program that has the file locked.
    #[cfg(test)]
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        self.store.sql(|sql| sql.busy_timeout(time)).expect("a connection");
    }

    /// Has a table take in a change, and records it. Answers when that was: where the clock was set back a little, at the time of the
    /// change before.
    pub fn apply(
        &mut self,
        change: Change,
        now: Timestamp,
        table: &mut LockTable,
        diagnosis: &Diagnosis,
    ) -> (Timestamp, Vec<Happening>) {
        let at = self.before(now, table, diagnosis);
        let change = if self.options.with_data { change } else { without_data(change, table) };
        self.entry(at, &Entry::Change(Cow::Borrowed(&change)));
        let happenings = table.apply(change, at);
        self.tables.happened(&happenings, table, at);
        (at, happenings)
    }

    /// Examines a table for findings, and records that. Answers when that was, as [`apply`](Self::apply).
    pub fn examine(
        &mut self,
        now: Timestamp,
        table: &LockTable,
        diagnosis: &mut Diagnosis,
    ) -> (Timestamp, FindingChanges) {
        let at = self.before(now, table, diagnosis);
        self.entry(at, &Entry::Examined);
        let changes = diagnosis.examine(table, at);
        self.tables.findings_changed(&changes, table, at);
        (at, changes)
    }

    /// Takes an outcome of the audit log: somebody deleted a node by hand.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.tables.deleted(deletion);
    }

    /// Writes what came since the last time. To be called once a second, also when nothing happens: that is recorded too. Blocks the thread
    /// as long as the disk does. What cannot be written is kept and tried again, later and later, until there is too much of it.
    pub fn flush(&mut self, now: Timestamp, table: &LockTable) {
        if self.segment.is_some() {
            self.end_batch(now, table, false);
        }
        if !self.unwritten.is_empty() && self.unwritten.is_due(now) {
            let written = self.write(now);
            self.unwritten.tried(written, now);
        }
        if self.unwritten.is_too_much() {
            let reason = format!("what happened could not be written: {}", self.trouble().unwrap_or_default());
            let from = self.unwritten.clear();
            (self.segment, self.start, self.misses_entries) = (None, None, true);
            // The rows are lost with the rest: those that are in the file are continued.
            if let Ok(tables) = self.store.sql(|sql| TableRecorder::resume(sql, !self.options.with_data)) {
                self.tables = tables;
            }
            self.tables.gap(from, now, &reason);
        }
    }

    /// Why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.unwritten.trouble()
    }

    /// What is recorded from now on is another table, as after a new connection with other settings. Blocks the thread as long as the disk
    /// does.
    pub fn start_over(&mut self, connect: &str, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.end(table, now)?;
        self.tables = self.store.sql(|sql| TableRecorder::resume(sql, !self.options.with_data))?;
        self.connect = connect.into();
        Ok(())
    }

    /// Ends the recording, when everything is written; fails when that is not possible within two seconds. Blocks the thread meanwhile.
    pub fn stop(mut self, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.end(table, now)
    }

    fn end(&mut self, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.end_batch(now, table, true);
        self.unwritten.add_rows(self.tables.take_rows(table, now, true), now);
        self.misses_entries = true;
        for _ in 1..LAST_TRIES {
            if self.write(now).is_ok() {
                return Ok(());
            }
            thread::sleep(LAST_PAUSE);
        }
        self.write(now)
    }

    /// The state of this moment may begin a new segment.
    fn before(&mut self, now: Timestamp, table: &LockTable, diagnosis: &Diagnosis) -> Timestamp {
        let mut at = now;
        if let Some(segment) = &self.segment {
            let last = segment.last();
            let was_set_back = last.since(now) >= MAX_CLOCK_STEP;
            at = if was_set_back { now } else { now.max(last) };
            if was_set_back {
                self.tables.gap(now, last, "the clock of the recorder was set back");
                self.misses_entries = true;
            }
            if was_set_back || segment.is_full(at) {
                self.end_batch(last.max(at), table, true);
            }
        }
        if self.segment.is_none()
            && let Ok(state) = state::write(table, diagnosis)
        {
            let new_run = std::mem::take(&mut self.misses_entries).then(|| Arc::clone(&self.connect));
            self.start = Some(SegmentStart { from: at, state, new_run });
            self.segment = Some(GrowingSegment::new(at, table.contender_count(), self.segment_bounds));
        }
        at
    }

    fn entry(&mut self, at: Timestamp, entry: &Entry<'_>) {
        // A state or an entry that cannot be written at all is as good as a gap. There is none.
        if self.segment.as_mut().is_some_and(|segment| segment.push(at, entry).is_err()) {
            (self.segment, self.start, self.misses_entries) = (None, None, true);
        }
    }

    fn end_batch(&mut self, until: Timestamp, table: &LockTable, ends: bool) {
        let Some(segment) = &mut self.segment else { return };
        let (entries, count) = segment.take_unwritten();
        if ends {
            self.segment = None;
        }
        let rows = self.tables.take_rows(table, until, false);
        self.unwritten.push(Batch { begins: self.start.take(), entries, count, rows, until, ends, is_packed: false });
    }

    /// Writes the batches one by one, until one cannot be written.
    fn write(&mut self, now: Timestamp) -> Result<(), StoreError> {
        while let Some(batch) = self.unwritten.first() {
            let has_ended = batch.ends;
            self.store.sql(|_| batch.pack())?;
            self.options.bounds.make_room(&mut self.store, batch.bytes())?;
            let mut written = add(&mut self.store, self.place, &mut self.table_writer, batch);
            if written.as_ref().is_err_and(StoreError::is_full) && self.keep(now, true)? {
                let Some(batch) = self.unwritten.first() else { return Ok(()) };
                written = add(&mut self.store, self.place, &mut self.table_writer, batch);
            }
            self.place = written?;
            self.unwritten.written();
            if has_ended {
                self.keep(now, false)?;
            }
        }
        Ok(())
    }

    /// Deletes what is too old or too much; where the file is full, the oldest in any case. Whether there was anything to delete.
    fn keep(&mut self, now: Timestamp, is_full: bool) -> Result<bool, StoreError> {
        let bounds = self.options.bounds;
        let deleted = self.store.sql(|sql| bounds.keep(sql, now, is_full))?;
        if deleted {
            self.table_writer.start_over();
        }
        Ok(deleted)
    }
}

/// Adds a batch to the file, or nothing. Answers where the next one belongs.
fn add(
    store: &mut Store,
    mut place: WritePlace,
    tables: &mut TableWriter,
    batch: &Batch,
) -> Result<WritePlace, StoreError> {
    let added = store.sql(|sql| {
        let transaction = sql.transaction()?;
        place.add(&transaction, batch)?;
        tables.write(&transaction, &batch.rows)?;
        transaction.commit()
    });
    if added.is_err() {
        tables.start_over();
    }
    added.map(|()| place)
}

/// The change without the data of its node, unless that is the number of leases of a semaphore.
fn without_data(mut change: Change, table: &LockTable) -> Change {
    if let Change::Seen { path, node } = &mut change {
        let is_number = std::str::from_utf8(node.data.bytes()).is_ok_and(|text| text.trim().parse::<u32>().is_ok());
        if table.is_contender(path) || !is_number {
            node.data = NodeData::default();
        }
    }
    change
}
