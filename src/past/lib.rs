//! Recordings of the locks of an ensemble.
//!
//! - [`record`]: writes the stream of changes into a file, and plays it back as the same stream.
//! - [`import`]: makes a recording of the transaction logs of servers.
//! - [`incident`]: reports a time range of a recording as a page and as trace events.

pub mod import;
pub mod incident;
pub mod record;

#[cfg(test)]
use lockscope_model::testing::{self, fixture, steps};
