//! What operators meet with stuck locks, made by real clients on a real server: it is found, and goes when it is mended; and
//! healthy clients are not accused.

mod dead;
pub mod fixture;
pub mod forgotten;
mod healthy;
mod hidden;
mod many_ways;
mod members;
mod returned;
mod tree;
mod waiting;
