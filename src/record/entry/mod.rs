//! What the stream of a recording consists of, and how that becomes bytes.
//!
//! An entry is written as a [`StoredEntry`](stored::StoredEntry), by `postcard`. Nearly all of them say again what the segment has said before: the
//! same lock parents, the same sessions, a number that is one higher. So both sides keep what was [`named`], and entries refer to it. What is
//! left is mostly the random ids within names. They lie apart from the rest, which is compressed better without them.

mod name;
mod named;
mod stored;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::named::Named;
use self::stored::StoredEntry;
use super::Damage;
use crate::queue::Change;
use crate::znode::Timestamp;

/// No segment has more entries, so that whoever sends a recording cannot fill the memory of who reads it.
const MAX_ENTRIES: usize = 4 << 20;

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

/// An entry of the stream, and when it was, by the recorder's clock.
pub type TimedEntry = (Timestamp, Entry<'static>);

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

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
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
}

impl EntryWriter {
    /// For a segment that begins then.
    pub fn new(from: Timestamp) -> Self {
        Self { last: from, named: Named::default(), chunk: Chunk::default() }
    }

    /// Adds an entry, which is not older than the last one.
    ///
    /// # Errors
    ///
    /// Where an entry cannot be written at all, which no entry is.
    pub fn write(&mut self, at: Timestamp, entry: &Entry<'_>) -> Result<(), postcard::Error> {
        let after_ms = u64::try_from(at.0.saturating_sub(self.last.0)).unwrap_or(0);
        self.last = self.last.max(at);
        let stored = self.named.store(entry, self.last, &mut self.chunk.ids);
        self.chunk.entries = postcard::to_extend(&(after_ms, stored), std::mem::take(&mut self.chunk.entries))?;
        Ok(())
    }

    /// How many bytes were written since the last chunk was taken.
    pub fn chunk_len(&self) -> usize {
        self.chunk.len()
    }

    /// Takes what was written since this was last called.
    pub fn take_chunk(&mut self) -> Chunk {
        std::mem::take(&mut self.chunk)
    }
}

/// Reads the entries of a segment that begins then.
pub(super) fn read(chunks: &[Chunk], from: Timestamp) -> Result<Vec<TimedEntry>, Damage> {
    let (mut read, mut named, mut at) = (Vec::new(), Named::default(), from);
    for Chunk { entries, ids } in chunks {
        let (mut entries, mut ids) = (entries.as_slice(), ids.as_slice());
        while !entries.is_empty() {
            let ((after_ms, stored), rest) =
                postcard::take_from_bytes::<(u64, StoredEntry<'_>)>(entries).map_err(|_| Damage::Entries)?;
            at = Timestamp(at.0.saturating_add_unsigned(after_ms));
            read.push((at, named.restore(stored, at, &mut ids)?));
            if read.len() > MAX_ENTRIES {
                return Err(Damage::TooLarge);
            }
            entries = rest;
        }
    }
    Ok(read)
}
