//! What happened to each lock: who held and who waited, for how long and how that ended, and what was wrong. Pure.
//!
//! Each lock has a history of its own, so a busy one takes nothing away from a quiet one. Memory is bounded: at most
//! 200 entries of one lock and 20 000 of all; when there are more in all, the lock that has the most
//! forgets its oldest one. An entry takes a few hundred bytes, so all of them take some megabytes.

mod entry;
mod store;

#[cfg(test)]
mod tests;

pub use entry::{HistoryEntry, Stay, StayEnd};
pub use store::LockHistories;
#[cfg(test)]
pub use store::{MAX_ENTRIES, MAX_ENTRIES_OF_LOCK};
