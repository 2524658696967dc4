//! The keys, names and screens of the user's own commands: which are accepted, and why others are
//! refused.

use super::own_keys::bindable;
use super::screens::{Content, SCREENS};
use crate::tui::keymap::key::Key;
use crate::tui::keymap::{Bindings, commands};
use crate::tui::own_command::{OwnCommand, OwnProgram};
use crate::tui::screen::Screen;

/// The longest name of a command, in bytes: Help and messages show it.
const MAX_NAME: usize = 32;

impl OwnCommand {
    /// Returns the key of this name; the error is a part of a sentence.
    pub fn read_key(name: &str) -> Result<Key, String> {
        bindable(name)
    }

    /// Returns the screen of this name; the error is a part of a sentence.
    pub fn read_screen(name: &str) -> Result<Screen, String> {
        let found = SCREENS.iter().find(|entry| entry.go().name == name).map(|entry| entry.screen);
        let known = || SCREENS.iter().map(|entry| entry.go().name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("there is no screen `{name}`: there are {}", known()))
    }

    /// Returns the screens on which all values that a program needs can be known.
    pub fn usual_screens(run: &OwnProgram) -> Vec<Screen> {
        SCREENS.iter().map(|entry| entry.screen).filter(|screen| run.is_on(*screen)).collect()
    }

    /// Returns why a name cannot be that of a command; `None` when it can.
    pub fn refuse_name(name: &str) -> Option<String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Some(format!(
                "{name:?} is no name for a command: up to {MAX_NAME} letters, digits, dots, dashes and underscores are"
            ));
        }
        let taken = commands().any(|entry| entry.name == name || entry.synonyms.contains(&name));
        taken.then(|| format!("`{name}` is a command of lockscope: choose another name"))
    }

    /// Returns why the command cannot have its key beside the commands of lockscope and those
    /// before it; `None` when it can.
    pub fn clash(&self, bindings: &Bindings, before: &[Self]) -> Option<String> {
        let (label, name) = (self.key.name(), &self.name);
        let shared =
            |other: &&Self| other.key == self.key && other.screens.iter().any(|screen| self.screens.contains(screen));
        if let Some(other) = before.iter().find(shared) {
            return Some(format!("`{label}` means `{}` already, so it cannot be `{name}`", other.name));
        }
        SCREENS.iter().filter(|entry| self.screens.contains(&entry.screen)).find_map(|entry| {
            let reads_text = matches!(entry.content, Content::Text(_)) || !entry.panes.is_empty();
            let taken = commands().find(|other| {
                let pages = reads_text && bindings.pager_keys(other).contains(&self.key);
                pages || (entry.screen.has(other.command) && bindings.keys(other).contains(&self.key))
            });
            let (title, other) = (entry.title, taken?.name);
            Some(format!("`{label}` means `{other}` in {title} already, so it cannot be `{name}`"))
        })
    }
}
