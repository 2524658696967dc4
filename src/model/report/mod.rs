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

mod contender;
mod ensemble;
mod finding;
mod found;
pub mod json;
pub mod lines;
mod nagios;
mod snapshot;
mod tree;

pub use contender::{ClientFacts, SessionFacts, WaitFacts};
pub use ensemble::{EnsembleEventFacts, EnsembleEventLine, MemberFacts, MembersFacts, ReportedEnsemble};
pub use finding::{CheckReport, FindingLine, FindingNews, MuteFacts};
pub use found::{FoundFacts, FoundIn, find_text};
pub use json::rfc3339;
pub use lines::{GapLine, HappeningLine, Initial, InitialLine, SampleFacts, SampleLine};
pub use nagios::{ServiceStatus, StatusLine};
pub use snapshot::{LockFacts, Snapshot};
pub use tree::{ChildFacts, TreeFacts};

/// The version of the contract.
pub const SCHEMA: u32 = 1;
