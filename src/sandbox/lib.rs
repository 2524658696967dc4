//! An in-process, in-memory, single-server ZooKeeper for demos and tests, which speaks the real wire protocol on a loopback
//! port.
//!
//! Any ZooKeeper client can connect: sessions, the tree with ephemeral, sequential, container and TTL nodes, ACLs, all kinds
//! of watches, multi, and the four-letter words behave as those of ZooKeeper 3.8.0 as Debian ships it, with extended types
//! enabled. It keeps nothing on disk, has no other members, no TLS, no SASL, no quotas, no reconfiguration and no
//! AdminServer, and is no replacement for a real ensemble.
//!
//! Where it differs on purpose: it is bounded ([`SandboxConfig`], and at most 128 ACLs a node) where a real server takes what
//! comes; a `check` outside of a multi is answered, which 3.8.0 never does; lists of children, and the nodes that go with a
//! session, are in the order of their names.
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
//! socket <--bytes-- serve <-- machine::take(connection)     replies and watch events, in order
//! ```
//!
//! Architecture invariant: everything but `serve` is a function of what it is given. No other file knows a socket or a clock,
//! and one lock holds the whole state, so that what one client sees another sees.

mod config;
mod four_letter;
mod machine;
mod serve;
mod session;
mod tree;
mod watch;
mod wire;

pub use config::SandboxConfig;
pub use serve::{Sandbox, SandboxError};
