//! A command with its name, its default keys and its line in Help.

use super::{Argument, ArgumentKind, Command};
use crate::tui::key::Key;

/// The commands under one heading of Help.
#[derive(Clone, Copy, Debug)]
pub struct HelpGroup {
    pub title: &'static str,
    pub commands: &'static [CommandEntry],
}

#[derive(Clone, Copy, Debug)]
pub struct CommandEntry {
    pub command: Command,
    /// The name on the command line.
    pub name: &'static str,
    /// Other names on the command line, as in vim, k9s and less.
    pub synonyms: &'static [&'static str],
    /// The argument on the command line; `None` when the command takes none.
    pub argument: Option<Argument>,
    /// The default keys; the footer names the first one. [`Bindings`] has the keys in effect.
    pub keys: &'static [Key],
    /// Additional keys on text pages, as in less.
    pub pager_keys: &'static [Key],
    /// The word in the footer; `None` leaves the command out of the footer.
    pub hint: Option<&'static str>,
    /// A sentence without a full stop. `{quit}` stands for the key of the command `quit`.
    pub help: &'static str,
}

pub(super) const fn entry(
    command: Command,
    name: &'static str,
    keys: &'static [Key],
    help: &'static str,
) -> CommandEntry {
    CommandEntry { command, name, synonyms: &[], argument: None, keys, pager_keys: &[], hint: None, help }
}

impl CommandEntry {
    /// Sets the command's word in the footer.
    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Sets the argument, as Help shows it: in brackets when it is optional.
    #[must_use]
    pub const fn takes(mut self, shown: &'static str, kind: ArgumentKind) -> Self {
        self.argument = Some(Argument { shown, kind });
        self
    }

    /// Sets other names of the command.
    #[must_use]
    pub const fn also(mut self, synonyms: &'static [&'static str]) -> Self {
        self.synonyms = synonyms;
        self
    }

    /// Sets additional keys on text pages.
    #[must_use]
    pub const fn pages(mut self, keys: &'static [Key]) -> Self {
        self.pager_keys = keys;
        self
    }
}
