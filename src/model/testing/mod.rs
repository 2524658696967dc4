//! Helpers for the tests of every crate, by the feature `testing`: paths, nodes that were read,
//! tables in step, and random trees.

#![expect(clippy::new_without_default, reason = "a fixture is made, and never a default")]

pub mod fixture;
pub mod steps;

use crate::queue::{Change, ConnectionState, LockTable};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat};

pub fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a path")
}

/// Returns a UUID that differs by `number`, as recipes put it into node names.
pub fn uuid(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// The observer's session.
pub const OBSERVER: SessionId = SessionId(900);

pub fn connected() -> Change {
    Change::Connection(ConnectionState::Connected { session: OBSERVER, recursive: true })
}

pub fn lost() -> Change {
    Change::Connection(ConnectionState::Lost { reason: "cut".to_owned() })
}

pub fn deleted(at: &ZnodePath) -> Change {
    Change::Deleted { path: at.clone(), zxid: None }
}

/// Returns the change for a node that was read.
pub fn seen(at: &str, stat: ZnodeStat, data: &[u8]) -> Change {
    let stat = ZnodeStat { data_length: data.len().try_into().expect("short"), ..stat };
    Change::Seen { path: path(at), node: Node { stat, data: NodeData::keep(data) } }
}

/// Returns the changes of an observer that connects and reads everything.
pub fn reading(found: impl IntoIterator<Item = Change>) -> impl Iterator<Item = Change> {
    [connected(), Change::Syncing].into_iter().chain(found).chain([Change::Synced])
}

/// Returns a table that is in step with the given changes.
pub fn table(found: impl IntoIterator<Item = Change>, now: Timestamp) -> LockTable {
    let mut table = LockTable::new([]);
    reading(found).for_each(|change| drop(table.apply(change, now)));
    table
}
