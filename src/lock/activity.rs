//! What the attempts of a lock do on the wire, told to whoever records it. Not for applications: the console's test clients
//! show it.

use std::fmt::Debug;

use lockscope_base::znode::ZnodePath;

/// What a request of a lock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// It creates a node.
    Create,
    /// It lists the children of a node, with or without a watch.
    List,
    /// It reads a node or its stat, with or without a watch.
    Read,
    /// It deletes a node.
    Delete,
    /// It removes a watch.
    RemoveWatch,
    /// It lets its server catch up with the leader.
    Sync,
}

/// What a watch is set on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchPlace {
    /// The children of this node: a creation or a deletion among them fires it.
    Children(ZnodePath),
    /// This node: its deletion fires it, and a change of its data.
    Node(ZnodePath),
}

/// Something that an attempt did, or that was delivered to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockActivity {
    /// It sends a request. A [`Cost`](super::Cost) counts it.
    Sends(RequestKind),
    /// It was answered that a watch is set.
    Watches(WatchPlace),
    /// It gives up a watch that has not fired. The request for that comes right after.
    Unwatches(WatchPlace),
    /// A watch event was delivered to it. A [`Cost`](super::Cost) counts it.
    Woken(WatchPlace),
    /// All that it knows tells it to wait for the event of a watch.
    Waits,
    /// Its node was created.
    Created(ZnodePath),
    /// Its node is gone.
    Deleted(ZnodePath),
}

/// Learns of each activity of the locks that share a [`CostCounter`](super::CostCounter), in the order in which an attempt does
/// or notices it.
pub trait ActivityRecorder: Debug + Send + Sync {
    /// Takes an activity in. Is called between the attempt's requests: it must not block, and must not call a lock.
    fn note(&self, activity: LockActivity);
}
