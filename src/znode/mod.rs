//! The words of ZooKeeper as types: paths, sequences, sessions, transactions, and a node's stat and data.
//!
//! Pure: nothing here talks to a server, and nothing here knows a lock.

mod id;
mod path;
mod sequence;
mod stat;
mod text;
mod time;

pub use id::{SessionId, Zxid};
pub use path::{BadPath, ZnodePath};
pub use sequence::Sequence;
pub use stat::{MAX_KEPT_DATA, Node, NodeData, ZnodeStat};
pub use text::{escaped, escaped_bytes, must_be_escaped};
pub use time::Timestamp;
