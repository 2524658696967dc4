//! The keys of the commands: the defaults, or those chosen by the user.

use super::{Command, CommandEntry, entry_of};
use crate::tui::key::Key;

/// The keys of the commands whose keys the user has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    chosen: Vec<(Command, Vec<Key>)>,
}

impl Bindings {
    /// Replaces a command's default keys.
    pub fn bind(&mut self, command: Command, keys: Vec<Key>) {
        self.chosen.retain(|(bound, _)| *bound != command);
        self.chosen.push((command, keys));
    }

    /// Restores a command's default keys.
    pub fn unbind(&mut self, command: Command) {
        self.chosen.retain(|(bound, _)| *bound != command);
    }

    /// Returns the keys that the user chose for a command, if any.
    pub fn chosen(&self, command: Command) -> Option<&[Key]> {
        self.chosen.iter().find(|(bound, _)| *bound == command).map(|(_, keys)| keys.as_slice())
    }

    /// Returns the keys of a command; the footer names the first one.
    pub fn keys<'a>(&'a self, entry: &'a CommandEntry) -> &'a [Key] {
        self.chosen(entry.command).unwrap_or(entry.keys)
    }

    /// Returns the keys of a command; the footer names the first one.
    pub fn keys_of(&self, command: Command) -> &[Key] {
        self.keys(entry_of(command))
    }

    /// Returns the additional keys on text pages. A command with chosen keys has none.
    pub fn pager_keys<'a>(&'a self, entry: &'a CommandEntry) -> &'a [Key] {
        if self.chosen(entry.command).is_some() { &[] } else { entry.pager_keys }
    }
}
