//! Explores the schedules of the locks: the real futures run on a simulated ensemble, and each step
//! is a decision of the explorer.

#![expect(missing_docs, reason = "a tool of the tests, where the names of fields say enough")]
#![expect(clippy::missing_panics_doc, reason = "a tool of the tests, which a panic stops")]

pub mod ensemble;
pub mod library;
pub mod process;
pub mod program;
pub mod rules;
pub mod scenario;
pub mod search;
pub mod story;
pub mod world;
