//! What a segment consists of: the state at its beginning, and the entries after it, with their
//! encoding.
//!
//! An entry is written as a `StoredEntry` with `postcard`. Nearly all entries repeat what the
//! segment has said before: the same lock parents, the same sessions, a number that is one higher.
//! So writer and reader both keep what was `Named`, and entries refer to it. The rest is mostly the
//! random ids in names. These are stored separately, behind the entries of a chunk, because the
//! other bytes compress better without them.
//!
//! Both sides count the memory that a state and its entries take in a reader, so that a recorder
//! ends a segment in time.

mod named;

use std::borrow::Cow;
use std::io;
use std::io::{BufRead, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::named::Named;
use super::decode::{DecodeBudget, Decoder};
use super::{SegmentDamage, decode};
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, FindingChanges, FlappingLimit, Thresholds};
use lockscope_model::queue::{
    Change, Elections, EnsembleState, Happening, HeadWait, LockId, LockTable, Mutes, RunsOfOne, SessionEvidence,
};
use named::StoredEntry;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod entry_tests;

/// Everything that a console knows about the locks at one moment. The same entries always produce
/// the same state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedState {
    /// The locks.
    pub table: LockTable,
    /// The findings of the locks.
    pub diagnosis: Diagnosis,
}

/// The effect of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayedEntry {
    /// The events of the locks.
    Happenings(Vec<Happening>),
    /// The new and the cleared findings.
    Findings(FindingChanges),
}

impl RecordedState {
    /// Creates the state of a console that was just started.
    pub fn new(table: LockTable, thresholds: Thresholds) -> Self {
        Self { table, diagnosis: Diagnosis::new(thresholds) }
    }

    /// Takes in one entry.
    pub fn play(&mut self, at: Timestamp, entry: StoreEntry<'_>) -> PlayedEntry {
        match entry {
            StoreEntry::Change(change) => {
                let mutes = matches!(*change, Change::Muted { .. });
                let happenings = self.table.apply(change.into_owned(), at);
                if mutes {
                    self.diagnosis.mute(self.table.mutes(), at);
                }
                PlayedEntry::Happenings(happenings)
            }
            StoreEntry::Examined => PlayedEntry::Findings(self.diagnosis.examine(&self.table, at)),
            StoreEntry::FindingsForgotten => PlayedEntry::Findings(FindingChanges {
                cleared: self.diagnosis.start_over(),
                ..FindingChanges::default()
            }),
        }
    }

    /// Reads the compressed output of [`write()`], in at most `most` bytes of memory. Names are read
    /// with the recorded recipes, independent of the current config file. Also returns the memory of
    /// the state, in bytes.
    pub(super) fn read(packed: impl BufRead, most: u64) -> Result<(Self, u64), SegmentDamage> {
        let (budget, mut decoder) = (DecodeBudget::new(most), Decoder::new(packed)?.with_memory(most));
        let state: Self = decoder.next(&budget, SegmentDamage::Keyframe)?;
        let recipes: Vec<OwnRecipe> = decoder.next(&budget, SegmentDamage::Keyframe)?;
        // Missing before format 3.
        let evidence: SessionEvidence = if decoder.is_at_end() {
            SessionEvidence::default()
        } else {
            decoder.next(&budget, SegmentDamage::Keyframe)?
        };
        // Missing before format 5.
        let (elections, flapping): (Elections, FlappingLimit) =
            if decoder.is_at_end() { Default::default() } else { decoder.next(&budget, SegmentDamage::Keyframe)? };
        // Missing before format 6.
        let ensemble: EnsembleState = if decoder.is_at_end() {
            EnsembleState::default()
        } else {
            decoder.next(&budget, SegmentDamage::Keyframe)?
        };
        // Missing before format 7.
        let (promised, runs): (Vec<Option<Duration>>, RunsOfOne) =
            if decoder.is_at_end() { Default::default() } else { decoder.next(&budget, SegmentDamage::Keyframe)? };
        // Missing before format 8.
        let head_waits: Vec<(LockId, HeadWait)> =
            if decoder.is_at_end() { Vec::new() } else { decoder.next(&budget, SegmentDamage::Keyframe)? };
        // Missing before format 9.
        let mutes: Mutes =
            if decoder.is_at_end() { Mutes::default() } else { decoder.next(&budget, SegmentDamage::Keyframe)? };
        decoder.finish(SegmentDamage::Keyframe)?;
        let table = state.table.with_recipes(&recipes).with_session_evidence(evidence);
        let table = table
            .with_elections(elections.with_promised_holds(&promised))
            .with_ensemble_state(ensemble)
            .with_runs_of_one(runs)
            .with_head_waits(head_waits)
            .with_mutes(mutes);
        let thresholds = Thresholds { flapping, ..*state.diagnosis.thresholds() };
        let mut state = Self { table, diagnosis: state.diagnosis.with_thresholds(thresholds) };
        if !state.table.is_consistent() {
            return Err(SegmentDamage::Keyframe);
        }
        state.table.recount();
        let at = state.table.last_true().unwrap_or_default();
        state.diagnosis.mute(state.table.mutes(), at);
        Ok((state, most - budget.left()))
    }
}

