//! What the stream of a recording consists of, and how that becomes bytes.
//!
//! An entry is written as a [`StoredEntry`](stored::StoredEntry), by `postcard`. Nearly all of them say again what the segment has said before: the
//! same lock parents, the same sessions, a number that is one higher. So both sides keep what was [`named`], and entries refer to it. What is
//! left is mostly the random ids within names. They lie apart from the rest, which is compressed better without them.

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
    /// The table took in this change.
    Change(Cow<'a, Change>),
    /// The locks were examined for findings.
    Examined,
    /// What was found was forgotten, because the locks were not seen for a while.
    FindingsForgotten,
}

impl Entry<'_> {
    /// Whether it is the end of a reading of everything.
    pub fn is_synced(&self) -> bool {
        matches!(self, Self::Change(change) if **change == Change::Synced)
    }
}

/// An entry of the stream, and when it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedEntry {
    /// By the recorder's clock.
    pub at: Timestamp,
    /// What it says.
    pub entry: Entry<'static>,
}

/// What an entry takes besides what it refers to, in bytes.
const ENTRY_SIZE: u64 = size_of::<TimedEntry>() as u64;

/// Entries of a segment that follow each other, as bytes.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// For each entry the milliseconds since the one before it, and a [`StoredEntry`].
    entries: Vec<u8>,
    /// The random ids within the names that the entries introduce, 16 bytes each.
    ids: Vec<u8>,
}

impl Chunk {
    /// As a file keeps it, but for the compression: how many bytes the entries have, these, and the ids.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.entries.len() as u64;
        [&length.to_le_bytes(), self.entries.as_slice(), self.ids.as_slice()].concat()
    }

    /// Takes what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        let (length, rest) = bytes.split_first_chunk().ok_or(Damage::Entries)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Damage::Entries)?;
        let (entries, ids) = rest.split_at_checked(length).ok_or(Damage::Entries)?;
        Ok(Self { entries: entries.to_vec(), ids: ids.to_vec() })
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.entries.len() + self.ids.len()
    }

    /// Adds the chunk that follows.
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
    /// For a segment that begins then.
    pub fn new(from: Timestamp) -> Self {
        Self { last: from, named: Named::default(), chunk: Chunk::default(), memory: 0 }
    }

    /// Adds an entry, which is not older than the last one.
    ///
    /// # Errors
    ///
    /// When an entry is too large to be read again.
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

    /// How many bytes were written since the last chunk was taken.
    pub fn chunk_len(&self) -> usize {
        self.chunk.len()
    }

    /// What who reads all entries needs of memory for them, at most, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Takes what was written since this was last called.
    pub fn take_chunk(&mut self) -> Chunk {
        std::mem::take(&mut self.chunk)
    }
}

/// Reads the entries of one segment.
pub(super) struct EntryReader<'b> {
    budget: &'b Budget,
    /// There is room for those that are expected. With more of them it doubles.
    entries: Vec<TimedEntry>,
    expected: usize,
    named: Named,
    at: Timestamp,
}

impl<'b> EntryReader<'b> {
    /// Of a segment that begins then, with so many entries as far as is known. They, and what playing them makes, take no more memory
    /// than `budget` has.
    pub fn new(from: Timestamp, expected: u64, budget: &'b Budget) -> Self {
        let expected = usize::try_from(expected.min(budget.left() / ENTRY_SIZE)).unwrap_or(0);
        Self { budget, entries: Vec::with_capacity(expected), expected, named: Named::default(), at: from }
    }

    /// Reads the next chunk, as a file keeps it.
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

    /// All of them, in order.
    pub fn entries(self) -> Vec<TimedEntry> {
        self.entries
    }
}
