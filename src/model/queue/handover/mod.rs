//! A semaphore's hand-over: a contender goes from its node in the queue to its lease, and is one contender all the while.
//!
//! By each recipe only the head of the queue makes a lease, and it leaves the queue when the lease is its own. The server reports
//! that in this order: the lease was created, the queue node was deleted. What is in the lease, and so whose it is, shows in a
//! read whose answer may come before the deletion, after it or, when the lease was returned at once, never. With a cut in
//! between, both are found changed by a reading of everything.
//!
//! What one contender goes through:
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
//!     |   +--|  PENDING   |  both nodes are there: the lease stands in the order, the queue node is hidden
//!     |      +------------+
//!     |  lease     ^
//!     |  gone      |
//!     +------------+
//!       its lease read
//! ```
//!
//! When a session expires, its nodes go with it, in any order: a contender that loses one in this way is reported as expired at once,
//! one that is pending when it has lost both. How many leases there may be changes nothing here.
//!
//! [`Handover`] is the state machine of one semaphore: [`Input`]s go in, [`Output`]s come out, and it knows nothing of the table
//! that feeds it and carries out what it says.
//!
//! Architecture invariant: what is kept is bounded by the reads that the observer has under way, and by the contenders that one
//! reading of everything finds gone.

mod machine;
mod messages;

#[cfg(test)]
mod tests;

pub(super) use machine::Handover;
pub(super) use messages::{Gone, Input, NodeGone, Output, Stood};
