//! From the growing segment to the file: the bytes not yet passed to the writer, the batch that
//! takes them over, and the atomic transaction that adds it.
//!
//! The growing segment also says when the next one begins.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::entry::{Chunk, EntryWriter, StoreEntry};
use super::memory::max_recorded_entries;
use super::tables::TableRows;
use super::{decode, entry, keyframe};
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
pub struct GrowingSegment {
    from: Timestamp,
    writer: EntryWriter,
    bounds: SegmentBounds,
    /// The most memory of its entries in a reader, in bytes.
    most_memory: u64,
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
        let (writer, most_memory) = (EntryWriter::new(from), max_recorded_entries(contenders as u64));
        Self { from, writer, bounds, most_memory, entries: 0, unwritten_entries: 0, written: 0 }
    }

    /// Returns whether the next entry belongs in another segment.
    pub fn is_full(&self, now: Timestamp) -> bool {
        let SegmentBounds { entries, bytes, age } = self.bounds;
        let all_bytes = self.written + self.writer.chunk_len() as u64;
        let fills_memory = self.writer.memory() >= self.most_memory;
        self.entries >= entries || all_bytes >= bytes || fills_memory || now.since(self.from) >= age
    }

    /// Adds an entry, which must not be older than the last one.
    pub fn push(&mut self, at: Timestamp, entry: &StoreEntry<'_>) -> Result<(), postcard::Error> {
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

/// The additions of one transaction to the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The segment that begins with this batch.
    pub(super) begins: Option<SegmentStart>,
    /// A [`Chunk`] of the segment, uncompressed until [`pack`](Self::pack).
    pub(super) entries: Vec<u8>,
    /// The number of entries.
    pub(super) count: u64,
    /// Rows of the tables.
    pub(super) rows: TableRows,
    /// The time up to which the file then contains everything that happened.
    pub(super) until: Timestamp,
    /// Whether the segment ends with this batch.
    pub(super) ends: bool,
    /// Whether the batch is compressed.
    pub(super) is_packed: bool,
}

impl Batch {
    /// Creates a batch of rows without a part of the stream.
    pub(super) fn of_rows(rows: TableRows, until: Timestamp) -> Self {
        Self { begins: None, entries: Vec::new(), count: 0, rows, until, ends: false, is_packed: false }
    }

    /// Compresses the entries, once.
    pub(super) fn pack(&mut self) -> rusqlite::Result<()> {
        if !self.is_packed {
            self.entries = pack(&self.entries)?;
            self.is_packed = true;
        }
        Ok(())
    }

    /// Returns the size of the stream's part, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.len() as u64 + self.keyframe_bytes()
    }

    /// Returns when another part of the recording begins with this batch, if so. Only once.
    pub(super) fn take_new_part(&mut self) -> Option<Timestamp> {
        let start = self.begins.as_mut().filter(|start| start.new_part)?;
        start.new_part = false;
        Some(start.from)
    }

    /// Returns how many of these are the state at the beginning.
    pub(super) fn keyframe_bytes(&self) -> u64 {
        self.begins.as_ref().map_or(0, |start| start.state.len()) as u64
    }
}

/// The start of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentStart {
    /// The beginning of the segment.
    pub from: Timestamp,
    /// The state before the first entry, compressed.
    pub state: Vec<u8>,
    /// The ensemble, if entries are missing between the previous segment and this one.
    pub new_run: Option<Arc<str>>,
    /// Whether another part of the recording begins with it.
    pub new_part: bool,
}

/// The place of the next batch.
#[derive(Clone, Copy, Debug)]
pub struct WritePlace {
    run: i64,
    segment: Option<i64>,
    chunks: i64,
}

impl WritePlace {
    /// Returns the place after everything in the file.
    pub fn at_end(connection: &Connection) -> rusqlite::Result<Self> {
        let run = connection.query_row("SELECT coalesce(max(id), 0) FROM run", [], |row| row.get(0))?;
        Ok(Self { run, segment: None, chunks: 0 })
    }

    /// Adds a [packed](Batch::pack) batch. If the transaction fails, the place before it must be
    /// used again.
    pub fn add(&mut self, transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
        if let Some(start) = &batch.begins {
            self.begin(transaction, start)?;
        }
        let Some(segment) = self.segment else { return Ok(()) };
        if batch.count > 0 {
            let insert = "INSERT INTO chunk (segment, number, entries) VALUES (?1, ?2, ?3)";
            transaction.prepare_cached(insert)?.execute(params![segment, self.chunks, batch.entries])?;
            self.chunks += 1;
        }
        let update = "UPDATE segment SET until_ms = max(until_ms, ?2), entries = entries + ?3 WHERE id = ?1";
        transaction.prepare_cached(update)?.execute(params![segment, batch.until.0, batch.count])?;
        if batch.ends {
            if self.chunks > 1 {
                put_together(transaction, segment)?;
            }
            self.segment = None;
        }
        Ok(())
    }

    fn begin(&mut self, transaction: &Transaction<'_>, start: &SegmentStart) -> rusqlite::Result<()> {
        if let Some(connect) = &start.new_run {
            self.run += 1;
            let new = "INSERT INTO run (id, connect, version) VALUES (?1, ?2, ?3)";
            transaction.execute(new, params![self.run, &**connect, env!("CARGO_PKG_VERSION")])?;
        }
        let new = "INSERT INTO segment (run, from_ms, until_ms, entries) VALUES (?1, ?2, ?2, 0)";
        transaction.execute(new, params![self.run, start.from.0])?;
        let segment = transaction.last_insert_rowid();
        keyframe::put(transaction, segment, &start.state)?;
        (self.segment, self.chunks) = (Some(segment), 0);
        Ok(())
    }
}

/// Merges all chunks of a segment into one, which takes a fraction of their space.
fn put_together(transaction: &Transaction<'_>, segment: i64) -> rusqlite::Result<()> {
    let mut query = transaction.prepare_cached("SELECT entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    let chunks: Vec<Vec<u8>> = query.query_map([segment], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // A chunk that was damaged on the disk stays as it is, with the others.
    let Ok(whole) = entry::merge(&chunks) else { return Ok(()) };
    transaction.prepare_cached("DELETE FROM chunk WHERE segment = ?1")?.execute([segment])?;
    let insert = "INSERT INTO chunk (segment, number, entries) VALUES (?1, 0, ?2)";
    transaction.prepare_cached(insert)?.execute(params![segment, whole])?;
    Ok(())
}

fn pack(bytes: &[u8]) -> rusqlite::Result<Vec<u8>> {
    decode::pack(bytes).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
