//! The names of keys in sentences, as they are bound.

use super::{Bindings, Command, CommandEntry, FixedKey, commands, entry_of};
use crate::tui::key::Key;

/// Before the name of a command in a template: its first key that is a letter.
const LETTER_OF: &str = "letter of ";
/// Before the name of a command in a template: all its keys.
const KEYS_OF: &str = "keys of ";
/// In a template: [`FixedKey::Spare`].
const SPARE: &str = "spare key";

impl Bindings {
    /// Returns the name of a command's first key; `:name` when it has no key.
    pub fn name(&self, command: Command) -> String {
        let entry = entry_of(command);
        self.keys(entry).first().map_or_else(|| format!(":{}", entry.name), |key| key.name())
    }

    /// Returns the name of a command's first letter key, or else its [`name`](Self::name).
    pub fn letter(&self, command: Command) -> String {
        let letter = self.keys_of(command).iter().find(|key| matches!(key, Key::Char(_)));
        letter.map_or_else(|| self.name(command), |key| key.name())
    }

    /// Returns the names of all keys of a command: `PgDn, Ctrl-F or .`
    fn names(&self, command: Command) -> String {
        let keys = self.keys_of(command);
        if keys.is_empty() { self.name(command) } else { one_of(keys) }
    }

    /// Replaces each command name in braces by its key: `{quit} ends the program.` Other text in
    /// braces stays. Pass fixed templates only, never text from a znode.
    pub fn fill(&self, template: &str) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, name, after)) = next_place(rest) {
            filled.push_str(before);
            filled.push_str(&self.named(name).unwrap_or_else(|| format!("{{{name}}}")));
            rest = after;
        }
        filled + rest
    }

    /// Returns the replacement of a name in braces; `None` for an unknown name.
    fn named(&self, name: &str) -> Option<String> {
        let command = |name: &str| commands().find(|entry| entry.name == name).map(|entry| entry.command);
        if let Some(name) = name.strip_prefix(LETTER_OF) {
            return command(name).map(|command| self.letter(command));
        }
        if let Some(name) = name.strip_prefix(KEYS_OF) {
            return command(name).map(|command| self.names(command));
        }
        if name == SPARE { Some(FixedKey::Spare.name()) } else { command(name).map(|command| self.name(command)) }
    }

    /// Returns the command's line in Help, with its additional keys on text pages.
    pub fn help(&self, entry: &CommandEntry) -> String {
        let help = self.fill(entry.help);
        let keys = self.pager_keys(entry);
        if keys.is_empty() { help } else { format!("{help}; {} in a text", one_of(keys)) }
    }
}

/// Joins the names of keys with commas and a final "or".
fn one_of(keys: &[Key]) -> String {
    let names: Vec<_> = keys.iter().map(|key| key.name()).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the text before the first name in braces, the name, and the text after it.
fn next_place(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_the_key_that_is_bound_or_what_to_type() {
        let mut bindings = Bindings::default();
        let template = "{keys of quit} ends it, {last} and {letter of last} go there, {spare key} steps on, {no such}.";
        assert_eq!(bindings.fill(template), "q or Ctrl-C ends it, End and G go there, Space steps on, {no such}.");
        bindings.bind(Command::Quit, Vec::new());
        bindings.bind(Command::Last, vec![Key::F(9)]);
        assert_eq!(bindings.fill(template), ":quit ends it, F9 and F9 go there, Space steps on, {no such}.");
    }

    #[test]
    fn keys_for_texts_are_named_only_where_they_work() {
        let mut bindings = Bindings::default();
        let entry = entry_of(Command::PageDown);
        assert_eq!(bindings.help(entry), "One page down; Space or f in a text");
        bindings.bind(Command::PageDown, vec![Key::F(9)]);
        assert_eq!(bindings.help(entry), "One page down");
    }
}
