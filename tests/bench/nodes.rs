//! Contenders as read from an ensemble, for benchmarks.

use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::queue::Change;

/// The data of each contender's node.
pub const DATA: &[u8] = b"10.0.4.170";

/// The path that Curator's recipe would create for a kind of request (`lock-`, `__READ__`).
pub fn path(parent: &str, kind: &str, number: i64) -> ZnodePath {
    let path = format!("{parent}/_c_{number:08x}-0000-4000-8000-000000000000-{kind}{number:010}");
    ZnodePath::new(&path).expect("a path")
}

/// The contender with a number. Each has a session of its own.
pub fn seen(parent: &str, kind: &str, number: i64) -> Change {
    let stat = ZnodeStat {
        czxid: Zxid(number),
        mzxid: Zxid(number),
        pzxid: Zxid(number),
        ctime: Timestamp(number),
        mtime: Timestamp(number),
        version: 0,
        cversion: 0,
        aversion: 0,
        ephemeral_owner: Some(SessionId(number)),
        data_length: 10,
        num_children: 0,
    };
    Change::Seen { path: path(parent, kind, number), node: Node { stat, data: NodeData::keep(DATA) } }
}
