//! The state of every lock: who holds, who waits, what changed and what it cost.
//!
//! [`LockTable::apply`] takes one [`Change`] (what the ensemble did to a node) and returns what that means for the
//! locks as [`Happening`]s. The same changes make the same table, in whatever order reads came back.
//!
//! Pure: no clock, no runtime, no client. Time is an argument. Architecture invariant: the work for one change
//! grows at most with the logarithm of the queue's length.

mod apply;
mod bounds;
mod chain;
mod change;
mod child_index;
mod children;
mod client_identity;
mod clock;
mod connection;
mod consistency;
mod contender;
mod deleted;
mod dropping;
mod event;
mod expired_client;
mod forget;
mod handover;
mod happening;
mod hold;
mod identify;
mod lock;
mod lock_index;
mod lock_name;
mod optional;
mod order;
mod parent;
mod placing;
mod rare;
mod rate;
mod regroup;
mod returned;
mod sampled;
mod samples;
mod semaphore;
mod session_expired;
mod sessions;
mod slots;
mod sync;
mod table;
mod timeline;
mod turns;
mod unread;

pub use change::Change;
pub use client_identity::ClientIdentity;
pub use connection::ConnectionState;
pub use contender::{Contender, ContenderId, ContenderState, HeldSince};
pub use event::{GONE, LockEvent, WatchEvents};
pub use happening::Happening;
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
