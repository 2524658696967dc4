//! Which keys the commands have: the usual ones, or those of the user's choice.

use super::{Command, CommandEntry};
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

    /// The keys of a command; the first is the one that the footer names.
    pub fn keys<'a>(&'a self, entry: &'a CommandEntry) -> &'a [Key] {
        let chosen = self.chosen.iter().find(|(command, _)| *command == entry.command);
        chosen.map_or(entry.keys, |(_, keys)| keys)
    }

    /// Its keys where a text is read. Who chose keys for a command has no others.
    pub fn pager_keys<'a>(&'a self, entry: &'a CommandEntry) -> &'a [Key] {
        if self.chosen.iter().any(|(command, _)| *command == entry.command) { &[] } else { entry.pager_keys }
    }
}
