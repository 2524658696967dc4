//! Writes batches in a thread of its own, beside the task that applies changes: writing a large state
//! takes longer than the changes may wait.
//!
//! The thread has one job at a time. The recorder goes on meanwhile, and hands over the next batches
//! once the job is done.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::thread::JoinHandle;

use super::batch::Batch;
use super::batch_writer::{BatchWriter, LostBatches};
use lockscope_base::znode::Timestamp;

/// Batches, and the time of the write.
type WriteJob = (Vec<Batch>, Timestamp);

/// What became of the last batches.
#[derive(Debug, Default)]
pub struct WriteOutcome {
    /// What was given up.
    pub lost: Option<LostBatches>,
    /// Why nothing is written at the moment, as a sentence.
    pub trouble: Option<String>,
    /// What became of the file, if it went, as a sentence.
    pub file_news: Option<String>,
    /// How often the file went.
    pub files_gone: u64,
    /// Whether another part of the recording is to be begun.
    pub is_part_over: bool,
}

impl WriteOutcome {
    fn of(writer: &mut BatchWriter, lost: Option<LostBatches>, now: Timestamp) -> Self {
        Self {
            lost,
            trouble: writer.trouble().map(str::to_owned),
            file_news: writer.file_news().map(str::to_owned),
            files_gone: writer.files_gone(),
            is_part_over: writer.is_part_over(now),
        }
    }

    fn failed() -> Self {
        Self { trouble: Some("the thread that writes has failed".to_owned()), ..Self::default() }
    }
}

/// The thread that writes. Dropping it waits for the last job, and closes the file.
#[derive(Debug)]
pub struct WriterBeside {
    jobs: Option<SyncSender<WriteJob>>,
    outcomes: Receiver<WriteOutcome>,
    thread: Option<JoinHandle<BatchWriter>>,
    is_busy: bool,
}

impl WriterBeside {
    /// Starts the thread.
    pub fn start(writer: BatchWriter) -> Self {
        let ((jobs, received), (done, outcomes)) = (sync_channel(1), sync_channel(1));
        let thread = thread::spawn(move || write_all(writer, &received, &done));
        Self { jobs: Some(jobs), outcomes, thread: Some(thread), is_busy: false }
    }

    /// Hands over batches. The thread must not be busy.
    pub fn write(&mut self, batches: Vec<Batch>, now: Timestamp) {
        self.is_busy = true;
        if let Some(jobs) = &self.jobs {
            // A thread that failed has no outcome either, which says so.
            _ = jobs.send((batches, now));
        }
    }

    /// Returns whether the outcome of a job was not taken yet.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Takes the outcome of the job; `None` while it lasts. With `waits` it waits for the end.
    pub fn outcome(&mut self, waits: bool) -> Option<WriteOutcome> {
        let outcome = if waits {
            self.outcomes.recv().unwrap_or_else(|_| WriteOutcome::failed())
        } else {
            match self.outcomes.try_recv() {
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => WriteOutcome::failed(),
                Ok(outcome) => outcome,
            }
        };
        self.is_busy = false;
        Some(outcome)
    }

    /// Ends the thread after its job. Returns the writer, unless the thread failed.
    pub fn end(&mut self) -> Option<BatchWriter> {
        self.jobs = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for WriterBeside {
    fn drop(&mut self) {
        drop(self.end());
    }
}

fn write_all(mut writer: BatchWriter, jobs: &Receiver<WriteJob>, outcomes: &SyncSender<WriteOutcome>) -> BatchWriter {
    for (batches, now) in jobs {
        let lost = writer.write_batches(batches, now);
        // Nobody waits any more where the recorder is dropped.
        _ = outcomes.send(WriteOutcome::of(&mut writer, lost, now));
    }
    writer
}