/// Returns the state as compressed bytes. It is compressed while it is written, so that a large one
/// takes no more memory than these. Takes about a second for 1,000,000 contenders.
///
/// # Errors
///
/// Never fails in practice: every state serializes.
pub fn write(table: &LockTable, diagnosis: &Diagnosis) -> io::Result<Vec<u8>> {
    let elections = (table.elections(), diagnosis.thresholds().flapping);
    let evidence = table.session_evidence();
    let (ensemble, promised) = (table.ensemble_state(), (table.elections().promised_holds(), table.runs_of_one()));
    let recipes = table.own_recipes();
    let state = (table, diagnosis, recipes, evidence, elections, ensemble, promised, table.head_waits(), table.mutes());
    decode::pack_with(None, |packer| postcard::to_io(&state, packer).map(drop).map_err(io::Error::other))
}

/// One entry of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEntry<'a> {
    /// A change that the table took in.
    Change(Cow<'a, Change>),
    /// A look for findings.
    Examined,
    /// Findings were forgotten, because the locks were not seen for a while.
    FindingsForgotten,
}

impl StoreEntry<'_> {
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
    pub entry: StoreEntry<'static>,
}

/// The memory of an entry besides what it refers to, in bytes.
const ENTRY_SIZE: u64 = size_of::<TimedEntry>() as u64;

/// Consecutive entries of a segment, as bytes.
#[derive(Debug, Default)]
pub struct Chunk {
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
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SegmentDamage> {
        let (length, rest) = bytes.split_first_chunk().ok_or(SegmentDamage::Entries)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| SegmentDamage::Entries)?;
        let (entries, ids) = rest.split_at_checked(length).ok_or(SegmentDamage::Entries)?;
        Ok(Self { entries: entries.to_vec(), ids: ids.to_vec() })
    }

    pub fn len(&self) -> usize {
        self.entries.len() + self.ids.len()
    }
}

/// Merges consecutive chunks as a file stores them, and returns the whole as a file stores it. Only
/// one of them is in memory at a time: each is decompressed once for its entries and once for its
/// ids, which are behind those of all.
///
/// # Errors
///
/// Fails when a chunk is damaged.
pub fn merge(chunks: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let length = |packed: &Vec<u8>| {
        let length: Result<_, SegmentDamage> = Decoder::new(&**packed)?.array(SegmentDamage::Entries);
        length.map(u64::from_le_bytes)
    };
    let entries: u64 = chunks.iter().map(length).sum::<Result<_, _>>().map_err(io::Error::other)?;
    let chunk = |packed: &Vec<u8>| decode::unpack(packed).and_then(|bytes| Chunk::from_bytes(&bytes));
    let part =
        |part: fn(Chunk) -> Vec<u8>| chunks.iter().map(move |packed| chunk(packed).map(part).map_err(io::Error::other));
    decode::pack_with(None, |packer| {
        packer.write_all(&entries.to_le_bytes())?;
        let mut parts = part(|chunk| chunk.entries).chain(part(|chunk| chunk.ids));
        parts.try_for_each(|part| packer.write_all(&part?))
    })
}

