//! What tests of every crate say in a word: a path, a node that was read, a table that is in step.

use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat};
use lockscope_model::queue::{Change, ConnectionState, LockTable};

pub fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a path")
}

/// `U` of the recipes: a UUID that differs by `number`.
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

/// A node was read.
pub fn seen(at: &str, stat: ZnodeStat, data: &[u8]) -> Change {
    let stat = ZnodeStat { data_length: data.len().try_into().expect("short"), ..stat };
    Change::Seen { path: path(at), node: Node { stat, data: NodeData::keep(data) } }
}

/// What an observer reports that reads everything, from the connection on.
pub fn reading(found: impl IntoIterator<Item = Change>) -> impl Iterator<Item = Change> {
    [connected(), Change::Syncing].into_iter().chain(found).chain([Change::Synced])
}

/// A table that is in step with what was found.
pub fn table(found: impl IntoIterator<Item = Change>, now: Timestamp) -> LockTable {
    let mut table = LockTable::new([]);
    reading(found).for_each(|change| drop(table.apply(change, now)));
    table
}
