//! What is recorded, and what is read of it.

mod bounded;
mod cut;
mod damaged;
mod exactness;
mod failures;
pub mod fixture;
mod in_memory;
