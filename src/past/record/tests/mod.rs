//! Tests of writing and reading recordings.

mod bounded;
mod cut;
mod damaged;
mod exactness;
mod failures;
mod file_gone;
pub mod fixture;
mod in_memory;
mod large;
mod parts;
mod prepended;
mod store_check;
