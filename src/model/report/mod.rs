//! The facts as JSON for other programs, and as [`lines`] for people.
//!
//! The fields are a contract for `lockscope snapshot`, `lockscope watch` and the screen's export.
//! Fields are added and never renamed. [`SCHEMA`] is raised when the meaning of a field changes.
//! Unknown facts are `null`, `"unknown"` or empty, never invented.
//!
//! The module is pure. Facts are borrowed from a [`LockTable`](crate::queue::LockTable) and written
//! during serialization, one contender at a time, so that memory never holds a large ensemble
//! twice.
//!
//! Times are RFC 3339 in UTC with milliseconds, durations are in milliseconds, session ids are
//! unsigned hex, and zxids are decimal numbers.

mod client;
mod contender;
mod election;
mod ensemble;
mod ensemble_event;
mod finding;
mod gap;
mod happening;
mod initial;
pub mod json;
pub mod lines;
mod lock;
mod members;
mod nagios;
mod sample;
mod snapshot;
mod time;
mod unreadable;
mod verdict;
mod waiting;

pub use client::ClientFacts;
pub use ensemble::Ensemble;
pub use ensemble_event::{EnsembleEventFacts, EnsembleEventLine};
pub use finding::{Check, FindingLine};
pub use gap::GapLine;
pub use happening::HappeningLine;
pub use initial::{Initial, InitialLine};
pub use lock::LockFacts;
pub use members::{MemberFacts, MembersFacts};
pub use nagios::{ServiceStatus, StatusLine};
pub use sample::{SampleFacts, SampleLine};
pub use snapshot::Snapshot;
pub use time::rfc3339;
pub use waiting::{SessionFacts, WaitFacts};

/// The version of the contract.
pub const SCHEMA: u32 = 1;
