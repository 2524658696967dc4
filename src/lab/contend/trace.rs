//! What the clients of a fleet did and what was delivered to them, step by step. Data only.

use std::time::Duration;

use super::ClientId;
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_lock::{Access, RequestKind, WatchPlace};

/// How many entries a status has at most. Of more only the last are there, and
/// [`FleetStatus::trace_missed`](super::FleetStatus::trace_missed) counts the others.
pub const MAX_TRACE: usize = 4_096;

/// One thing that a client did, or that was delivered to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// When, from the fleet's start.
    pub at: Duration,
    /// Whose it is.
    pub client: ClientId,
    /// What it was.
    pub step: TraceStep,
}

/// What a client did, or what was delivered to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// It wants the lock.
    Asks(Access),
    /// Its node was created: it is in the queue.
    Created(ZnodePath),
    /// It sent a request.
    Sent(RequestKind),
    /// It was answered that a watch is set.
    Watches(WatchPlace),
    /// It gave up a watch that had not fired.
    Unwatches(WatchPlace),
    /// A watch event was delivered to it: the watch is used up.
    Woken(WatchPlace),
    /// It holds the lock.
    Acquires(Zxid),
    /// It is about to delete its node.
    Releases,
    /// Its node was deleted.
    Deleted(ZnodePath),
    /// It wrote to the resource that the lock protects.
    Writes(ResourceWrite),
    /// Its process was stopped. What it sends or notices afterwards comes after [`Thaws`](Self::Thaws).
    Freezes,
    /// Its process goes on.
    Thaws,
    /// Its process was killed. Nothing of it comes any more; its watches are gone, and its nodes go with its session.
    Crashes,
    /// It learnt that its session has expired: its nodes and watches are gone.
    Expires,
}

/// A write to the resource that the lock protects. The resource remembers the highest fencing token that has written, and
/// refuses lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceWrite {
    /// The writer's fencing token.
    pub token: Zxid,
    /// Whether it was taken.
    pub accepted: bool,
}

/// The resource that the lock protects: it lies in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceStatus {
    /// The highest token that has written.
    pub highest: Option<Zxid>,
    /// Who wrote last with it.
    pub writer: Option<ClientId>,
    /// Writes that were taken.
    pub accepted: u64,
    /// Writes that were refused, since their token was lower.
    pub rejected: u64,
    /// The last that was refused, and when, from the fleet's start.
    pub last_rejected: Option<(ClientId, Zxid, Duration)>,
}

/// What a client that is stepped through does next, once it is let.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It releases.
    Release,
    /// It wants the lock again.
    Ask,
}
