//! The facts as JSON, which other programs may build on, field by field; and as [`lines`] for people.
//!
//! One contract serves `lockscope snapshot`, `lockscope watch` and the screen's export. Fields are added, never renamed;
//! [`SCHEMA`] is raised when one changes its meaning. What is not known is `null`, `"unknown"` or empty, never
//! invented.
//!
//! Pure: facts are borrowed from a [`LockTable`](crate::queue::LockTable) and written while they are serialized, one
//! contender at a time, so that a large ensemble is not held in memory twice. Times are RFC 3339 in UTC with
//! milliseconds, durations milliseconds, sessions unsigned hex, zxids decimal numbers.

mod client;
mod contender;
mod ensemble;
mod finding;
mod gap;
mod happening;
mod initial;
pub mod json;
pub mod lines;
mod lock;
mod nagios;
mod sample;
mod snapshot;
mod time;
mod unreadable;
mod waiting;

pub use client::ClientFacts;
pub use ensemble::Ensemble;
pub use finding::{Check, FindingLine};
pub use gap::GapLine;
pub use happening::HappeningLine;
pub use initial::{Initial, InitialLine};
pub use lock::LockFacts;
pub use nagios::{ServiceStatus, StatusLine};
pub use sample::{SampleFacts, SampleLine};
pub use snapshot::Snapshot;
pub use time::rfc3339;
pub use waiting::{SessionFacts, WaitFacts};

/// The version of the contract.
pub const SCHEMA: u32 = 1;
