//! Writes down what a table takes in, while it does.

use std::path::Path;
use std::time::Duration;

use super::bounds::Bounds;
use super::entry::Entry;
use super::segment::GrowingSegment;
use super::state;
use super::store::{Store, StoreError};
use super::writer::{Batch, SegmentStart, WriterHandle};
use crate::diagnose::Diagnosis;
use crate::queue::LockTable;
use crate::znode::Timestamp;

/// What waits for a disk that takes nothing, in bytes. What comes then is not recorded.
const MAX_UNWRITTEN: usize = 16 << 20;

/// A clock that was set back by less than this goes on from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// Where nothing happens, that much is known to have happened is written this often.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);

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
/// Whoever has the table calls [`before`](Self::before) and [`entry`](Self::entry) for each entry, and [`flush`](Self::flush) once a second.
/// None of these waits for the disk.
#[derive(Debug)]
pub struct Recorder {
    writer: WriterHandle,
    segment: Option<GrowingSegment>,
    /// How the segment begins, while that was not handed over.
    start: Option<SegmentStart>,
    /// Whether something is missing between the last segment and the next one.
    misses_entries: bool,
    /// Up to when everything was handed over.
    flushed: Timestamp,
}

impl Recorder {
    /// Begins or goes on with a recording. Blocks the thread as long as the disk does.
    pub fn start(path: &Path, options: RecordOptions) -> Result<Self, StoreError> {
        let writer = WriterHandle::start(Store::create(path)?, options.bounds)?;
        Ok(Self { writer, segment: None, start: None, misses_entries: true, flushed: Timestamp::default() })
    }

    /// To be called before the table changes: the state of this moment may begin a new segment. Answers at which time the change is to be
    /// taken in: where the clock was set back a little, at that of the last entry.
    #[must_use]
    pub fn before(&mut self, now: Timestamp, table: &LockTable, diagnosis: &Diagnosis) -> Timestamp {
        let mut at = now;
        if let Some(segment) = &self.segment {
            let was_set_back = segment.last().since(now) >= MAX_CLOCK_STEP;
            at = if was_set_back { now } else { now.max(segment.last()) };
            if was_set_back || segment.is_full(at) {
                self.end_segment(at, was_set_back);
            }
        }
        if self.segment.is_none() && self.writer.has_room() {
            self.begin_segment(at, table, diagnosis);
        }
        at
    }

    /// To be called with what the table takes in, at that time.
    pub fn entry(&mut self, at: Timestamp, entry: &Entry<'_>) {
        let Some(segment) = &mut self.segment else { return };
        if segment.unwritten() > MAX_UNWRITTEN || segment.push(at, entry).is_err() {
            (self.segment, self.start, self.misses_entries) = (None, None, true);
        }
    }

    /// Hands over what came since the last time. To be called once a second, also when nothing happens: that is recorded too.
    pub fn flush(&mut self, now: Timestamp) {
        let Some(segment) = &self.segment else { return };
        let is_quiet = segment.unwritten() == 0 && self.start.is_none();
        if is_quiet && self.flushed.0 <= now.0 && now.since(self.flushed) < QUIET_INTERVAL {
            return;
        }
        if self.writer.has_room() {
            let batch = self.batch(now, false);
            self.writer.send(batch);
        }
    }

    /// Why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        self.writer.trouble()
    }

    /// Ends the recording, when everything is written. Blocks the thread as long as the disk does.
    pub fn stop(mut self, now: Timestamp) -> Result<(), StoreError> {
        let last = self.batch(now, self.segment.is_some());
        self.writer.finish(last)
    }

    fn begin_segment(&mut self, at: Timestamp, table: &LockTable, diagnosis: &Diagnosis) {
        let Ok(state) = state::write(table, diagnosis) else { return };
        self.start = Some(SegmentStart { from: at, state, new_run: std::mem::take(&mut self.misses_entries) });
        self.segment = Some(GrowingSegment::new(at, table.contender_count()));
    }

    /// Ends the segment, as soon as its end can be handed over; at once, whatever is lost, where `clock_was_set_back`.
    fn end_segment(&mut self, at: Timestamp, clock_was_set_back: bool) {
        if self.writer.has_room() {
            let until = self.segment.as_ref().map_or(at, |segment| segment.last().max(self.flushed));
            let batch = self.batch(if clock_was_set_back { until } else { at }, true);
            self.writer.send(batch);
            self.segment = None;
        } else if clock_was_set_back {
            (self.segment, self.start) = (None, None);
        }
        self.misses_entries |= clock_was_set_back;
    }

    fn batch(&mut self, until: Timestamp, ends: bool) -> Batch {
        self.flushed = until;
        let entries = self.segment.as_mut().map(GrowingSegment::take_unwritten).unwrap_or_default();
        Batch { begins: self.start.take(), entries, until, ends }
    }
}
