//! What the servers' own view makes of the queues: who is alive, who watches what, and why a lock is stuck.
//!
//! [`Sight`] joins a [`LockTable`](crate::queue::LockTable) with its [`ServerView`](crate::server_view::ServerView).
//!
//! Pure. Architecture invariant: without evidence nothing is claimed; what a missing server could know stays unknown.

mod facts;

pub use facts::{Facts, Life, Sight, Watching};
