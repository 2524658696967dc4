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
//! What goes in is in `change`, what comes out in `event` and `happening`. The data, from the
//! bottom up:
//!
//! - `contender` and `hold` have one contender. `lock` has a lock with its contenders, and `chain`
//!   derives who holds and who waits for whom. `handover` follows a semaphore's contender from its
//!   queue node to its lease. `parent` has the nodes that contenders stand below.
//! - `client_identity`, `sessions` and `election::record` have what is remembered of clients and
//!   leaders.
//! - `mutes` has what people said of findings.
//! - `cost` has what waiting cost within the last minutes, by lock and holder.
//! - `crossed` has what other ensembles tell of clients that also wait here.
//! - `compact` has the collections that keep all this small.
//!
//! The parts of the table that answer for themselves, from the bottom up: `clients` knows the
//! clients, how their sessions ended, and the servers' clock; `bounds` bounds by that clock how
//! long a lock has been held; `election` remembers who led, and who has gone.
//!
//! The table, from the bottom up. A file calls only files above it in this list:
//!
//! - `table` has the table, its queries, and its form in recordings.
//! - `waited` asks the table what waiting cost.
//! - `emptied` counts the parents whose children are all gone.
//! - `placing` adds and removes contenders, and carries out the hand-overs of semaphores.
//! - `indirect` handles contenders that are known by other evidence than a read of their nodes.
//! - `apply` takes a change and calls the others.

mod apply;
mod bounds;
mod chain;
mod change;
mod client_identity;
mod clients;
mod compact;
mod contender;
mod cost;
mod crossed;
mod election;
mod emptied;
mod event;
mod handover;
mod happening;
mod hold;
mod indirect;
mod lock;
mod mutes;
mod parent;
mod placing;
mod sessions;
mod table;
mod waited;

pub use change::{Change, ConnectionState, Deleter, NO_ANSWER, NO_SUCH_NODE};
pub use client_identity::{ClientIdentity, NamedAddress, host_of};
pub use clients::Clients;
pub use contender::{Contender, ContenderId, ContenderState, HeldSince};
pub use cost::{HolderKey, WaitCosts, WaiterTime, stand_by};
pub use crossed::{CrossCycle, CrossNode, CrossStep, CrossWaits, SameClient};
pub use election::{
    ChangesOfLeader, Departure, DepartureEnd, ElectionKind, ElectionRecord, Elections, Expectation, LedBefore,
    is_empty_election, is_likely_election,
};
pub(crate) use election::{by_recipe, is_registry, leader_beside_latch};
pub use emptied::{EmptiedBelow, ParentUse, TransactionAges};
pub use event::{CLOSED, DELETED, GONE, LockEvent, RateHistory, Rates, Totals, WatchEvents};
pub use happening::{Happening, RunsOfOne, TakenAgain, Timeline};
pub use hold::{Clock, HoldBounds};
pub use lock::{ContenderRow, HeadAwaits, HeadWait, LockId, LockName, LockQueue, SessionExpired};
pub use mutes::{MAX_MUTES, MAX_NOTE_CHARS, MutableFinding, Mute, MuteScope, MutedFinding, Mutes};
pub use parent::{ChildRates, ParentNode, SampledCounts};
pub use sessions::LastConnection;
pub use table::{EnsembleState, LockTable, SessionEvidence};
pub use waited::WaitedFor;

#[cfg(test)]
pub(crate) mod tests;
