//! The history of each lock: its holders and waiters, how long they held or waited, how that ended,
//! and the findings. Pure.
//!
//! Each lock has a history of its own, so a busy lock displaces no entries of a quiet one. Memory
//! is bounded: at most 200 entries of one lock and 20 000 of all locks. Above the total, the lock
//! with the most entries drops its oldest. An entry takes a few hundred bytes, so all of them take
//! a few megabytes.

mod entry;
mod store;

#[cfg(test)]
mod tests;

pub use entry::{HistoryEntry, Stay, StayEnd};
pub use store::LockHistories;
#[cfg(test)]
pub use store::{MAX_ENTRIES, MAX_ENTRIES_OF_LOCK};
