//! The facts as lines of text for people. The commands without a screen print these on a terminal.
//!
//! Names and sentences from the tree are escaped and shortened, so that every line stays readable.

mod check;
mod event;
mod locks;
mod servers;
mod shorten;

pub use check::check;
pub use event::{ensemble, finding, gap, happening, sample};
pub use locks::locks;
pub(super) use shorten::{short_lock, short_sentence};
