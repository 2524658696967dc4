//! Types for ZooKeeper's terms, and the meaning of lock nodes' names. All crates of lockscope share
//! them.
//!
//! - [`znode`]: paths, sequence numbers, ids of sessions and transactions, stats.
//! - [`disk`]: decodes the transaction logs and snapshots of servers.
//! - [`recipe`]: reads the node names of locks: which library made a node, what it asks for, and to
//!   which lock it belongs.
//! - [`time`]: the wall clock, and growing pauses between tries.
//! - [`trace_context`]: the span of an application that a node's data name.
//! - [`wire`]: ZooKeeper's protocol: frames and what stands in them.

pub mod disk;
pub mod recipe;
pub mod time;
pub mod trace_context;
pub mod wire;
pub mod znode;