/// Writes the entries of one segment.
#[derive(Debug)]
pub struct EntryWriter {
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
    /// Fails when an entry is too large to be read again. The chunk then has the entries before it,
    /// and nothing may be added.
    pub fn write(&mut self, at: Timestamp, entry: &StoreEntry<'_>) -> Result<(), postcard::Error> {
        let after_ms = u64::try_from(at.0.saturating_sub(self.last.0)).unwrap_or(0);
        self.last = self.last.max(at);
        let stored = self.named.store(entry, self.last, &mut self.chunk.ids);
        let is_rare = matches!(stored, StoredEntry::Change(_) | StoredEntry::SurveyedWith { .. });
        let begin = self.chunk.entries.len();
        self.chunk.entries = postcard::to_extend(&(after_ms, stored), std::mem::take(&mut self.chunk.entries))?;
        let written = self.chunk.entries.get(begin..).filter(|_| is_rare);
        let Some(memory) = to_read(entry, written) else {
            self.chunk.entries.truncate(begin);
            return Err(postcard::Error::SerializeBufferFull);
        };
        self.memory += memory;
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
pub struct EntryReader<'b> {
    budget: &'b DecodeBudget,
    /// The entries; the list has room for the expected number and doubles with more.
    entries: Vec<TimedEntry>,
    expected: usize,
    named: Named,
    at: Timestamp,
}

impl<'b> EntryReader<'b> {
    /// Creates a reader for a segment that begins at `from` with `expected` entries, as far as is
    /// known. The entries, and what playing them adds, take no more memory than `budget`.
    pub fn new(from: Timestamp, expected: u64, budget: &'b DecodeBudget) -> Self {
        let expected = usize::try_from(expected.min(budget.left() / ENTRY_SIZE)).unwrap_or(0);
        Self { budget, entries: Vec::with_capacity(expected), expected, named: Named::default(), at: from }
    }

    /// Reads the next chunk, as a file stores it.
    pub fn chunk(&mut self, packed: &[u8]) -> Result<(), SegmentDamage> {
        let mut decoder = Decoder::new(packed)?;
        let length = u64::from_le_bytes(decoder.array(SegmentDamage::Entries)?);
        decoder.only_next(length);
        let mut ids = Ids::new(packed, length);
        while !decoder.is_at_end() {
            let (after_ms, stored) =
                decoder.next::<(u64, StoredEntry<'static>)>(self.budget, SegmentDamage::Entries)?;
            self.at = Timestamp(self.at.0.saturating_add_unsigned(after_ms));
            let entry = self.named.restore(stored, self.at, &mut ids)?;
            let growth = if self.entries.len() < self.expected { 0 } else { 2 * ENTRY_SIZE };
            if !self.budget.charge(to_play(&entry) + growth) {
                return Err(SegmentDamage::TooLarge);
            }
            self.entries.push(TimedEntry { at: self.at, entry });
        }
        decoder.finish(SegmentDamage::Entries)
    }

    /// Returns the number of entries so far.
    pub fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns all entries, in order.
    pub fn entries(self) -> Vec<TimedEntry> {
        self.entries
    }
}

/// The length of a chunk's prefix, in bytes; it holds the length of the entries.
const LENGTH_BYTES: u64 = 8;

/// Reads ids in order.
struct Ids<'p> {
    packed: &'p [u8],
    /// The length of the entries before the ids, in bytes.
    entries: u64,
    /// A second decoder of the same chunk: it skips the entries, which therefore need not be kept
    /// in memory. `None` until an id is read.
    decoder: Option<Decoder<&'p [u8]>>,
}

impl<'p> Ids<'p> {
    /// Creates a reader for a chunk with `entries` bytes of entries.
    pub fn new(packed: &'p [u8], entries: u64) -> Self {
        Self { packed, entries, decoder: None }
    }

