//! How much memory a part of a recording may take of who reads it, and so how much a recorder writes.
//!
//! A command that reads a recording stays below 300 MB. `replay` keeps a second state: it stays below 300 MB up to
//! 85,000 locks, and takes 315 MB for 100,000.
//!
//! A command has the state of a moment, and the entries that lead from there to the next
//! keyframe; while entries are played, the state grows by what they add. The bounds count what is [decoded](super::decode), not the bytes
//! of the file.

/// What a keyframe may take, in bytes: some 120,000 locks with a contender each, or 190,000 contenders of one lock.
pub(super) const MAX_STATE: u64 = 144 << 20;

/// What the state at the beginning of a segment, its entries and all that they add to the state may take together, in bytes.
pub(super) const MAX_SEGMENT: u64 = 256 << 20;

/// What the entries of a segment may take that is recorded, in bytes: they fit beside the largest keyframe. The recorder counts a little
/// more than the reader does.
pub(super) const MAX_RECORDED_ENTRIES: u64 = 96 << 20;

/// What a recorded keyframe takes in memory at most, for each of its bytes: a free slot of a queue is one byte.
pub(super) const MAX_GROWTH: u64 = 256;

/// The largest value of a column, in bytes: a segment ends when its entries have 32 MiB, which may not become smaller when they are
/// compressed, and the last of them may be as large as the answers of servers are.
pub(super) const MAX_VALUE: i32 = 48 << 20;

/// What the rows that are read for one question may take, in bytes.
pub(super) const MAX_ROWS: u64 = 128 << 20;
