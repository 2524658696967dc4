//! The meaning of lock nodes' names, ZooKeeper's protocol and the files of its servers. All crates
//! of lockscope share them.
//!
//! - [`disk`]: decodes the transaction logs and snapshots of servers.
//! - [`recipe`]: reads the node names of locks: which library made a node, what it asks for, and to
//!   which lock it belongs.
//! - [`wire`]: ZooKeeper's protocol: frames and what stands in them.
//!
//! The modules of [`lockscope_terms`] are here too: [`znode`], [`time`] and [`trace_context`].

pub mod disk;
pub mod recipe;
pub mod wire;

pub use lockscope_terms::{time, trace_context, znode};
