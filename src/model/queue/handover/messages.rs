//! What goes into the state machine of the hand-over, and what comes out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::queue::contender::Queued;
use crate::queue::event::SessionAtEnd;
use crate::queue::order::OrderKey;
use crate::queue::{Contender, ContenderId, LockEvent, WatchEvents};

/// What happened to a semaphore.
#[derive(Clone, Debug)]
pub(in crate::queue) enum Input<'a> {
    /// A lease was created, and is about to be read.
    LeaseAnnounced {
        /// Its name.
        node: &'a str,
        /// The head of the queue at that time; `None` when the queue was empty.
        head: Option<ContenderId>,
    },
    /// A lease was read.
    LeaseRead(&'a Contender),
    /// A lease that may never have been read is gone.
    LeaseGone {
        /// Its name.
        node: &'a str,
    },
    /// A lease that may never have been read cannot be read.
    LeaseUnreadable {
        /// Its name.
        node: &'a str,
    },
    /// Every lease that existed before this has been announced: servers without recursive watches list them instead.
    LeasesListed,
    /// The node of a contender, in the queue or a lease, is gone. Its place in the order is empty already.
    NodeGone(NodeGone),
    /// A node of the queue is gone that was never read.
    UnreadQueueNodeGone,
    /// The reads that were under way are dropped: everything is read anew.
    ReadingBegins,
    /// A lease was found while everything is read anew, though it may have been announced since that began.
    LeaseFound {
        /// Where it lies among the contenders.
        slot: usize,
        /// As it was read.
        lease: &'a Contender,
    },
    /// Everything was read.
    ReadingEnds {
        /// All leases, with where they lie among the contenders.
        leases: &'a [(usize, &'a Contender)],
    },
    /// A node is about to be put into the order, or taken out of it.
    OrderChanges,
    /// The order has changed; there are a lease and a head of the queue.
    OrderChanged {
        /// The lease before the last, if there is one.
        before_last: Option<(OrderKey, &'a Contender)>,
        /// The last lease.
        last: (OrderKey, &'a Contender),
        /// The head of the queue.
        head: (OrderKey, &'a Contender),
    },
    /// There is no such semaphore any more.
    LockGone,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(in crate::queue) enum Output {
    /// A contender is gone: report it.
    Report(Box<Gone>),
    /// A contender acquired and released by a lease that was never read: report both.
    ReportHeld {
        /// The lease's name.
        lease: Arc<str>,
        /// The contender that left the queue for it.
        owner: Box<Gone>,
    },
    /// The lease that was read is that of a contender which is known already, and stood in the queue like this.
    LeaseIsOf(Queued),
    /// The same of a lease that was found while everything was read.
    FoundLeaseIsOf {
        /// Where the lease lies among the contenders.
        slot: usize,
        /// Its owner.
        owner: Queued,
    },
    /// A lease that was found while everything was read belongs to no known contender: its owner is a new one.
    FoundLeaseIsNew {
        /// Where it lies among the contenders.
        slot: usize,
    },
    /// A lease that had been taken for that of the head is of a contender of its own.
    Unbind {
        /// Where the lease lies among the contenders.
        lease: usize,
    },
    /// The lease is that of the head of the queue.
    Bind {
        /// Where the lease lies among the contenders.
        lease: usize,
        /// Where the head lies.
        head: usize,
    },
    /// Take this queue node out of the order: its owner stands there by its lease.
    Hide(OrderKey),
    /// Put that queue node back into the order.
    Show(OrderKey),
}

/// A contender whose node is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::queue) struct Gone {
    /// As it stood.
    pub contender: Contender,
    /// What it means, if that was its only node: left, released or expired.
    pub event: LockEvent,
    /// What is known of its session. A recording does not keep it: behind a keyframe nobody can tell.
    #[serde(skip)]
    pub at_end: SessionAtEnd,
    /// What its departure cost.
    pub cost: WatchEvents,
}

/// Where a node stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Stood {
    /// At the head of the queue: only that contender makes a lease.
    Head,
    /// Hidden, since its owner stands in the order by its lease.
    Hidden,
    /// Among the leases, and its owner, who waits, has its node in the queue, too.
    PendingLease,
    /// Among the leases otherwise, or behind the head.
    Elsewhere,
}

/// A contender's node is gone, and what the table knows of that.
#[derive(Clone, Debug)]
pub(in crate::queue) struct NodeGone {
    /// Whose node.
    pub gone: Box<Gone>,
    /// Where it lay among the contenders.
    pub slot: usize,
    /// Where it stood in the order.
    pub stood: Stood,
    /// Whether the table is in step with the ensemble; otherwise anybody may have moved on meanwhile.
    pub live: bool,
    /// Whether changes are reported; what the first reading finds is not.
    pub reporting: bool,
    /// Whether leases are noticed by listing them, and not by a watch event each.
    pub lists: bool,
}
