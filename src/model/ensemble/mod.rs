//! The ensemble's own time line, beside that of the locks: who led, whether a majority worked
//! together, which members answered, and when we saw nothing.
//!
//! [`EnsembleLine`] is made of the servers' answers and of the state of our connection, so that a
//! replay has the same line.

mod event;
mod kind;
mod line;
mod majority;
mod member;
#[cfg(test)]
mod tests;

pub use event::{BEFORE_THE_FIRST_LOOK, EnsembleEvent};
pub use kind::EnsembleEventKind;
pub use line::EnsembleLine;
pub use majority::Majority;
