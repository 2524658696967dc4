//! The trace of a fleet: the clients' actions and deliveries, step by step. Data only.

use std::time::Duration;

use super::ClientId;
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_lock::{Access, RequestKind, WatchPlace};

/// The maximum number of entries in a status. Only the last ones are kept;
/// [`FleetStatus::trace_missed`](super::FleetStatus::trace_missed) counts the others.
pub const MAX_TRACE: usize = 4_096;

/// An action of a client, or a delivery to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The time of the entry, from the fleet's start.
    pub at: Duration,
    /// The client.
    pub client: ClientId,
    /// The action or the delivery.
    pub step: TraceStep,
}

/// An action of a client, or a delivery to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// The client asks for the lock.
    Asks(Access),
    /// The client's node was created: it is in the queue.
    Created(ZnodePath),
    /// The client sent a request.
    Sent(RequestKind),
    /// A reply told the client that a watch is set.
    Watches(WatchPlace),
    /// The client gave up a watch that had not fired.
    Unwatches(WatchPlace),
    /// A watch event was delivered to the client: the watch is used up.
    Woken(WatchPlace),
    /// The client acquired the lock.
    Acquires(Zxid),
    /// The client is about to delete its node.
    Releases,
    /// The client's node was deleted.
    Deleted(ZnodePath),
    /// The client wrote to the resource that the lock protects.
    Writes(ResourceWrite),
    /// The client's process was stopped. What it sends or notices afterwards follows after
    /// [`Thaws`](Self::Thaws).
    Freezes,
    /// The client's process goes on.
    Thaws,
    /// The client's process was killed. No more entries of it follow; its watches are gone, and its
    /// nodes go with its session.
    Crashes,
    /// The client learnt that its session has expired: its nodes and watches are gone.
    Expires,
}

/// A write to the resource that the lock protects. The resource remembers the highest fencing token
/// that has written, and refuses lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceWrite {
    /// The writer's fencing token.
    pub token: Zxid,
    /// Whether the resource accepted the write.
    pub accepted: bool,
}

/// The state of the resource that the lock protects. It exists only in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceStatus {
    /// The highest token that has written.
    pub highest: Option<Zxid>,
    /// The client that wrote last with the highest token.
    pub writer: Option<ClientId>,
    /// The number of accepted writes.
    pub accepted: u64,
    /// The number of writes that were refused because their token was lower.
    pub rejected: u64,
    /// The last refused write, with its time from the fleet's start.
    pub last_rejected: Option<(ClientId, Zxid, Duration)>,
}

/// The action that the next step lets a client take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The client releases the lock.
    Release,
    /// The client asks for the lock again.
    Ask,
}
