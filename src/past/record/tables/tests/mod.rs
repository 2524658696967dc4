//! Tests of the tables after histories of a small ensemble.

mod ensemble;
mod findings;
mod fixture;
mod gaps;
mod property;
mod rows;
