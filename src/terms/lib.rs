//! ZooKeeper's terms as types, and what the lock library and the console need beside them.
//!
//! - [`znode`]: paths, sequence numbers, ids of sessions and transactions, stats.
//! - [`time`]: the wall clock, and growing pauses between tries.
//! - [`trace_context`]: the span of an application that a node's data name.

pub mod time;
pub mod trace_context;
pub mod znode;
