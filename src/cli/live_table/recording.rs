//! A table that is recorded while it is kept up to date.

use super::super::resolved::ResolvedOptions;
use super::LiveTable;
use crate::queue::LockTable;
use crate::record::Recorder;
use crate::record::tables::RecordedDeletion;
use crate::time::now;

impl LiveTable {
    /// As [`start_to_watch`](Self::start_to_watch), and records what is seen.
    pub(in crate::cli) fn start_to_record(settings: &ResolvedOptions, recorder: Recorder) -> anyhow::Result<Self> {
        Ok(Self { recorder: Some(Box::new(recorder)), ..Self::start_to_watch(settings)? })
    }

    /// Writes what was recorded; answers why nothing is written at the moment. To be called once a second. Blocks the thread as long as the
    /// disk does.
    pub(in crate::cli) fn flush_recording(&mut self) -> Option<&str> {
        let recorder = self.recorder.as_mut()?;
        recorder.flush(now(), &self.table);
        recorder.trouble()
    }

    /// Records that somebody deleted a node by hand.
    pub(in crate::cli) fn record_deletion(&mut self, deletion: RecordedDeletion) {
        if let Some(recorder) = &mut self.recorder {
            recorder.batches().deleted(deletion);
        }
    }

    /// Ends the session, in at most two seconds, and answers what records, and what it recorded.
    pub(in crate::cli) async fn stop_recording(mut self) -> Option<(Recorder, LockTable)> {
        let recorder = self.recorder.take()?;
        let (table, ..) = self.stop().await;
        Some((*recorder, table))
    }
}
