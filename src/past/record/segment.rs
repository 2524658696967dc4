//! The growing segment: its bytes not yet passed to the writer, and the condition for starting the
//! next one.

use std::time::Duration;

use super::entry::{Chunk, Entry, EntryWriter};
use super::memory::MAX_RECORDED_ENTRIES;
use lockscope_base::znode::Timestamp;

/// The entries of a segment for each contender: with many contenders the keyframe is large, and the
/// segment longer.
const ENTRIES_PER_CONTENDER: u64 = 2;

/// The bounds of a segment. It ends when one of them, or the memory bound of [its
/// reader](super::memory), is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentBounds {
    /// The most entries, which bounds how many are played to show a moment; more when there are
    /// very many contenders.
    pub entries: u64,
    /// The most bytes, uncompressed.
    pub bytes: u64,
    /// The longest duration, so that old segments can be deleted by age.
    pub age: Duration,
}

impl Default for SegmentBounds {
    fn default() -> Self {
        Self { entries: 32_768, bytes: 32 << 20, age: Duration::from_secs(3600) }
    }
}

#[derive(Debug)]
pub(super) struct GrowingSegment {
    from: Timestamp,
    writer: EntryWriter,
    bounds: SegmentBounds,
    entries: u64,
    unwritten_entries: u64,
    /// Bytes that were passed to the writer.
    written: u64,
}

impl GrowingSegment {
    /// Starts a segment with a table of `contenders` contenders.
    pub fn new(from: Timestamp, contenders: usize, bounds: SegmentBounds) -> Self {
        let entries = bounds.entries.max(contenders as u64 * ENTRIES_PER_CONTENDER);
        let bounds = SegmentBounds { entries, ..bounds };
        Self { from, writer: EntryWriter::new(from), bounds, entries: 0, unwritten_entries: 0, written: 0 }
    }

    /// Returns whether the next entry belongs in another segment.
    pub fn is_full(&self, now: Timestamp) -> bool {
        let SegmentBounds { entries, bytes, age } = self.bounds;
        let all_bytes = self.written + self.writer.chunk_len() as u64;
        let fills_memory = self.writer.memory() >= MAX_RECORDED_ENTRIES;
        self.entries >= entries || all_bytes >= bytes || fills_memory || now.since(self.from) >= age
    }

    /// Adds an entry, which must not be older than the last one.
    pub fn push(&mut self, at: Timestamp, entry: &Entry<'_>) -> Result<(), postcard::Error> {
        self.writer.write(at, entry)?;
        self.entries += 1;
        self.unwritten_entries += 1;
        Ok(())
    }

    /// Returns how many bytes were not passed to the writer yet.
    pub fn unwritten_bytes(&self) -> u64 {
        self.writer.chunk_len() as u64
    }

    /// Takes the bytes not passed to the writer yet, and the number of entries in them.
    pub fn take_unwritten(&mut self) -> (Chunk, u64) {
        self.written += self.writer.chunk_len() as u64;
        (self.writer.take_chunk(), std::mem::take(&mut self.unwritten_entries))
    }
}
