//! What locks do, step by step, for a program that counts or draws it: each request by its purpose,
//! each watch from its setting to its event.
//!
//! A [`Cost`](super::Cost) is enough to know how much a lock asks of the servers. A recorder learns
//! what for. It costs one call for each step, and nothing without a recorder.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use lockscope_lock::activity::{ActivityRecorder, LockActivity, RequestKind};
//! use lockscope_lock::{CostCounter, LockOptions};
//!
//! /// Counts the listings of a lock.
//! #[derive(Debug, Default)]
//! struct Listings(AtomicU64);
//!
//! impl ActivityRecorder for Listings {
//!     fn record(&self, activity: LockActivity) {
//!         if activity == LockActivity::Sends(RequestKind::List) {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! let listings = Arc::new(Listings::default());
//! let options = LockOptions::default().counter(CostCounter::recorded_by(listings.clone()));
//! ```

use std::fmt::Debug;

use lockscope_terms::znode::ZnodePath;

/// The purpose of a lock's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RequestKind {
    /// The request creates a node.
    Create,
    /// The request lists the children of a node, with or without a watch.
    List,
    /// The request reads a node or its stat, with or without a watch.
    Read,
    /// The request deletes a node.
    Delete,
    /// The request removes a watch.
    RemoveWatch,
    /// The request lets the server catch up with the leader.
    Sync,
    /// The request is a guarded write of the application.
    Write,
}

/// The place on which a watch is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchPlace {
    /// The children of this node: a creation or a deletion among them fires it.
    Children(ZnodePath),
    /// This node: its deletion fires it, and a change of its data.
    Node(ZnodePath),
}

/// An action of an attempt, or a delivery to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockActivity {
    /// The attempt sends a request. A [`Cost`](super::Cost) counts it.
    Sends(RequestKind),
    /// A reply told the attempt that a watch is set.
    Watches(WatchPlace),
    /// The attempt gives up a watch that has not fired. The request for that follows.
    Unwatches(WatchPlace),
    /// A watch event was delivered to the attempt. A [`Cost`](super::Cost) counts it.
    Woken(WatchPlace),
    /// The attempt has nothing to do but wait for the event of a watch.
    Waits,
    /// The attempt's node was created.
    Created(ZnodePath),
    /// The attempt's node is gone.
    Deleted(ZnodePath),
}

/// Learns of each activity of the locks that share a [`CostCounter`](super::CostCounter), in the
/// order in which an attempt does or notices it.
pub trait ActivityRecorder: Debug + Send + Sync {
    /// Records an activity. Called between the attempt's requests: must not block and must not call
    /// a lock.
    fn record(&self, activity: LockActivity);
}
