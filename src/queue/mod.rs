//! The state of every lock: who holds, who waits, what changed and what it cost.
//!
//! [`LockTable::apply`] takes one [`Change`] (what the ensemble did to a node) and tells what that means for the locks
//! as [`Happening`]s. The same changes make the same table, in whatever order reads came back.
//!
//! Pure: no clock, no runtime, no client. Time is an argument. Architecture invariant: the work for one change
//! grows at most with the logarithm of the queue's length.

mod apply;
mod chain;
mod change;
mod clock;
mod connection;
mod contender;
mod deleted;
mod handover;
mod happening;
mod lock;
mod order;
mod placing;
mod rate;
mod semaphore;
mod session_expired;
mod sync;
mod table;
mod timeline;
mod turns;

pub use change::Change;
pub use connection::ConnectionState;
pub use contender::{Contender, ContenderId, ContenderState};
pub use happening::{Happening, LockEvent, LockName, WatchEvents};
pub use lock::{ContenderRow, HeldSince, LockId, LockQueue, SessionExpired};
pub use rate::{History, Rates, Totals};
pub use table::{LockTable, ParentNode};
pub use timeline::Timeline;

#[cfg(test)]
mod tests;
