//! What all of lockscope's crates share: ZooKeeper's words as types, and what the names of locks' nodes mean.
//!
//! - [`znode`]: paths, sequence numbers, ids of sessions and transactions, stats.
//! - [`recipe`]: reads the node names of locks: which library made a node, what it asks for, and to which lock it belongs.
//! - [`time`]: the wall clock, and growing pauses between tries.

pub mod recipe;
pub mod time;
pub mod znode;
