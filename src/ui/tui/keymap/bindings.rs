//! Which keys the commands have: the usual ones, or those of the user's choice.

use super::{Command, CommandEntry, entry_of};
use crate::tui::key::Key;

/// The keys of the commands that have others than the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    chosen: Vec<(Command, Vec<Key>)>,
}

impl Bindings {
    /// Gives a command these keys in place of its usual ones.
    pub fn bind(&mut self, command: Command, keys: Vec<Key>) {
        self.chosen.retain(|(bound, _)| *bound != command);
        self.chosen.push((command, keys));
    }

    /// Gives a command its usual keys again.
    pub fn unbind(&mut self, command: Command) {
        self.chosen.retain(|(bound, _)| *bound != command);
    }

    /// The keys that were chosen for a command, if any were.
    pub fn chosen(&self, command: Command) -> Option<&[Key]> {
        self.chosen.iter().find(|(bound, _)| *bound == command).map(|(_, keys)| keys.as_slice())
    }

    /// The keys of a command; the first is the one that the footer names.
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
