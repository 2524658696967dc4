//! Bounds on the memory that a part of a recording takes in a reader, and so on how much a recorder
//! writes.
//!
//! A command that reads a recording stays below 300 MB. `replay` keeps a second state: it stays
//! below 300 MB up to 85,000 locks, and takes 315 MB for 100,000.
//!
//! A command holds the state of a moment and the entries from there to the next keyframe. While
//! entries are played, the state grows by what they add. The bounds count [decoded](super::decode)
//! memory, not the bytes of the file.

/// The most memory of a keyframe, in bytes: about 120,000 locks with a contender each, or 190,000
/// contenders of one lock.
pub(super) const MAX_STATE: u64 = 144 << 20;

/// The most memory of a segment, in bytes: the state at its beginning, its entries and everything
/// that they add.
pub(super) const MAX_SEGMENT: u64 = 256 << 20;

/// The most memory of a recorded segment's entries, in bytes: they fit beside the largest keyframe.
/// The recorder counts slightly more than the reader.
pub(super) const MAX_RECORDED_ENTRIES: u64 = 96 << 20;

/// The most memory for each byte of a recorded keyframe, in bytes: a free slot of a queue takes one
/// byte in the file.
pub(super) const MAX_GROWTH: u64 = 256;

/// The largest value of a column, in bytes. A segment ends when its entries have 32 MiB.
/// Compression may not make them smaller, and the last entry may be as large as the answers of
/// servers.
pub(super) const MAX_VALUE: i32 = 48 << 20;

/// The most memory of the rows read for one question, in bytes.
pub(super) const MAX_ROWS: u64 = 128 << 20;
