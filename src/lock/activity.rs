//! The activity of a lock's attempts on the wire, as reported to a recorder. Not for applications:
//! the console's test clients show it.

use std::fmt::Debug;

use lockscope_base::znode::ZnodePath;

/// The purpose of a lock's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