    pub fn next(&mut self) -> Result<Uuid, SegmentDamage> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => {
                let mut decoder = Decoder::new(self.packed)?;
                decoder.skip(self.entries.saturating_add(LENGTH_BYTES), SegmentDamage::Entries)?;
                none.insert(decoder)
            }
        };
        Ok(Uuid::from_bytes(decoder.array(SegmentDamage::Entries)?))
    }
}

/// The most memory that a node adds to the table besides its names and data, in bytes: a lock of
/// its own, with its contender and parent. `tests/memory` checks that a lock takes less than 500
/// bytes with its names.
const NODE_MEMORY: u64 = 400;

/// How often the text of a path is kept: in the entry, and in parts as the names of the parent and
/// of the node.
const PATH_COPIES: u64 = 2;

/// The largest entry that is written, in bytes: beside the other entries of a segment it fits into
/// one value. Answers of servers with 250,000 watches are smaller.
const MAX_ENTRY: usize = 16 << 20;

/// Returns the memory to keep and play an entry, besides that of [decoding](super::decode)
/// it.
fn to_play(entry: &StoreEntry<'_>) -> u64 {
    let added = match entry {
        StoreEntry::Change(change) => added_by(change),
        StoreEntry::Examined | StoreEntry::FindingsForgotten => 0,
    };
    ENTRY_SIZE + added
}

/// Returns the memory that a change adds to the table.
fn added_by(change: &Change) -> u64 {
    match change {
        Change::Seen { path, node } => {
            NODE_MEMORY + PATH_COPIES * path.as_str().len() as u64 + node.data.bytes().len() as u64
        }
        Change::Appeared { path }
        | Change::Listed { path, .. }
        | Change::Sampled { path, .. }
        | Change::Unreadable { path, .. } => NODE_MEMORY + PATH_COPIES * path.as_str().len() as u64,
        Change::Deleted { path, .. } | Change::DeletedBy { path, .. } => path.as_str().len() as u64,
        Change::Compared { comparison } => comparison.memory(),
        Change::Crossed { waits } => waits.memory(),
        Change::Muted { mutes } => mutes.memory(),
        Change::Surveyed { .. } | Change::Heard { .. } | Change::Connection(_) | Change::Syncing | Change::Synced => 0,
    }
}

/// Returns the most memory for reading and playing an entry. `written` holds its bytes if they
/// contain all of it. Returns `None` when the entry exceeds [`MAX_ENTRY`].
fn to_read(entry: &StoreEntry<'_>, written: Option<&[u8]>) -> Option<u64> {
    let decoded = match (written, entry) {
        (Some(written), _) if written.len() > MAX_ENTRY => return None,
        (Some(written), _) => decode::memory_of::<(u64, StoredEntry<'static>)>(written, u64::MAX)?,
        (None, StoreEntry::Change(change)) => size_of::<(u64, StoredEntry<'_>)>() as u64 + texts(change),
        (None, StoreEntry::Examined | StoreEntry::FindingsForgotten) => size_of::<(u64, StoredEntry<'_>)>() as u64,
    };
    Some(decoded + to_play(entry))
}

/// Returns the memory of an entry's texts, when known names are numbers: that of the parts of a new
/// name, and of new data.
fn texts(change: &Change) -> u64 {
    const PARTS: u64 = 4;
    const PART_OVERHEAD: u64 = 32;
    let (path, data) = match change {
        Change::Seen { path, node } => (path.as_str().len(), node.data.bytes().len()),
        Change::Appeared { path } | Change::Deleted { path, .. } | Change::DeletedBy { path, .. } => {
            (path.as_str().len(), 0)
        }
        _ => (0, 0),
    };
    (path + data) as u64 + PARTS * PART_OVERHEAD
}
