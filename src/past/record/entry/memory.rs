//! What entries take of the memory of who reads them.

use super::stored::StoredEntry;
use super::{ENTRY_SIZE, Entry};
use crate::record::decode;
use lockscope_model::queue::Change;

/// What a node adds to the table at most, besides its names and its data, in bytes: a lock of its own, with its contender and its parent.
/// `tests/memory` holds that a lock takes less than 500 with its names.
const NODE_MEMORY: u64 = 400;

/// How often the text of its path is kept: in the entry, and in parts as the names of the parent and of the node.
const PATH_COPIES: u64 = 2;

/// No entry that is written takes more than this, in bytes: answers of servers with some 100,000 connections do not.
const MAX_ENTRY: u64 = 48 << 20;

/// What it takes to keep an entry and to play it, besides what it took to [decode](super::super::decode) it.
pub(super) fn to_play(entry: &Entry<'_>) -> u64 {
    let added = match entry {
        Entry::Change(change) => added_by(change),
        Entry::Examined | Entry::FindingsForgotten => 0,
    };
    ENTRY_SIZE + added
}

/// What a change adds to the table.
fn added_by(change: &Change) -> u64 {
    match change {
        Change::Seen { path, node } => {
            NODE_MEMORY + PATH_COPIES * path.as_str().len() as u64 + node.data.bytes().len() as u64
        }
        Change::Appeared { path }
        | Change::Listed { path, .. }
        | Change::Sampled { path, .. }
        | Change::Unreadable { path, .. } => NODE_MEMORY + PATH_COPIES * path.as_str().len() as u64,
        Change::Deleted { path, .. } => path.as_str().len() as u64,
        Change::Surveyed { .. } | Change::Heard { .. } | Change::Connection(_) | Change::Syncing | Change::Synced => 0,
    }
}

/// What reading and playing an entry takes at most; `written`: how it was written, where all of it is. `None` when it takes more than any
/// entry may.
pub(super) fn to_read(entry: &Entry<'_>, written: Option<&[u8]>) -> Option<u64> {
    let decoded = match (written, entry) {
        (Some(written), _) => decode::memory_of::<(u64, StoredEntry<'static>)>(written, MAX_ENTRY)?,
        (None, Entry::Change(change)) => size_of::<(u64, StoredEntry<'_>)>() as u64 + texts(change),
        (None, Entry::Examined | Entry::FindingsForgotten) => size_of::<(u64, StoredEntry<'_>)>() as u64,
    };
    Some(decoded + to_play(entry))
}

/// The texts of an entry in which what was named before is a number: those of a new name, in parts, and of new data.
fn texts(change: &Change) -> u64 {
    const PARTS: u64 = 4;
    const PART_OVERHEAD: u64 = 32;
    let (path, data) = match change {
        Change::Seen { path, node } => (path.as_str().len(), node.data.bytes().len()),
        Change::Appeared { path } | Change::Deleted { path, .. } => (path.as_str().len(), 0),
        _ => (0, 0),
    };
    (path + data) as u64 + PARTS * PART_OVERHEAD
}
