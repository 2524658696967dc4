//! The facts as lines of text, for people: what the commands without a screen print on a terminal.
//!
//! Names and sentences of the tree are escaped and bounded in length, so that none of them makes a line unreadable.

mod check;
mod event;
mod locks;
mod shorten;

pub use check::check;
pub use event::{finding, gap, happening, sample};
pub use locks::locks;
pub(super) use shorten::{short_lock, short_sentence};
