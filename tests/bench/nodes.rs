//! Contenders as read from an ensemble, for benchmarks.

use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::queue::Change;

/// The data of each contender's node.
pub const DATA: &[u8] = b"10.0.4.170";

/// Returns the path that Curator's recipe would create for a kind of request (`lock-`, `__READ__`).
pub fn path(parent: &str, kind: &str, number: i64) -> ZnodePath {
    let path = format!("{parent}/_c_{number:08x}-0000-4000-8000-000000000000-{kind}{number:010}");
    ZnodePath::new(&path).expect("a path")
}

/// Returns the change for a contender with a number. Each contender has its own session.
pub fn seen(parent: &str, kind: &str, number: i64) -> Change {
    let of_new = ZnodeStat::of_new(Zxid(number), Timestamp(number), Some(SessionId(number)));
    let stat = ZnodeStat { data_length: 10, ..of_new };
    Change::Seen { path: path(parent, kind, number), node: Node { stat, data: NodeData::keep(DATA) } }
}
