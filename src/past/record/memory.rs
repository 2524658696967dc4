//! How much memory a reader may take: the bounds, which a recorder keeps within, and the budgets
//! for rows and for decoded values.
//!
//! A command that reads a recording stays below 300 MB, unless its user allows more. `replay` keeps
//! a second state: it stays below 300 MB up to 85,000 locks, and takes 315 MB for 100,000. A
//! recording may have states that take more; a reader then says how much it needs.
//!
//! A command holds the state of a moment and the entries from there to the next keyframe. While
//! entries are played, the state grows by what they add. The bounds count decoded memory, not the
//! bytes of the file.
//!
//! A small file can hold very many rows, so the rows read for one question are charged, too.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};

/// The memory that a reader may take, in bytes of decoded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadMemory(u64);

/// The bound by default, in bytes: the states of about 120,000 locks with a contender each, or of
/// 190,000 contenders of one lock, can be read.
const DEFAULT: u64 = 256 << 20;

/// The bound of this process, in bytes.
static ALLOWED: AtomicU64 = AtomicU64::new(DEFAULT);

impl ReadMemory {
    /// The most that can be asked for. What takes more is no recording.
    pub(super) const MOST: u64 = 1 << 40;

    /// Creates a bound of so many bytes.
    #[cfg(test)]
    pub(super) fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Lets this process take so many bytes for each recording that it opens from now on, and never
    /// less than by default. The bound is one for the whole process, as its memory is.
    pub fn allow(bytes: u64) {
        ALLOWED.store(bytes.max(DEFAULT), Ordering::Relaxed);
    }

    /// Returns the bound for a recording that is opened now.
    pub(super) fn allowed() -> Self {
        Self(ALLOWED.load(Ordering::Relaxed))
    }

    /// Returns the most memory of a segment, in bytes: the state at its beginning, its entries and
    /// everything that they add.
    pub(super) fn segment(self) -> u64 {
        self.0
    }

    /// Returns the most memory of a keyframe, in bytes: nine sixteenths, so that the entries of the
    /// segment fit beside it.
    pub(super) fn state(self) -> u64 {
        self.0 / 16 * 9
    }

    /// Returns about what a segment takes whose state takes more than is allowed, in bytes: decoding
    /// ended after `part` of its `whole` bytes. The beginning of a state takes up to a third less
    /// memory for each byte than the rest, and the entries take up to twice as much as the state.
    pub(super) fn needed_for_state(self, part: u64, whole: u64) -> u64 {
        scaled(self.state(), part, whole).saturating_mul(4)
    }

    /// Returns about what a segment takes whose entries take more than is allowed beside a state of
    /// `state` bytes: decoding ended after `part` of the `whole` entries. The estimate gets a quarter
    /// more.
    pub(super) fn needed_for_entries(self, state: u64, part: u64, whole: u64) -> u64 {
        let bytes = state.saturating_add(scaled(self.0.saturating_sub(state), part, whole));
        bytes.saturating_add(bytes / 4)
    }
}

/// Returns the bytes of the whole, if a part of it took `bytes`.
fn scaled(bytes: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(bytes) * u128::from(whole.max(part)) / u128::from(part.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The most memory of a recorded segment's entries beside a state that can be read by default, in
/// bytes. The recorder counts slightly more than the reader.
const MAX_RECORDED_ENTRIES: u64 = 96 << 20;

/// The contenders from which on no state can be read by default.
const VERY_MANY_CONTENDERS: u64 = 190_000;

/// The memory of the entries for each of very many contenders, in bytes: twice that of a contender
/// in a state. A keyframe takes about 90 bytes a contender in the file, and these entries 50: shorter
/// segments would be keyframes above all.
const ENTRIES_PER_CONTENDER: u64 = 1_600;

/// Returns the most memory of a recorded segment's entries, in bytes, if it begins with this number
/// of contenders.
pub fn max_recorded_entries(contenders: u64) -> u64 {
    if contenders < VERY_MANY_CONTENDERS { MAX_RECORDED_ENTRIES } else { contenders * ENTRIES_PER_CONTENDER }
}

/// The largest value of a column, in bytes. A segment ends when its entries have 32 MiB.
/// Compression may not make them smaller, and the last entry may be as large as the answers of
/// servers.
pub const MAX_VALUE: i32 = 48 << 20;

/// The most memory of the rows read for one question, in bytes.
pub const MAX_ROWS: u64 = 128 << 20;

/// The memory of a row besides its texts, in bytes.
const ROW_OVERHEAD: u64 = 256;

/// The rows exceed the memory bound.
#[derive(Debug, thiserror::Error)]
#[error("the rows take more memory than they may")]
struct Exceeded;

/// The memory left for rows.
#[derive(Debug)]
pub struct RowMemory {
    left: Cell<u64>,
}

impl Default for RowMemory {
    fn default() -> Self {
        Self { left: Cell::new(MAX_ROWS) }
    }
}

impl RowMemory {
    /// Charges the memory of a row. Must be called before its values are read.
    pub fn charge(&self, row: &Row<'_>) -> rusqlite::Result<()> {
        let columns = row.as_ref().column_count();
        let text = |column| match row.get_ref(column)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok::<_, rusqlite::Error>(bytes.len() as u64),
            _ => Ok(0),
        };
        let bytes =
            (0..columns).try_fold(ROW_OVERHEAD, |bytes, column| Ok::<_, rusqlite::Error>(bytes + text(column)?))?;
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.ok_or_else(|| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Exceeded.into()))?);
        Ok(())
    }

    /// Returns whether an error was caused by this bound.
    pub fn is_exceeded(error: &rusqlite::Error) -> bool {
        matches!(error, rusqlite::Error::FromSqlConversionFailure(.., why) if why.is::<Exceeded>())
    }
}

/// The memory that decoded values may take. Once it is exceeded, nothing more is decoded.
#[derive(Debug)]
pub struct DecodeBudget {
    /// The remaining bytes.
    left: Cell<u64>,
    is_exceeded: Cell<bool>,
    /// Bytes of the value under construction that are stored inline, and are charged with its
    /// container.
    inline: Cell<usize>,
}

impl DecodeBudget {
    /// Creates a budget of `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), is_exceeded: Cell::new(false), inline: Cell::new(0) }
    }

    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Takes memory from the budget. Returns whether there was enough.
    pub fn charge(&self, bytes: u64) -> bool {
        match self.left.get().checked_sub(bytes) {
            Some(left) if !self.is_exceeded.get() => {
                self.left.set(left);
                true
            }
            _ => {
                self.is_exceeded.set(true);
                false
            }
        }
    }

    /// Returns whether more memory was requested than there was.
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// Returns the inline size of the value under construction so far.
    pub fn inline(&self) -> usize {
        self.inline.get()
    }

    /// Records a complete part of the value. The part has `size` bytes, or the size of its boxed
    /// content if that is larger. `before` is the inline size before the part.
    pub fn put_inline(&self, before: usize, size: usize) {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before.saturating_add(parts.max(size)));
    }

    /// Removes a complete element that is stored outside of its container from the inline size, and
    /// returns its size.
    pub fn take_apart(&self, before: usize, size: usize) -> u64 {
        let parts = self.inline.get().saturating_sub(before);
        self.inline.set(before);
        parts.max(size) as u64
    }

    /// Charges the inline size of a complete value. Returns whether there was enough memory.
    pub fn charge_inline(&self) -> bool {
        self.charge(self.inline.take() as u64)
    }
}
