//! What is recorded, and what is read of it.

mod bounded;
mod damaged;
mod exactness;
mod failures;
mod fixture;
