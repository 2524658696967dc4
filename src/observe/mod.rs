//! Keeps a [`LockTable`](crate::queue::LockTable) true to the ensemble. STUB; being implemented.

mod follow;

use crate::queue::Change;
use crate::zk::ConnectOptions;
use crate::znode::{Timestamp, ZnodePath};

/// What to observe.
#[derive(Clone, Debug)]
pub struct ObserveOptions {
    /// Where.
    pub connection: ConnectOptions,
    /// Below which nodes locks are looked for.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks though their names do not tell.
    pub named: Vec<ZnodePath>,
}

/// A change, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// By this machine's clock.
    pub at: Timestamp,
    /// What was seen.
    pub change: Change,
}

/// A running observer.
#[derive(Debug)]
pub struct Observer {}

impl Observer {
    /// Starts to observe, in a task of its own that ends when this is stopped or dropped.
    pub fn start(options: ObserveOptions) -> Self {
        let _ = options;
        Self {}
    }
    /// The next changes, in order: at least one, at most a few thousand. `None` when it ended (it was refused, or stopped).
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<Observed>> {
        std::future::pending().await
    }
    /// Ends it and waits until its session is closed, at most two seconds.
    pub async fn stop(self) {}
}
