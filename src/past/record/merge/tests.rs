//! Recordings with gaps, completed by what a log of the same ensemble has.

mod filled;
mod fixture;
mod property;
mod refused;
