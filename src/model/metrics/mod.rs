//! The facts for Prometheus: what is counted of the locks, and the figures of a moment as text.
//!
//! [`EventCounters`] counts what a table reports, and makes a [`Scrape`] of it and of the table: everything that is true at that
//! moment, in a size that does not grow with the number of locks. [`to_open_metrics`] and [`to_plain_text`] write it down. The scrape borrows
//! nothing, so that it can be written on another thread than the one that has the table.
//!
//! Of at most [`DEFAULT_MAX_LOCKS`] locks, or as many as somebody allows, each has series of its own; the rest have one together (`named_locks`
//! says which). What is not known has no series: while the table is not live, locks have counters only.
//!
//! Pure. Architecture invariant: whatever happens in the ensemble, the number of series is bounded, and no two series have the same labels.

mod collector;
mod counters;
mod families;
mod health;
mod histogram;
mod named_locks;
mod plain_text;
mod scrape;
#[cfg(test)]
mod tests;

pub use collector::{to_open_metrics, to_plain_text};
pub use counters::EventCounters;
pub use health::health;
pub use histogram::{BOUNDS_SECONDS, Histogram};
pub use named_locks::DEFAULT_MAX_LOCKS;
pub use scrape::{LockCounts, LockFigures, LockLabels, LockState, ProcessFigures, Scrape};
