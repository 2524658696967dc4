//! ZooKeeper's terms as types: paths, sequence numbers, session ids, transaction ids, and a node's
//! stat and data.
//!
//! Pure: nothing here talks to a server or knows a lock.

#![warn(clippy::missing_errors_doc)]

mod path;
mod stat;

pub use path::{BadPath, Sequence, ZnodePath, escaped, escaped_bytes, must_be_escaped};
pub use stat::{
    MAX_KEPT_DATA, Node, NodeData, SessionId, TimeBounds, TimeRange, Timestamp, ZnodeStat, Zxid, is_marked_timeout,
    marked_timeout,
};
