//! The segment that grows: what of it was not handed to the writer yet, and when the next one begins.

use std::time::Duration;

use super::entry::{Chunk, Entry, EntryWriter};
use super::memory::MAX_RECORDED_ENTRIES;
use lockscope_base::znode::Timestamp;

/// Of very many contenders the keyframe is large, and a segment has so many entries for each of them.
const ENTRIES_PER_CONTENDER: u64 = 2;

/// When a segment ends: as soon as one of these is reached, or as much as [its reader](super::memory) may take.
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
        Self { entries: 32_768, bytes: 32 << 20, age: Duration::from_secs(3600) }
    }
}

/// The segment that grows.
#[derive(Debug)]
pub(super) struct GrowingSegment {
    from: Timestamp,
    writer: EntryWriter,
    bounds: SegmentBounds,
    entries: u64,
    unwritten_entries: u64,
    /// Bytes that were handed over.
    written: u64,
}

impl GrowingSegment {
    /// One that begins with a table of so many contenders.
    pub fn new(from: Timestamp, contenders: usize, bounds: SegmentBounds) -> Self {
        let entries = bounds.entries.max(contenders as u64 * ENTRIES_PER_CONTENDER);
        let bounds = SegmentBounds { entries, ..bounds };
        Self { from, writer: EntryWriter::new(from), bounds, entries: 0, unwritten_entries: 0, written: 0 }
    }

    /// Whether the next entry belongs into another segment.
    pub fn is_full(&self, now: Timestamp) -> bool {
        let SegmentBounds { entries, bytes, age } = self.bounds;
        let all_bytes = self.written + self.writer.chunk_len() as u64;
        let fills_memory = self.writer.memory() >= MAX_RECORDED_ENTRIES;
        self.entries >= entries || all_bytes >= bytes || fills_memory || now.since(self.from) >= age
    }

    /// Adds an entry, which is not older than the last one.
    pub fn push(&mut self, at: Timestamp, entry: &Entry<'_>) -> Result<(), postcard::Error> {
        self.writer.write(at, entry)?;
        self.entries += 1;
        self.unwritten_entries += 1;
        Ok(())
    }

    /// How many bytes were not handed over yet.
    pub fn unwritten_bytes(&self) -> u64 {
        self.writer.chunk_len() as u64
    }

    /// What was not handed over yet, and how many entries that are.
    pub fn take_unwritten(&mut self) -> (Chunk, u64) {
        self.written += self.writer.chunk_len() as u64;
        (self.writer.take_chunk(), std::mem::take(&mut self.unwritten_entries))
    }
}
