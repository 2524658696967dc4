//! The table of all keys and commands. The keys, the footer, Help and the command line follow it.
//! Pure.
//!
//! Architecture invariant: no other place in the crate says which key does what. A sentence takes the
//! name of a key from [`Bindings`] or from a [`FixedKey`].

mod argument;
mod bindings;
mod command;
mod entry;
mod fixed;
mod habits;
mod screens;
mod sentences;
mod table;

pub use argument::{Argument, ArgumentKind};
pub use bindings::Bindings;
pub use command::Command;
pub use entry::{CommandEntry, HelpGroup};
pub use fixed::FixedKey;
pub use habits::habit;
pub use table::{command_groups, commands, entry_of};
