//! Records what a table takes in, while it does.

use std::path::Path;
#[cfg(test)]
use std::time::Duration;

use super::batch_recorder::BatchRecorder;
use super::batch_writer::{BatchWriter, LostBatches};
use super::bounds::RecordOptions;
#[cfg(test)]
use super::segment::SegmentBounds;
use super::store::StoreError;
use super::tables::GapRecord;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockTable;

/// Records what a table takes in, into a file.
///
/// The owner of the table applies changes through [`batches`](Self::batches), and calls
/// [`flush`](Self::flush) once a second.
#[derive(Debug)]
pub struct Recorder {
    batches: BatchRecorder,
    writer: BatchWriter,
}

impl Recorder {
    /// Begins or continues a recording of one ensemble, given by its servers and chroot. Blocks the
    /// thread during disk access.
    pub fn start(path: &Path, connect: &str, options: RecordOptions) -> Result<Self, StoreError> {
        let mut writer = BatchWriter::create(path, options)?;
        Ok(Self { batches: writer.recorder(connect)?, writer })
    }

    /// Sets when segments end.
    #[cfg(test)]
    pub(super) fn with_segments(mut self, segment_bounds: SegmentBounds) -> Self {
        self.batches.set_segment_bounds(segment_bounds);
        self
    }

    /// Sets how long to wait for another program that has the file locked.
    #[cfg(test)]
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        self.writer.wait_at_most(time);
    }

    /// Returns the recorder that records what the table takes in. It waits for no disk.
    pub fn batches(&mut self) -> &mut BatchRecorder {
        &mut self.batches
    }

    /// Returns the gap since an earlier run in the same file, before anything is recorded.
    pub fn left_gap(&self) -> Option<GapRecord> {
        self.batches.left_gap()
    }

    /// Writes what was recorded since the last call. Must be called once a second, even when
    /// nothing happens: that is recorded too. Blocks the thread during disk access. Entries that
    /// cannot be written are kept and retried with growing pauses, until there are too many of
    /// them.
    pub fn flush(&mut self, now: Timestamp, table: &LockTable) {
        let batches = self.batches.take_batches(now, table);
        if let Some(LostBatches { from, reason, tables }) = self.writer.write_batches(batches, now) {
            self.batches.lost(from, now, &reason, tables);
        }
    }

    /// Returns the reason why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.writer.trouble()
    }

    /// Continues with another table, as after a new connection with other settings. Blocks the
    /// thread during disk access.
    pub fn start_over(&mut self, connect: &str, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.writer.finish(self.batches.end(now, table), now)?;
        self.batches.start_over(connect, self.writer.tables()?);
        Ok(())
    }

    /// Writes everything and ends the recording. Fails when that takes longer than two seconds.
    /// Blocks the thread meanwhile.
    pub fn stop(mut self, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.writer.finish(self.batches.end(now, table), now)
    }
}
