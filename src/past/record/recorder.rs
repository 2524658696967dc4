//! Writes down what a table takes in, while it does.

use std::path::Path;
#[cfg(test)]
use std::time::Duration;

use super::batch_recorder::BatchRecorder;
use super::batch_writer::{BatchWriter, LostBatches};
use super::bounds::RecordOptions;
#[cfg(test)]
use super::segment::SegmentBounds;
use super::store::StoreError;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockTable;

/// Records what a table takes in, into a file.
///
/// Whoever has the table lets it take in changes by its [`batches`](Self::batches), and calls [`flush`](Self::flush) once a second.
#[derive(Debug)]
pub struct Recorder {
    batches: BatchRecorder,
    writer: BatchWriter,
}

impl Recorder {
    /// Begins or goes on with a recording of this ensemble: its servers, and the node that stands for `/`. Blocks the thread as long as the
    /// disk does.
    pub fn start(path: &Path, connect: &str, options: RecordOptions) -> Result<Self, StoreError> {
        let mut writer = BatchWriter::create(path, options)?;
        Ok(Self { batches: writer.recorder(connect)?, writer })
    }

    /// With segments that end sooner or later.
    #[cfg(test)]
    pub(super) fn with_segments(mut self, segment_bounds: SegmentBounds) -> Self {
        self.batches.set_segment_bounds(segment_bounds);
        self
    }

    /// Waits no longer for another program that has the file locked.
    #[cfg(test)]
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        self.writer.wait_at_most(time);
    }

    /// What takes down what the table takes in. It waits for no disk.
    pub fn batches(&mut self) -> &mut BatchRecorder {
        &mut self.batches
    }

    /// Writes what came since the last time. To be called once a second, also when nothing happens: that is recorded too. Blocks the thread
    /// as long as the disk does. What cannot be written is kept and tried again, later and later, until there is too much of it.
    pub fn flush(&mut self, now: Timestamp, table: &LockTable) {
        let batches = self.batches.take_batches(now, table);
        if let Some(LostBatches { from, reason, tables }) = self.writer.take(batches, now) {
            self.batches.lost(from, now, &reason, tables);
        }
    }

    /// Why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.writer.trouble()
    }

    /// What is recorded from now on is another table, as after a new connection with other settings. Blocks the thread as long as the disk
    /// does.
    pub fn start_over(&mut self, connect: &str, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.writer.finish(self.batches.end(now, table), now)?;
        self.batches.start_over(connect, self.writer.tables()?);
        Ok(())
    }

    /// Ends the recording, when everything is written; fails when that is not possible within two seconds. Blocks the thread meanwhile.
    pub fn stop(mut self, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        self.writer.finish(self.batches.end(now, table), now)
    }
}
