//! The segment that grows: what of it was not handed to the writer yet, and when the next one begins.

use std::time::Duration;

use super::entry::{self, Entry};
use crate::znode::Timestamp;

/// A segment ends after so many entries: to show a moment, those of one segment are played at most.
const MIN_ENTRIES: u64 = 16_384;

/// Of very many contenders the keyframe is large, and a segment has so many entries for each of them.
const ENTRIES_PER_CONTENDER: u64 = 2;

/// And after so many bytes, not compressed.
const MAX_BYTES: u64 = 32 << 20;

/// And after this time, so that old ones can be deleted by their age.
const MAX_AGE: Duration = Duration::from_hours(1);

/// The segment that grows.
#[derive(Debug)]
pub(super) struct GrowingSegment {
    from: Timestamp,
    last: Timestamp,
    entries: u64,
    max_entries: u64,
    bytes: u64,
    unwritten: Vec<u8>,
    unwritten_entries: u64,
}

impl GrowingSegment {
    /// One that begins with a table of so many contenders.
    pub fn new(from: Timestamp, contenders: usize) -> Self {
        let max_entries = MIN_ENTRIES.max(contenders as u64 * ENTRIES_PER_CONTENDER);
        Self { from, last: from, entries: 0, max_entries, bytes: 0, unwritten: Vec::new(), unwritten_entries: 0 }
    }

    /// When its last entry was.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// Whether the next entry belongs into another segment.
    pub fn is_full(&self, now: Timestamp) -> bool {
        self.entries >= self.max_entries || self.bytes >= MAX_BYTES || now.since(self.from) >= MAX_AGE
    }

    /// Adds an entry, which is not older than the last one.
    pub fn push(&mut self, at: Timestamp, entry: &Entry<'_>) -> Result<(), postcard::Error> {
        let after_ms = u64::try_from(at.0.saturating_sub(self.last.0)).unwrap_or(0);
        let before = self.unwritten.len();
        entry::write(&mut self.unwritten, after_ms, entry)?;
        self.bytes += (self.unwritten.len() - before) as u64;
        self.last = self.last.max(at);
        self.entries += 1;
        self.unwritten_entries += 1;
        Ok(())
    }

    /// How many bytes were not handed over yet.
    pub fn unwritten(&self) -> usize {
        self.unwritten.len()
    }

    /// What was not handed over yet, and how many entries that are.
    pub fn take_unwritten(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.unwritten), std::mem::take(&mut self.unwritten_entries))
    }
}
