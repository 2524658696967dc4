//! The hand-over of a semaphore: a contender moves from its node in the queue to its lease, and
//! stays one contender throughout.
//!
//! In both recipes only the head of the queue creates a lease, and it leaves the queue once the
//! lease is its own. The server reports the creation of the lease first, and then the deletion of
//! the queue node.
//!
//! Only a read of the lease shows its session, and with it the owner. The answer may arrive before
//! the deletion, after it, or never if the lease is returned at once. During a cut both events are
//! missed, and the next complete reading finds the result of both.
//!
//! The states of one contender:
//!
//! ```text
//!   queue node read
//!         |
//!         v
//!   +------------+  queue node gone, every lease is read          +--------+
//!   |   QUEUED   |----------------------------------------------->|  LEFT  |
//!   +------------+                                                +--------+
//!     |   ^    |                                                       ^
//!     |   |    | queue node gone,                                      | all leases that
//!     |   |    | a lease is unread                                     | may be its own
//!     |   |    v                                                       | are others'
//!     |   |  +------------+                                            |
//!     |   |  |  DEPARTED  |--------------------------------------------+
//!     |   |  +------------+
//!     |   |      |     |  its lease gone, unread                     +----------+
//!     |   |      |     +-------------- acquires, and releases ------>| RELEASED |
//!     |   |      | its lease read                                    +----------+
//!     |   |      v                                                        ^
//!     |   |  +------------+  lease gone                                   |
//!     |   |  |   HOLDS    |-----------------------------------------------+
//!     |   |  +------------+
//!     |   |      ^
//!     |   |      | queue node gone
//!     |   |  +------------+
//!     |   +--|  PENDING   |  both nodes exist: the lease is in the order, the queue node hidden
//!     |      +------------+
//!     |  lease     ^
//!     |  gone      |
//!     +------------+
//!       its lease read
//! ```
//!
//! An expired session takes all its nodes with it, in any order. A contender that loses a node in
//! this way is reported as expired at once; a pending contender, only once both nodes are gone. The
//! number of available leases does not affect any of this.
//!
//! [`Handover`] is the state machine of one semaphore. It takes [`Input`]s, returns [`Output`]s,
//! and does not know the table that feeds it and carries out its outputs.
//!
//! Architecture invariant: its memory is bounded by the observer's pending reads, plus the
//! contenders that one complete reading finds gone.

mod machine;
mod messages;

#[cfg(test)]
mod tests;

pub(super) use machine::Handover;
pub(super) use messages::{Gone, InOrder, Input, NodeGone, Output, Stood};
