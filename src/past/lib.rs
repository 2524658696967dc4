//! What happened to the locks of an ensemble, in a file.
//!
//! - [`record`]: writes the stream of changes, and plays it back as the same stream.
//! - [`incident`]: what a recording says of a time, as a page and as trace events.

pub mod incident;
pub mod record;

#[cfg(test)]
#[expect(dead_code, reason = "the model's own tests use the rest")]
#[path = "../model/queue/tests/fixture.rs"]
mod fixture;
#[cfg(test)]
#[expect(dead_code, reason = "as above")]
#[path = "../model/queue/tests/steps.rs"]
mod steps;
