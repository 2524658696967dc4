//! What is to be written, and what becomes of it while the disk does not take it.

use std::collections::VecDeque;
use std::time::Duration;

use super::store::StoreError;
use super::writer::Batch;
use lockscope_base::znode::Timestamp;

/// More than this is not kept for a disk that takes nothing, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The first pause after a write that failed, and the longest one.
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

    /// The oldest.
    pub fn first(&mut self) -> Option<&mut Batch> {
        self.batches.front_mut()
    }

    /// The oldest is in the file.
    pub fn written(&mut self) {
        self.batches.pop_front();
    }

    /// Whether everything is in the file.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether it is time to write, or to try again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        // A clock that was set back does not make the pause longer.
        now >= self.try_at || self.try_at.since(now) > MAX_PAUSE
    }

    /// Why the last try failed.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether there is more of it than is kept.
    pub fn is_too_much(&self) -> bool {
        self.trouble.is_some() && self.batches.iter().map(Batch::bytes).sum::<u64>() > MAX_BYTES
    }

    /// What came of a try.
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

    /// Gives all of it up. Answers from when on it was.
    pub fn clear(&mut self) -> Timestamp {
        let from = self.batches.front().map(|batch| batch.begins.as_ref().map_or(batch.until, |start| start.from));
        self.batches.clear();
        from.unwrap_or_default()
    }
}
