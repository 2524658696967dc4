//! Recordings with gaps, completed by what a log of the same ensemble has.

mod coverage;
mod filled;
mod fixture;
mod property;
mod refused;
