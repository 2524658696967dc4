//! Writes segments into the file of a recording, in atomic transactions.

use std::sync::Arc;

use rusqlite::{Connection, Transaction, params};

use super::entry::Chunk;
use super::frame;
use super::state;
use super::tables::TableRows;
use lockscope_base::znode::Timestamp;

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

    /// Returns whether the state at the beginning fits into a reader's memory. Must be called
    /// before the batch is compressed.
    pub(super) fn can_be_read(&self) -> bool {
        self.is_packed || self.begins.as_ref().is_none_or(|start| state::is_readable(&start.state))
    }

    /// Compresses the batch, once.
    pub(super) fn pack(&mut self) -> rusqlite::Result<()> {
        if !self.is_packed {
            self.entries = pack(&self.entries)?;
            if let Some(start) = &mut self.begins {
                start.state = pack(&start.state)?;
            }
            self.is_packed = true;
        }
        Ok(())
    }

    /// Returns the size of the stream's part, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.entries.len() + self.begins.as_ref().map_or(0, |start| start.state.len())) as u64
    }
}

/// The start of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentStart {
    /// The beginning of the segment.
    pub from: Timestamp,
    /// The state before the first entry, uncompressed until [`Batch::pack`].
    pub state: Vec<u8>,
    /// The ensemble, if entries are missing between the previous segment and this one.
    pub new_run: Option<Arc<str>>,
}

/// The place of the next batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct WritePlace {
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
        let new = "INSERT INTO keyframe (segment, state) VALUES (?1, ?2)";
        transaction.execute(new, params![segment, start.state])?;
        (self.segment, self.chunks) = (Some(segment), 0);
        Ok(())
    }
}

/// Merges all chunks of a segment into one, which takes a fraction of their space.
fn put_together(transaction: &Transaction<'_>, segment: i64) -> rusqlite::Result<()> {
    let mut query = transaction.prepare_cached("SELECT entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    let chunks: Vec<Vec<u8>> = query.query_map([segment], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut whole = Chunk::default();
    for chunk in chunks {
        // A chunk that was damaged on the disk stays as it is, with the others.
        let Ok(chunk) = frame::unpack(&chunk).and_then(|bytes| Chunk::from_bytes(&bytes)) else { return Ok(()) };
        whole.append(chunk);
    }
    transaction.prepare_cached("DELETE FROM chunk WHERE segment = ?1")?.execute([segment])?;
    let insert = "INSERT INTO chunk (segment, number, entries) VALUES (?1, 0, ?2)";
    transaction.prepare_cached(insert)?.execute(params![segment, pack(&whole.to_bytes())?])?;
    Ok(())
}

fn pack(bytes: &[u8]) -> rusqlite::Result<Vec<u8>> {
    frame::pack(bytes).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
