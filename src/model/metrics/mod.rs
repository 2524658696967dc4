//! The facts for Prometheus: counters of the locks' events, and the current figures as text.
//!
//! [`EventCounters`] counts the events of a table, and combines the counts with the current state
//! into a [`Scrape`]. The size of a scrape does not grow with the number of locks. A scrape borrows
//! nothing, so another thread may write it with [`to_open_metrics`] or [`to_plain_text`].
//!
//! At most [`DEFAULT_MAX_LOCKS`] locks, or as many as configured, have series of their own. All
//! others share one (`counters` has the rules). Unknown values have no series: while the table
//! is not live, locks have only counters.
//!
//! The module is pure. Architecture invariant: the number of series is bounded, whatever happens in
//! the ensemble, and no two series have the same labels.

mod counters;
mod exposition;
mod families;
mod scrape;
#[cfg(test)]
mod tests;

pub use counters::{DEFAULT_MAX_LOCKS, EventCounters};
pub use exposition::{health, to_open_metrics, to_plain_text};
pub use scrape::{
    BOUNDS_SECONDS, Histogram, LockCounts, LockFigures, LockLabels, LockState, OtlpFigures, ProcessFigures,
    ProcessUsage, Scrape, Scrapes,
};
