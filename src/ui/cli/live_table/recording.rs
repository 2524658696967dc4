//! Records and counts the changes of a live table.

use super::super::record_otlp::SpanExport;
use super::super::resolved::ResolvedOptions;
use super::LiveTable;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::exporter::Question;
use lockscope_model::metrics::{EventCounters, ProcessFigures, Scrape, health};
use lockscope_model::queue::{Happening, LockTable};
use lockscope_past::record::tables::RecordedDeletion;
use lockscope_past::record::{BatchRecorder, Recorder};

/// Where the changes of a table go: into a file, into counters, to a collector.
pub(in crate::cli) struct Recording {
    /// Writes the changes into a file.
    pub recorder: Option<Recorder>,
    /// Counts the events.
    pub counters: Option<EventCounters>,
    /// Sends spans to a collector.
    pub spans: Option<SpanExport>,
}

impl Recording {
    /// Returns the recorder of the table's changes.
    pub(super) fn batches(&mut self) -> Option<&mut BatchRecorder> {
        self.recorder.as_mut().map(Recorder::batches)
    }

    /// Counts the events of one change, and makes spans of them.
    pub(super) fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        if let Some(counters) = &mut self.counters {
            counters.count_all(happenings, table);
        }
        if let Some(spans) = &mut self.spans {
            spans.happened(happenings, table, at);
        }
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

    /// Sends what is due to the collector. Must be called once a second.
    pub(in crate::cli) fn flush_spans(&mut self, ensemble: &str) {
        let Some(spans) = self.recording.as_mut().and_then(|recording| recording.spans.as_mut()) else { return };
        spans.flush(self.live.table());
        if spans.metrics_are_due()
            && let Some(scrape) = self.scrape(ensemble)
            && let Some(spans) = self.recording.as_ref().and_then(|recording| recording.spans.as_ref())
        {
            spans.send_metrics(scrape);
        }
    }

    /// Records a deletion by hand.
    pub(in crate::cli) fn record_deletion(&mut self, deletion: RecordedDeletion) {
        if let Some(spans) = self.recording.as_mut().and_then(|recording| recording.spans.as_mut()) {
            spans.deleted(deletion.clone());
        }
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
                if let Some(scrape) = self.scrape(ensemble) {
                    _ = asker.send(scrape.into());
                }
            }
        }
    }

    /// Returns the figures of this moment; `None` without counters.
    fn scrape(&mut self, ensemble: &str) -> Option<Scrape> {
        let Recording { recorder, counters, spans } = self.recording.as_deref_mut()?;
        let process = ProcessFigures {
            changes_behind: self.observer.changes_behind() as u64,
            is_stored: recorder.as_ref().map(|recorder| recorder.trouble().is_none()),
            resident_bytes: resident_bytes(),
            otlp: spans.as_ref().map(SpanExport::figures),
        };
        let scrape = counters.as_mut()?.scrape(ensemble, self.live.table(), self.live.diagnosis(), process, now());
        Some(Scrape { context: self.label.clone(), ..scrape })
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
