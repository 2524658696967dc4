//! The batches to be written, and their fate while the disk accepts no writes.

use std::collections::VecDeque;
use std::time::Duration;

use super::store::StoreError;
use super::writer::Batch;
use lockscope_base::znode::Timestamp;

/// The most bytes kept while the disk accepts no writes.
const MAX_BYTES: u64 = 16 << 20;

/// The first and the longest pause after a failed write.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Batches that are not in the file yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    batches: VecDeque<Batch>,
    trouble: Option<String>,
    pause: Duration,
    try_at: Timestamp,
}

impl Unwritten {
    /// Adds batches, oldest first.
    pub fn extend(&mut self, batches: Vec<Batch>) {
        self.batches.extend(batches);
    }

    /// Returns the oldest batch.
    pub fn first(&mut self) -> Option<&mut Batch> {
        self.batches.front_mut()
    }

    /// Removes the oldest batch, which is in the file now.
    pub fn written(&mut self) {
        self.batches.pop_front();
    }

    /// Returns whether everything is in the file.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Returns whether it is time to write or to try again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        // A clock that was set back does not prolong the pause.
        now >= self.try_at || self.try_at.since(now) > MAX_PAUSE
    }

    /// Returns the error of the last attempt.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Returns whether more is queued than may be kept.
    pub fn is_too_much(&self) -> bool {
        self.trouble.is_some() && self.batches.iter().map(Batch::bytes).sum::<u64>() > MAX_BYTES
    }

    /// Records the outcome of an attempt.
    pub fn tried(&mut self, outcome: Result<(), StoreError>, now: Timestamp) {
        match outcome {
            Ok(()) => (self.trouble, self.pause) = (None, Duration::ZERO),
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.pause = (self.pause * 2).clamp(MIN_PAUSE, MAX_PAUSE);
            }
        }
        self.try_at = Timestamp(now.0.saturating_add(i64::try_from(self.pause.as_millis()).unwrap_or(i64::MAX)));
    }

    /// Drops all batches. Returns the time from which they were lost.
    pub fn clear(&mut self) -> Timestamp {
        let from = self.batches.front().map(|batch| batch.begins.as_ref().map_or(batch.until, |start| start.from));
        self.batches.clear();
        from.unwrap_or_default()
    }
}
