//! Records and counts the changes of a live table.

use super::super::resolved::ResolvedOptions;
use super::LiveTable;
use lockscope_base::time::now;
use lockscope_live::exporter::Question;
use lockscope_model::metrics::{EventCounters, ProcessFigures, health};
use lockscope_model::queue::LockTable;
use lockscope_past::record::tables::RecordedDeletion;
use lockscope_past::record::{BatchRecorder, Recorder};

/// Where the changes of a table go: into a file, into counters, or both.
pub(in crate::cli) struct Recording {
    /// Writes the changes into a file.
    pub recorder: Option<Recorder>,
    /// Counts the events.
    pub counters: Option<EventCounters>,
}

impl Recording {
    /// Returns the recorder of the table's changes.
    pub(super) fn batches(&mut self) -> Option<&mut BatchRecorder> {
        self.recorder.as_mut().map(Recorder::batches)
    }
}

impl LiveTable {
    /// Starts like [`start_to_watch`](Self::start_to_watch), and records the changes.
    pub(in crate::cli) fn start_to_record(settings: &ResolvedOptions, recording: Recording) -> anyhow::Result<Self> {
        Ok(Self { recording: Some(Box::new(recording)), ..Self::start_to_watch(settings)? })
    }

    /// Writes what was recorded; returns the reason when nothing can be written at the moment. Must
    /// be called once a second. Blocks the thread during disk access.
    pub(in crate::cli) fn flush_recording(&mut self) -> Option<&str> {
        let recorder = self.recording.as_mut()?.recorder.as_mut()?;
        recorder.flush(now(), self.live.table());
        recorder.trouble()
    }

    /// Records a deletion by hand.
    pub(in crate::cli) fn record_deletion(&mut self, deletion: RecordedDeletion) {
        if let Some(recorder) = self.recording.as_mut().and_then(|recording| recording.recorder.as_mut()) {
            recorder.batches().deleted(deletion);
        }
    }

    /// Replies to a metrics request; ignored without counters.
    pub(in crate::cli) fn answer(&mut self, question: Question, ensemble: &str) {
        // The client may be gone by now.
        match question {
            Question::Health(asker) => _ = asker.send(health(self.live.table())),
            Question::Metrics(asker) => {
                let Some(Recording { recorder, counters: Some(counters) }) = self.recording.as_deref_mut() else {
                    return;
                };
                let process = ProcessFigures {
                    changes_behind: self.observer.changes_behind() as u64,
                    is_stored: recorder.as_ref().map(|recorder| recorder.trouble().is_none()),
                    resident_bytes: resident_bytes(),
                };
                let scrape = counters.scrape(ensemble, self.live.table(), self.live.diagnosis(), process, now());
                _ = asker.send(scrape);
            }
        }
    }

    /// Ends the session within two seconds, and returns the recording and its table.
    pub(in crate::cli) async fn stop_recording(mut self) -> Option<(Recording, LockTable)> {
        let recording = self.recording.take()?;
        let (table, ..) = self.stop().await;
        Some((*recording, table))
    }
}

/// Returns the memory of this process, as Linux counts it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
