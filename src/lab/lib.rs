//! Locks under contention: test clients, the guided tour, and plots of their figures.
//!
//! - [`contend`]: test clients that take locks, each with its own session and a link that can be
//!   cut; the tally.
//! - [`demo`]: the guided tour: its script, and the sessions that do what test clients cannot.
//! - [`plot`]: figures over the number of clients, as pictures to keep.

pub mod contend;
pub mod demo;
pub mod plot;
