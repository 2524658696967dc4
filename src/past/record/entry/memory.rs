//! The memory that entries take in a reader.

use super::stored::StoredEntry;
use super::{ENTRY_SIZE, Entry};
use crate::record::decode;
use lockscope_model::queue::Change;

/// The most memory that a node adds to the table besides its names and data, in bytes: a lock of
/// its own, with its contender and parent. `tests/memory` checks that a lock takes less than 500
/// bytes with its names.
const NODE_MEMORY: u64 = 400;

/// How often the text of a path is kept: in the entry, and in parts as the names of the parent and
/// of the node.
const PATH_COPIES: u64 = 2;

/// The largest entry that is written, in bytes; answers of servers with 100,000 connections are
/// smaller.
const MAX_ENTRY: u64 = 48 << 20;

/// Returns the memory to keep and play an entry, besides that of [decoding](super::super::decode)
/// it.
pub(super) fn to_play(entry: &Entry<'_>) -> u64 {
    let added = match entry {
        Entry::Change(change) => added_by(change),
        Entry::Examined | Entry::FindingsForgotten => 0,
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
        Change::Surveyed { .. } | Change::Heard { .. } | Change::Connection(_) | Change::Syncing | Change::Synced => 0,
    }
}

/// Returns the most memory for reading and playing an entry. `written` holds its bytes if they
/// contain all of it. Returns `None` when the entry exceeds [`MAX_ENTRY`].
pub(super) fn to_read(entry: &Entry<'_>, written: Option<&[u8]>) -> Option<u64> {
    let decoded = match (written, entry) {
        (Some(written), _) => decode::memory_of::<(u64, StoredEntry<'static>)>(written, MAX_ENTRY)?,
        (None, Entry::Change(change)) => size_of::<(u64, StoredEntry<'_>)>() as u64 + texts(change),
        (None, Entry::Examined | Entry::FindingsForgotten) => size_of::<(u64, StoredEntry<'_>)>() as u64,
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
