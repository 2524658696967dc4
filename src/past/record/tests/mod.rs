//! Tests of writing and reading recordings.

mod bounded;
mod cut;
mod damaged;
mod exactness;
mod failures;
pub mod fixture;
mod in_memory;
mod prepended;
