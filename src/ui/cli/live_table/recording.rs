//! A table that is recorded and counted while it is kept up to date.

use super::super::resolved::ResolvedOptions;
use super::LiveTable;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::exporter::Question;
use lockscope_model::diagnose::{Diagnosis, FindingChanges};
use lockscope_model::metrics::{EventCounters, ProcessFigures, health};
use lockscope_model::queue::{Change, Happening, LockTable};
use lockscope_past::record::Recorder;
use lockscope_past::record::tables::RecordedDeletion;

/// What becomes of what a table takes in: it is written down, or counted, or both.
pub(in crate::cli) struct Recording {
    /// Writes it into a file.
    pub recorder: Option<Recorder>,
    /// Counts it.
    pub counters: Option<EventCounters>,
}

impl Recording {
    /// Has the table take in a change; answers when that was, and what it means.
    pub(super) fn apply(
        &mut self,
        change: Change,
        at: Timestamp,
        table: &mut LockTable,
        diagnosis: &Diagnosis,
    ) -> (Timestamp, Vec<Happening>) {
        let (at, happenings) = match &mut self.recorder {
            Some(recorder) => recorder.batches().apply(change, at, table, diagnosis),
            None => (at, table.apply(change, at)),
        };
        if let Some(counters) = &mut self.counters {
            counters.took_in(&happenings, table);
        }
        (at, happenings)
    }

    /// Looks for findings; answers when that was, and what has changed.
    pub(super) fn examine(&mut self, table: &LockTable, diagnosis: &mut Diagnosis) -> (Timestamp, FindingChanges) {
        if let Some(recorder) = &mut self.recorder {
            recorder.batches().examine(now(), table, diagnosis)
        } else {
            let at = now();
            (at, diagnosis.examine(table, at))
        }
    }
}

impl LiveTable {
    /// As [`start_to_watch`](Self::start_to_watch), and records what is seen.
    pub(in crate::cli) fn start_to_record(settings: &ResolvedOptions, recording: Recording) -> anyhow::Result<Self> {
        Ok(Self { recording: Some(Box::new(recording)), ..Self::start_to_watch(settings)? })
    }

    /// Writes what was recorded; answers why nothing is written at the moment. To be called once a second. Blocks the thread as long as the
    /// disk does.
    pub(in crate::cli) fn flush_recording(&mut self) -> Option<&str> {
        let recorder = self.recording.as_mut()?.recorder.as_mut()?;
        recorder.flush(now(), &self.table);
        recorder.trouble()
    }

    /// Records that somebody deleted a node by hand.
    pub(in crate::cli) fn record_deletion(&mut self, deletion: RecordedDeletion) {
        if let Some(recorder) = self.recording.as_mut().and_then(|recording| recording.recorder.as_mut()) {
            recorder.batches().deleted(deletion);
        }
    }

    /// Answers who asks for metrics; nobody is answered where nothing is counted.
    pub(in crate::cli) fn answer(&mut self, question: Question, ensemble: &str) {
        // Who asked may have gone by now.
        match question {
            Question::Health(asker) => _ = asker.send(health(&self.table)),
            Question::Metrics(asker) => {
                let Some(Recording { recorder, counters: Some(counters) }) = self.recording.as_deref_mut() else {
                    return;
                };
                let process = ProcessFigures {
                    changes_behind: self.observer.changes_behind() as u64,
                    is_stored: recorder.as_ref().map(|recorder| recorder.trouble().is_none()),
                    resident_bytes: resident_bytes(),
                };
                let scrape = counters.scrape(ensemble, (&self.table, &self.diagnosis), process, now());
                _ = asker.send(scrape);
            }
        }
    }

    /// Ends the session, in at most two seconds, and answers what records, and what it recorded.
    pub(in crate::cli) async fn stop_recording(mut self) -> Option<(Recording, LockTable)> {
        let recording = self.recording.take()?;
        let (table, ..) = self.stop().await;
        Some((*recording, table))
    }
}

/// The memory of this process, as Linux counts it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
