//! Contenders as a read finds them, for measurements.

use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::queue::Change;

/// What each contender's node holds.
pub const DATA: &[u8] = b"10.0.4.170";

/// The node that Curator's recipe of that kind (`lock-`, `__READ__`) would make.
pub fn path(parent: &str, kind: &str, number: i64) -> ZnodePath {
    let path = format!("{parent}/_c_{number:08x}-0000-4000-8000-000000000000-{kind}{number:010}");
    ZnodePath::new(&path).expect("a path")
}

/// The contender with that number, each with a session of its own.
pub fn seen(parent: &str, kind: &str, number: i64) -> Change {
    let of_new = ZnodeStat::of_new(Zxid(number), Timestamp(number), Some(SessionId(number)));
    let stat = ZnodeStat { data_length: 10, ..of_new };
    Change::Seen { path: path(parent, kind, number), node: Node { stat, data: NodeData::keep(DATA) } }
}
