//! ZooKeeper's terms as types: paths, sequence numbers, session ids, transaction ids, and a node's
//! stat and data.
//!
//! Pure: nothing here talks to a server or knows a lock.

#![warn(clippy::missing_errors_doc)]

mod id;
mod own_timeout;
mod path;
mod sequence;
mod stat;
mod text;
mod time;
mod time_bounds;

pub use id::{SessionId, Zxid};
pub use own_timeout::{is_marked_timeout, marked_timeout};
pub use path::{BadPath, ZnodePath};
pub use sequence::Sequence;
pub use stat::{MAX_KEPT_DATA, Node, NodeData, ZnodeStat};
pub use text::{escaped, escaped_bytes, must_be_escaped};
pub use time::{TimeRange, Timestamp};
pub use time_bounds::TimeBounds;
