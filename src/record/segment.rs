//! The segment that grows: what of it was not handed to the writer yet, and when the next one begins.

use std::time::Duration;

use super::entry::{self, Entry};
use crate::znode::Timestamp;

/// Of very many contenders the keyframe is large, and a segment has so many entries for each of them.
const ENTRIES_PER_CONTENDER: u64 = 2;

/// When a segment ends: as soon as one of these is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentBounds {
    /// To show a moment, so many entries are played at most; more where there are very many contenders.
    pub entries: u64,
    /// How many bytes it has, not compressed.
    pub bytes: u64,
    /// How long it lasts, so that old ones can be deleted by their age.
    pub age: Duration,
}

impl Default for SegmentBounds {
    fn default() -> Self {
        Self { entries: 16_384, bytes: 32 << 20, age: Duration::from_secs(3600) }
    }
}

/// The segment that grows.
#[derive(Debug)]
pub(super) struct GrowingSegment {
    from: Timestamp,
    last: Timestamp,
    entries: u64,
    bounds: SegmentBounds,
    bytes: u64,
    unwritten: Vec<u8>,
    unwritten_entries: u64,
}

impl GrowingSegment {
    /// One that begins with a table of so many contenders.
    pub fn new(from: Timestamp, contenders: usize, bounds: SegmentBounds) -> Self {
        let entries = bounds.entries.max(contenders as u64 * ENTRIES_PER_CONTENDER);
        let bounds = SegmentBounds { entries, ..bounds };
        Self { from, last: from, entries: 0, bounds, bytes: 0, unwritten: Vec::new(), unwritten_entries: 0 }
    }

    /// When its last entry was.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// Whether the next entry belongs into another segment.
    pub fn is_full(&self, now: Timestamp) -> bool {
        let SegmentBounds { entries, bytes, age } = self.bounds;
        self.entries >= entries || self.bytes >= bytes || now.since(self.from) >= age
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

    /// What was not handed over yet, and how many entries that are.
    pub fn take_unwritten(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.unwritten), std::mem::take(&mut self.unwritten_entries))
    }
}
