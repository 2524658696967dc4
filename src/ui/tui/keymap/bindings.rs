//! The keys of the commands, the defaults or those chosen by the user, and their names in
//! sentences, as they are bound.
//!
//! Keys of other programs that do nothing here get a sentence that names the keys to press instead.

use super::{Command, CommandEntry, FixedKey, commands, entry_of};
use crate::tui::keymap::key::Key;

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

/// Keys of k9s, lazygit and less, each with a sentence that names the key to press here. A key that
/// does something on a screen keeps doing that.
const HABITS: &[(&[Key], &str)] = &[
    (&[Key::Char('9')], "The screens are {locks} to {tree}; {help} lists the others."),
    (&[Key::Char('@')], "{audit} shows what this console has changed, and {timeline} what happened."),
    (
        &[Key::Char('A'), Key::Char('M'), Key::Char('O'), Key::Char('T')],
        "{sort} sorts by the next column, :sort by a named one.",
    ),
    (&[Key::Char('E'), Key::Ctrl('s')], "{export} writes what is shown to a JSON file."),
    (&[Key::Char('Q'), Key::Char('Z')], "{quit} ends the program."),
    (&[Key::Ctrl('k')], "{delete} shows the plan to delete what is selected, and asks."),
    (
        &[Key::Ctrl('r'), Key::F(5)],
        "All is live and needs no refresh, but {tree} and {node} read a node again; {redraw} redraws the screen.",
    ),
    (&[Key::Char('_'), Key::Char('+'), Key::Char('-')], "The panes size themselves: {pane} goes from one to the next."),
    (&[Key::Char('&')], "{filter} shows only the rows that match, {next-match} and {previous-match} go through them."),
    (&[Key::Char('f'), Key::Char('b')], "In a list {keys of page-down} pages down, and {keys of page-up} pages up."),
    (
        &[Key::Char('m'), Key::Char('\'')],
        "There are no marks here: {letter of first} and {letter of last} go to the ends, {filter} finds what you look for.",
    ),
    (
        &[Key::Char('K'), Key::Char('J')],
        "{letter of left}, {letter of down}, {letter of up} and {letter of right} move, {page-up} and {page-down} page, \
         {letter of first} and {letter of last} go to the ends.",
    ),
];

/// Returns a sentence with the key to press in place of one that does nothing here.
pub fn habit(key: Key, bindings: &Bindings) -> Option<String> {
    HABITS.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, sentence)| bindings.fill(sentence))
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

    #[test]
    fn every_name_in_braces_is_that_of_a_command() {
        for (_, sentence) in HABITS {
            let filled = Bindings::default().fill(sentence);
            assert!(!filled.contains('{'), "{filled}");
        }
    }
}
