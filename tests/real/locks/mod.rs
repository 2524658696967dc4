//! The crate's own locks, against a real server.

mod cost;
mod faults;
mod inside;
mod mixed;
mod ours;
mod restarts;
mod scene;
