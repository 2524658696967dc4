//! The state of all locks: holders, waiters, recent changes and their cost.
//!
//! [`LockTable::apply`] takes one [`Change`], which was learned from the ensemble, and returns its
//! meaning for the locks as [`Happening`]s. The same changes lead to the same table, no matter in
//! which order the answers to reads arrive.
//!
//! The module is pure: it uses no clock, no runtime and no client. Time is an argument.
//! Architecture invariant: the work per change grows at most with the logarithm of the queue's
//! length.
//!
//! # Terms
//!
//! - A *complete reading* lasts from [`Change::Syncing`] to [`Change::Synced`]: the observer reads
//!   everything, at the start and after each cut. Complete readings are numbered; such a number is
//!   called `epoch`.
//! - The table is *live* while it is in step with the ensemble: from the end of a complete reading
//!   until the connection is lost or overloaded.
//! - A *slot* is a contender's index in its lock and does not change. A *position* is its current
//!   place in the queue, from 0.
//! - To *settle* a lock is to determine its holders after a change.
//! - A *hint* is a node whose existence alone tells what its neighbours are, such as `X/leases`.
//! - An *unread* contender or lease was seen to be created, but its node is not read yet.
//! - A *returned* contender is one whose deleted node is shown again.
//!
//! # Files
//!
//! - `table`, `lock` and `contender` have the data. `apply` takes a change and calls the others.
//! - `placing` adds and removes contenders of the table, `turns` does so within one lock, and
//!   `chain` derives who holds and who waits for whom.
//! - `sync` ends complete readings, and `regroup` moves contenders when a hint changes.
//! - `handover` and `semaphore` follow a contender from its queue node to its lease.
//! - `hold`, `bounds` and `clock` bound how long a lock has been held.
//! - `election` remembers who led, and who has gone.
//! - `churn` and `taken_again` note which locks one session takes again and again.
//! - `emptied` counts the parents whose children are all gone.
//! - `sessions`, `identify`, `session_expired`, `pending_ends` and `settled_ends` know the clients
//!   and how their sessions ended.
//! - `unread`, `deleted`, `returned` and `samples` handle what is not fully known.

mod apply;
mod bounds;
mod chain;
mod change;
mod child_index;
mod children;
mod churn;
mod client_identity;
mod clock;
mod connection;
mod consistency;
mod contender;
mod deleted;
mod deleter;
mod dropping;
mod election;
mod emptied;
mod ensemble_state;
mod event;
mod expired_client;
mod forget;
mod handover;
mod happening;
mod head_wait;
mod head_waits;
mod hold;
mod identify;
mod lock;
mod lock_index;
mod lock_name;
mod optional;
mod order;
mod parent;
mod pending_ends;
mod placing;
mod rare;
mod rate;
mod regroup;
mod resume;
mod returned;
mod sampled;
mod samples;
mod semaphore;
mod session_expired;
mod sessions;
mod settled_ends;
mod slots;
mod sync;
mod table;
mod taken_again;
mod timed;
mod timeline;
mod turns;
mod unread;

pub use change::{Change, NO_SUCH_NODE};
pub use churn::{RunsOfOne, TakenAgain};
pub use client_identity::{ClientIdentity, host_of};
pub use connection::{ConnectionState, NO_ANSWER};
pub use contender::{Contender, ContenderId, ContenderState, HeldSince};
pub use deleter::Deleter;
pub use election::{
    ChangesOfLeader, Departure, DepartureEnd, ElectionKind, ElectionRecord, Elections, Expectation, LedBefore,
    is_empty_election, is_likely_election,
};
pub(crate) use election::{by_recipe, is_registry, leader_beside_latch};
pub use emptied::{EmptiedBelow, ParentUse, TransactionAges};
pub use ensemble_state::EnsembleState;
pub use event::{CLOSED, DELETED, GONE, LockEvent, WatchEvents};
pub use happening::Happening;
pub use head_wait::{HeadAwaits, HeadWait};
pub use hold::HoldBounds;
pub use lock::{ContenderRow, LockQueue};
pub use lock_name::{LockId, LockName};
pub use parent::ParentNode;
pub use rare::SessionExpired;
pub use rate::{History, Rates, Totals};
pub use samples::{ChildRates, SampledCounts};
pub use session_expired::SessionEvidence;
pub use sessions::LastConnection;
pub use table::LockTable;
pub use timeline::Timeline;

#[cfg(test)]
pub(crate) mod tests;
