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

    /// The keys of a command; the first is the one that the footer names.
    pub fn keys_of(&self, command: Command) -> &[Key] {
        self.keys(entry_of(command))
    }

    /// Its keys where a text is read. Who chose keys for a command has no others.
    pub fn pager_keys<'a>(&'a self, entry: &'a CommandEntry) -> &'a [Key] {
        if self.chosen(entry.command).is_some() { &[] } else { entry.pager_keys }
    }
}
