//! The inputs and outputs of the hand-over's state machine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::queue::Deleter;
use crate::queue::contender::Queued;
use crate::queue::event::SessionAtEnd;
use crate::queue::order::OrderKey;
use crate::queue::{Contender, ContenderId, LockEvent, WatchEvents};

/// An event at a semaphore.
#[derive(Clone, Debug)]
pub(in crate::queue) enum Input<'a> {
    /// A lease was created and is about to be read.
    LeaseAnnounced {
        /// The lease's name.
        node: &'a str,
        /// The head of the queue at that time; `None` when the queue was empty.
        head: Option<ContenderId>,
    },
    /// A lease was read.
    LeaseRead(&'a Contender),
    /// A lease is gone. It may never have been read.
    LeaseGone {
        /// The lease's name.
        node: &'a str,
    },
    /// A lease cannot be read. It may never have been read before.
    LeaseUnreadable {
        /// The lease's name.
        node: &'a str,
    },
    /// Every lease that existed before this point has been announced. Sent for servers without
    /// recursive watches, where leases are listed.
    LeasesListed,
    /// A contender's node, in the queue or a lease, is gone. It is already out of the order.
    NodeGone(NodeGone),
    /// A queue node is gone that was never read.
    UnreadQueueNodeGone,
    /// A complete reading begins. All pending reads are dropped.
    ReadingBegins,
    /// The running complete reading found a lease. The lease may also have been announced since the
    /// reading began.
    LeaseFound {
        /// The lease's slot among the contenders.
        slot: usize,
        /// The lease as it was read.
        lease: &'a Contender,
    },
    /// The complete reading is finished.
    ReadingEnds {
        /// All leases with their slots among the contenders.
        leases: &'a [(usize, &'a Contender)],
    },
    /// A node is about to be added to the order or removed from it.
    OrderChanges,
    /// The order has changed, and there are both a lease and a head of the queue.
    OrderChanged {
        /// The second-to-last lease, if there is one.
        before_last: Option<InOrder<'a>>,
        /// The last lease.
        last: InOrder<'a>,
        /// The head of the queue.
        head: InOrder<'a>,
    },
    /// The semaphore no longer exists.
    LockGone,
}

/// A contender and its place in the order of its lock.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct InOrder<'a> {
    /// The place.
    pub key: OrderKey,
    pub contender: &'a Contender,
}

/// An action for the caller.
#[derive(Clone, Debug)]
pub(in crate::queue) enum Output {
    /// Report that a contender is gone.
    Report(Box<Gone>),
    /// Report that a contender acquired and released by a lease that was never read.
    ReportHeld {
        /// The lease's name.
        lease: Arc<str>,
        /// The contender that left the queue for the lease.
        owner: Box<Gone>,
    },
    /// The lease that was read belongs to the known contender with this place in the queue.
    LeaseIsOf(Queued),
    /// A lease that a complete reading found belongs to a known contender.
    FoundLeaseIsOf {
        /// The lease's slot among the contenders.
        slot: usize,
        /// The owner's place in the queue.
        owner: Queued,
    },
    /// A lease that a complete reading found belongs to no known contender. Its owner is a new one.
    FoundLeaseIsNew {
        /// The lease's slot among the contenders.
        slot: usize,
    },
    /// A lease that was attributed to the head of the queue belongs to another contender.
    Unbind {
        /// The lease's slot among the contenders.
        lease: usize,
    },
    /// The lease belongs to the head of the queue.
    Bind {
        /// The lease's slot among the contenders.
        lease: usize,
        /// The head's slot among the contenders.
        head: usize,
    },
    /// Remove this queue node from the order: the owner stands there by its lease.
    Hide(OrderKey),
    /// Put this queue node back into the order.
    Show(OrderKey),
}

/// A contender whose node is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::queue) struct Gone {
    /// The contender in its last state.
    pub contender: Contender,
    /// The event if this was its only node: left, released or expired.
    pub event: LockEvent,
    /// What is known about its session. A recording does not store this, so it is unknown after a
    /// keyframe.
    #[serde(skip)]
    pub at_end: SessionAtEnd,
    /// The deleter of the node, if it is known. Not stored either.
    #[serde(skip)]
    pub deleter: Option<Deleter>,
    /// The cost of the departure.
    pub cost: WatchEvents,
}

/// The place of a node in the semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Stood {
    /// At the head of the queue. Only this contender creates a lease.
    Head,
    /// Hidden, since the owner stands in the order by its lease.
    Hidden,
    /// Among the leases, while the owner still waits and also has a node in the queue.
    PendingLease,
    /// Any other place: a lease that holds, or a place behind the head.
    Elsewhere,
}

/// A contender's node is gone, with what the table knows about it.
#[derive(Clone, Debug)]
pub(in crate::queue) struct NodeGone {
    /// The node's contender.
    pub gone: Box<Gone>,
    /// The slot of the node among the contenders.
    pub slot: usize,
    /// The place of the node in the semaphore.
    pub stood: Stood,
    /// Whether the table is in step with the ensemble. If not, any contender may have moved on.
    pub live: bool,
    /// Whether changes are reported. The findings of the first reading are not.
    pub reporting: bool,
    /// Whether leases are found by listing them instead of by a watch event each.
    pub lists: bool,
}
