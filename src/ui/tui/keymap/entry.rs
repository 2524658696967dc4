//! A command with its name, its usual keys and its line in Help.

use super::{Argument, ArgumentKind, Command};
use crate::tui::key::Key;

/// Commands under one heading of Help.
#[derive(Clone, Copy, Debug)]
pub struct HelpGroup {
    pub title: &'static str,
    pub commands: &'static [CommandEntry],
}

#[derive(Clone, Copy, Debug)]
pub struct CommandEntry {
    pub command: Command,
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that it goes by there: those of vim, k9s and less.
    pub synonyms: &'static [&'static str],
    /// What the command line may give it; `None` when it takes nothing.
    pub argument: Option<Argument>,
    /// Its usual keys; the first is the one that the footer names. [`Bindings`] says which keys it has.
    pub keys: &'static [Key],
    /// More keys, where a text is read: those of less.
    pub pager_keys: &'static [Key],
    /// Its word in the footer; `None` keeps it out.
    pub hint: Option<&'static str>,
    /// One sentence without a full stop; the name of a command in braces stands for its key.
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
    /// Names it in the footer.
    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// What the command line may give it; in brackets when it may be left out.
    #[must_use]
    pub const fn takes(mut self, shown: &'static str, kind: ArgumentKind) -> Self {
        self.argument = Some(Argument { shown, kind });
        self
    }

    /// Other names of it.
    #[must_use]
    pub const fn also(mut self, synonyms: &'static [&'static str]) -> Self {
        self.synonyms = synonyms;
        self
    }

    /// More keys, where a text is read.
    #[must_use]
    pub const fn pages(mut self, keys: &'static [Key]) -> Self {
        self.pager_keys = keys;
        self
    }
}
