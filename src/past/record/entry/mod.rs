//! The entries of a recording's stream, and their encoding.
//!
//! An entry is written as a [`StoredEntry`] with `postcard`. Nearly all
//! entries repeat what the segment has said before: the same lock parents, the same sessions, a
//! number that is one higher. So writer and reader both keep what was [`named`], and entries refer
//! to it. The rest is mostly the random ids in names. These are stored separately, because the
//! other bytes compress better without them.

mod ids;
mod memory;
mod name;
mod named;
mod stored;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::ids::Ids;
use self::named::Named;
use self::stored::StoredEntry;
use super::Damage;
use super::decode::{Budget, Decoder};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::Change;

/// One entry of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A change that the table took in.
    Change(Cow<'a, Change>),
    /// A look for findings.
    Examined,
    /// Findings were forgotten, because the locks were not seen for a while.
    FindingsForgotten,
}

impl Entry<'_> {
    /// Returns whether the entry completes a reading of everything.
    pub fn is_synced(&self) -> bool {
        matches!(self, Self::Change(change) if **change == Change::Synced)
    }
}

/// An entry of the stream, and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedEntry {
    /// The time of the entry, by the recorder's clock.
    pub at: Timestamp,
    /// The entry.
    pub entry: Entry<'static>,
}

/// The memory of an entry besides what it refers to, in bytes.
const ENTRY_SIZE: u64 = size_of::<TimedEntry>() as u64;

/// Consecutive entries of a segment, as bytes.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// For each entry the milliseconds since the previous one, and a [`StoredEntry`].
    entries: Vec<u8>,
    /// The random ids in names that the entries introduce, 16 bytes each.
    ids: Vec<u8>,
}

impl Chunk {
    /// Returns the bytes as a file stores them before compression: the length of the entries, the
    /// entries, and the ids.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.entries.len() as u64;
        [&length.to_le_bytes(), self.entries.as_slice(), self.ids.as_slice()].concat()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        let (length, rest) = bytes.split_first_chunk().ok_or(Damage::Entries)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Damage::Entries)?;
        let (entries, ids) = rest.split_at_checked(length).ok_or(Damage::Entries)?;
        Ok(Self { entries: entries.to_vec(), ids: ids.to_vec() })
    }

    pub fn len(&self) -> usize {
        self.entries.len() + self.ids.len()
    }

    /// Appends the next chunk.
    pub fn append(&mut self, mut next: Self) {
        self.entries.append(&mut next.entries);
        self.ids.append(&mut next.ids);
    }
}

/// Writes the entries of one segment.
#[derive(Debug)]
pub(super) struct EntryWriter {
    last: Timestamp,
    named: Named,
    chunk: Chunk,
    memory: u64,
}

impl EntryWriter {
    /// Creates a writer for a segment that begins at `from`.
    pub fn new(from: Timestamp) -> Self {
        Self { last: from, named: Named::default(), chunk: Chunk::default(), memory: 0 }
    }

    /// Adds an entry, which must not be older than the last one.
    ///
    /// # Errors
    ///
    /// Fails when an entry is too large to be read again.
    pub fn write(&mut self, at: Timestamp, entry: &Entry<'_>) -> Result<(), postcard::Error> {
        let after_ms = u64::try_from(at.0.saturating_sub(self.last.0)).unwrap_or(0);
        self.last = self.last.max(at);
        let stored = self.named.store(entry, self.last, &mut self.chunk.ids);
        let is_rare = matches!(stored, StoredEntry::Change(_));
        let begin = self.chunk.entries.len();
        self.chunk.entries = postcard::to_extend(&(after_ms, stored), std::mem::take(&mut self.chunk.entries))?;
        let written = self.chunk.entries.get(begin..).filter(|_| is_rare);
        self.memory += memory::to_read(entry, written).ok_or(postcard::Error::SerializeBufferFull)?;
        Ok(())
    }

    /// Returns how many bytes were written since the last chunk was taken.
    pub fn chunk_len(&self) -> usize {
        self.chunk.len()
    }

    /// Returns the most memory that a reader needs for all entries, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Takes the bytes written since the last call.
    pub fn take_chunk(&mut self) -> Chunk {
        std::mem::take(&mut self.chunk)
    }
}

/// Reads the entries of one segment.
pub(super) struct EntryReader<'b> {
    budget: &'b Budget,
    /// The entries; the list has room for the expected number and doubles with more.
    entries: Vec<TimedEntry>,
    expected: usize,
    named: Named,
    at: Timestamp,
}

impl<'b> EntryReader<'b> {
    /// Creates a reader for a segment that begins at `from` with `expected` entries, as far as is
    /// known. The entries, and what playing them adds, take no more memory than `budget`.
    pub fn new(from: Timestamp, expected: u64, budget: &'b Budget) -> Self {
        let expected = usize::try_from(expected.min(budget.left() / ENTRY_SIZE)).unwrap_or(0);
        Self { budget, entries: Vec::with_capacity(expected), expected, named: Named::default(), at: from }
    }

    /// Reads the next chunk, as a file stores it.
    pub fn chunk(&mut self, packed: &[u8]) -> Result<(), Damage> {
        let mut decoder = Decoder::new(packed)?;
        let length = u64::from_le_bytes(decoder.array(Damage::Entries)?);
        decoder.only_next(length);
        let mut ids = Ids::new(packed, length);
        while !decoder.is_at_end() {
            let (after_ms, stored) = decoder.next::<(u64, StoredEntry<'static>)>(self.budget, Damage::Entries)?;
            self.at = Timestamp(self.at.0.saturating_add_unsigned(after_ms));
            let entry = self.named.restore(stored, self.at, &mut ids)?;
            let growth = if self.entries.len() < self.expected { 0 } else { 2 * ENTRY_SIZE };
            if !self.budget.charge(memory::to_play(&entry) + growth) {
                return Err(Damage::TooLarge);
            }
            self.entries.push(TimedEntry { at: self.at, entry });
        }
        decoder.finish(Damage::Entries)
    }

    /// Returns all entries, in order.
    pub fn entries(self) -> Vec<TimedEntry> {
        self.entries
    }
}
