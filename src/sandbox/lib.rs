//! An in-process, in-memory, single-server ZooKeeper for demos and tests. It speaks the real wire
//! protocol on a loopback port.
//!
//! Any ZooKeeper client can connect. Sessions, all kinds of nodes (ephemeral, sequential,
//! container, TTL), ACLs, all kinds of watches, multi and the four-letter words behave as in
//! ZooKeeper 3.8.0 as Debian ships it, with extended types enabled.
//!
//! The sandbox keeps nothing on disk. It has no other members, no TLS, no SASL, no quotas, no
//! reconfiguration and no AdminServer. It is no replacement for a real ensemble.
//!
//! Deliberate differences:
//!
//! - The sandbox is bounded ([`SandboxConfig`], and at most 128 ACLs a node). A real server is not.
//! - The sandbox answers a `check` outside of a multi. ZooKeeper 3.8.0 never does.
//! - Lists of children, and the nodes that go with a session, are in the order of their names.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lockscope_sandbox::{Sandbox, SandboxConfig};
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let sandbox = Sandbox::start(listener, SandboxConfig::default())?;
//! let client = zookeeper_client::Client::connect(&sandbox.connect_string()).await?;
//! assert!(client.check_stat("/zookeeper").await?.is_some());
//! sandbox.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Inside
//!
//! ```text
//! socket --bytes--> serve --> machine::receive(connection, bytes, now)
//!                                | wire: frames and requests are read, within bounds
//!                                | session, tree, watch: the state
//!                                v
//! socket <--bytes-- serve <-- machine::take_output(connection)   replies and watch events, in order
//! ```
//!
//! Architecture invariant: everything but `serve` is a function of its arguments. No other file
//! uses a socket or a clock. One lock guards the whole state, so all clients see the same state.

#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Readme;

mod config;
mod four_letter;
mod machine;
mod serve;
#[expect(missing_docs, reason = "public for simulations only, which read the source")]
mod tree;
mod watch;
mod wire;

/// The tree of nodes, for simulations of whole ensembles.
#[doc(hidden)]
pub mod parts {
    pub use crate::tree::{
        Owner, Stat, Tree, TreeChange, TreeMode, TreeNode, Undo, Wish, anyone, known, name, parent, permission,
        validate,
    };
}

pub use config::{SandboxConfig, ServerBehaviour};
pub use serve::{Sandbox, SandboxError};
