//! The locks of a ZooKeeper ensemble as state: changes go in; queues, findings and metrics come
//! out.
//!
//! Pure: time is an argument, and nothing is sent, read from a file or drawn.
//!
//! - [`server_view`]: what the servers report: connections, sessions, watches, watch events.
//! - [`queue`]: the state. A [`Change`](queue::Change) goes in, and
//!   [`Happening`](queue::Happening)s come out.
//! - [`ensemble`]: what happened to the ensemble as a whole.
//! - [`follow`]: which nodes to read, and which changes follow from watch events and answers.
//! - [`diagnose`]: which session is alive, which watches are missing, and why a lock is stuck.
//! - [`verdict`]: whether the locks are in trouble, well by what was looked at, or not known.
//! - [`members`]: whether the members of the ensemble have the same nodes.
//! - [`report`]: the facts as JSON.
//! - [`metrics`]: the facts for Prometheus.
//! - [`span`]: what happened from one time to another, as a trace shows it.
//! - [`summary`]: an ensemble in a few figures.
//! - [`text`]: numbers, durations and times in words, and text that is safe to show, fitted to a
//!   width.

pub mod ensemble;
pub mod follow;
pub mod members;
pub mod queue;
pub mod summary;
pub mod verdict;

pub mod text;

pub mod diagnose;
pub mod metrics;
pub mod report;
pub mod server_view;
pub mod span;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
