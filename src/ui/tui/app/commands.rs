//! What keys and typed names mean, and which keys the config file may give to commands.
//!
//! A key belongs to playback first, then to the tour, then to the screen, then to paging in a text,
//! and last to the commands that work everywhere. The config file may bind other keys, and it may
//! define commands of its own; both are refused with a reason if a key would then mean two things
//! on one screen.

use super::screens::{Content, SCREENS};
use crate::tui::keymap::key::Key;
use crate::tui::keymap::{Bindings, Command, CommandEntry, FixedKey, commands, habit};
use crate::tui::own_command::{OwnCommand, OwnProgram};
use crate::tui::screen::Screen;

#[cfg(test)]
mod tests;

/// Maximum edit distance between a typed name and the command that is suggested for it.
const MAX_TYPOS: usize = 2;

/// The state of the screen that decides what a key means.
#[derive(Clone, Copy, Debug)]
pub struct KeyPlace {
    pub screen: Screen,
    /// Whether a text page has the keys.
    pub reads_text: bool,
    pub in_tour: bool,
    /// Whether the screen shows a recording.
    pub in_past: bool,
}

/// The command of a key. The keys of playback come first when a recording is shown, then the keys
/// of the tour while it runs, then commands of this screen, then paging in a text, then commands
/// that work everywhere.
pub fn command(key: Key, place: KeyPlace, bindings: &Bindings) -> Option<Command> {
    let KeyPlace { screen, reads_text, in_tour, in_past } = place;
    let has_key = |entry: &&CommandEntry| bindings.keys(entry).contains(&key);
    let of_key = || commands().filter(|entry| screen.has(entry.command)).filter(has_key);
    if let Some(entry) = of_key().find(|entry| in_past && entry.command.is_of_playing()) {
        return Some(entry.command);
    }
    let mut of_tour = of_key().filter(|entry| entry.command.is_of_tour());
    if in_tour && let Some(entry) = of_tour.next() {
        return Some(entry.command);
    }
    let is_usual = |entry: &&CommandEntry| !entry.command.is_of_tour() && !entry.command.is_of_playing();
    let mut usual = of_key().filter(is_usual);
    let own = usual.find(|entry| screen.entry().has_own(entry.command)).map(|entry| entry.command);
    let is_spare = FixedKey::Spare.is(key);
    if in_tour && is_spare {
        return own.filter(|own| !own.yields_to_tour()).or(Some(Command::TourNext));
    }
    let plays = commands().any(|entry| entry.command == Command::TourPlay && has_key(&entry));
    if in_past && (plays || (is_spare && !reads_text)) {
        return Some(Command::Pause);
    }
    let pager = || commands().find(|entry| bindings.pager_keys(entry).contains(&key)).map(|entry| entry.command);
    let everywhere = || of_key().find(is_usual).map(|entry| entry.command);
    let paging = pager().filter(|_| reads_text);
    own.or(paging).or_else(everywhere).or_else(|| pager().filter(|_| is_spare))
}

/// Explains why a key does nothing, in a sentence that says what to press instead.
pub fn strange(key: Key, place: KeyPlace, bindings: &Bindings, ascii: bool) -> String {
    if let Some(sentence) = habit(key, bindings) {
        return sentence;
    }
    let label = key.label(ascii);
    let elsewhere = commands().find(|entry| !entry.command.is_of_plan() && bindings.keys(entry).contains(&key));
    match elsewhere.filter(|entry| place.in_tour || !entry.command.is_of_tour()) {
        Some(entry) => {
            let screens = SCREENS.iter().filter(|screen| screen.has_own(entry.command));
            let titles: Vec<_> = screens.map(|screen| screen.title).collect();
            format!("{label} ({}) does nothing here; it works in {}.", entry.name, titles.join(", "))
        }
        None => format!("{label} does nothing here; {} lists the keys.", bindings.name(Command::Go(Screen::Help))),
    }
}

/// Finds the command with that name or synonym, or the only command whose name starts with `name`.
/// A single letter means the command of that key.
pub fn named(name: &str, screen: Screen, bindings: &Bindings) -> Result<&'static CommandEntry, NoSuchCommand> {
    if let Some(entry) = commands().find(|entry| entry.name == name || entry.synonyms.contains(&name)) {
        return Ok(entry);
    }
    if let (Some(letter), None) = (name.chars().next(), name.chars().nth(1)) {
        let has_key = |entry: &&CommandEntry| bindings.keys(entry).contains(&Key::Char(letter));
        let of_key = || commands().filter(|entry| !entry.command.is_of_plan()).filter(has_key);
        if let Some(entry) = of_key().find(|entry| screen.has(entry.command)).or_else(|| of_key().next()) {
            return Ok(entry);
        }
    }
    let mut begins = commands().filter(|entry| !name.is_empty() && entry.name.starts_with(name));
    match (begins.next(), begins.next()) {
        (Some(entry), None) => Ok(entry),
        (None, _) => Err(nearest_name(name).map_or_else(
            || NoSuchCommand::Unknown(name.to_owned()),
            |meant| NoSuchCommand::Misspelt(name.to_owned(), meant),
        )),
        (Some(first), Some(second)) => Err(NoSuchCommand::Ambiguous(name.to_owned(), first.name, second.name)),
    }
}

/// The name nearest to an unknown one; `None` when none is similar enough.
fn nearest_name(name: &str) -> Option<&'static str> {
    let names = commands().flat_map(|entry| [entry.name].into_iter().chain(entry.synonyms.iter().copied()));
    let distances = names.map(|other| (strsim::osa_distance(name, other), other));
    let nearest = distances.min().filter(|(distance, other)| *distance <= MAX_TYPOS && *distance < other.len());
    nearest.map(|(_, meant)| meant)
}

/// Why a typed name is not a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSuchCommand {
    /// No name is equal to the typed one or similar.
    Unknown(String),
    /// No name is equal, but the second field is a similar one.
    Misspelt(String, &'static str),
    /// Several names start with the typed one. The fields are the typed name and two of them.
    Ambiguous(String, &'static str, &'static str),
}

impl NoSuchCommand {
    pub fn sentence(&self, bindings: &Bindings) -> String {
        let (help, complete) = (bindings.name(Command::Go(Screen::Help)), FixedKey::Complete.name());
        match self {
            Self::Unknown(name) => {
                format!("There is no command `{name}`: {complete} completes a name, and {help} lists them all.")
            }
            Self::Misspelt(name, meant) => {
                format!("There is no command `{name}`; did you mean `{meant}`? {help} lists them all.")
            }
            Self::Ambiguous(name, first, second) => {
                format!("`{name}` may be `{first}` or `{second}`: type one more letter.")
            }
        }
    }
}

/// The keys that the config file gives to a command.
#[derive(Clone, Debug)]
pub struct WantedKeys<P> {
    /// Where the config file says so. Returned with a refusal.
    pub place: P,
    /// The name of the command.
    pub command: String,
    /// The names of the keys, such as `x`, `ctrl-d`, `space` or `f5`.
    pub keys: Vec<String>,
}

impl Bindings {
    /// Binds the wanted keys, unless a key would then mean two things on one screen. A refused
    /// command keeps its keys from `earlier`. Returns the bindings, and the place and reason of
    /// each refusal.
    pub fn read<P>(wanted: Vec<WantedKeys<P>>, earlier: &Self) -> (Self, Vec<(P, String)>) {
        let (mut bindings, mut refused, mut taken) = (Self::default(), Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for WantedKeys { place, command, keys } in wanted {
            match understood(&command, &keys) {
                Ok((entry, keys)) => {
                    bindings.bind(entry.command, keys);
                    taken.push((place, entry));
                }
                Err(why) => {
                    refused.push((place, why));
                    kept.push(command);
                }
            }
        }
        // All keys are bound before the check, so that two commands may swap their keys. Of two
        // commands that clash, the later one is refused.
        while let Some(at) = (0..taken.len()).rev().find(|at| bindings.clash(taken[*at].1).is_some()) {
            let (place, entry) = taken.remove(at);
            if let Some(why) = bindings.clash(entry) {
                refused.push((place, why));
            }
            bindings.unbind(entry.command);
            kept.push(entry.name.to_owned());
        }
        for command in kept {
            bindings.keep(&command, earlier);
        }
        (bindings, refused)
    }

    /// Binds the keys that a command had in `earlier`, unless they mean something else now.
    pub fn keep(&mut self, command: &str, earlier: &Self) {
        let Some(entry) = commands().find(|entry| entry.name == command) else { return };
        let Some(keys) = earlier.chosen(entry.command) else { return };
        self.bind(entry.command, keys.to_vec());
        if self.clash(entry).is_some() {
            self.unbind(entry.command);
        }
    }

    /// Why a key cannot be bound to a command that answers a plan; `None` when it can.
    fn answers_already(&self, entry: &CommandEntry) -> Option<String> {
        let answers = [FixedKey::Yes, FixedKey::Enter, FixedKey::Leave];
        let taken = self.keys(entry).iter().find(|key| answers.iter().any(|answer| answer.is(**key)))?;
        Some(format!("`{}` is another answer already, so it cannot be `{}`", taken.name(), entry.name))
    }

    /// Why a command cannot have its keys; `None` when it can.
    fn clash(&self, entry: &CommandEntry) -> Option<String> {
        if entry.command.is_of_plan() {
            return self.answers_already(entry);
        }
        let own = |screen: &super::screens::ScreenEntry, of: &CommandEntry| screen.has_own(of.command);
        SCREENS.iter().filter(|screen| screen.screen.has(entry.command)).find_map(|screen| {
            let mut others = commands().filter(|other| {
                other.command != entry.command
                    && screen.screen.has(other.command)
                    && own(screen, other) == own(screen, entry)
                    && other.command.is_of_tour() == entry.command.is_of_tour()
                    && other.command.is_of_playing() == entry.command.is_of_playing()
            });
            let keys = self.keys(entry);
            let (other, key) =
                others.find_map(|other| Some((other, self.keys(other).iter().find(|key| keys.contains(key))?)))?;
            let (label, title) = (key.name(), screen.title);
            Some(format!("`{label}` means `{}` in {title} already, so it cannot be `{}`", other.name, entry.name))
        })
    }
}

fn understood(command: &str, keys: &[String]) -> Result<(&'static CommandEntry, Vec<Key>), String> {
    let entry = commands().find(|entry| entry.name == command).ok_or_else(|| match nearest_name(command) {
        Some(meant) => format!("there is no command `{command}`; perhaps {meant} is meant"),
        None => format!("there is no command `{command}`; Help lists them all"),
    })?;
    Ok((entry, keys.iter().map(|name| bindable(name)).collect::<Result<_, _>>()?))
}

/// Returns the key of this name, if it can be bound. The error is a part of a sentence.
fn bindable(name: &str) -> Result<Key, String> {
    let key = Key::read(name).filter(|key| !FixedKey::Interrupt.is(*key));
    key.ok_or_else(|| format!("`{name}` cannot be bound: choose a letter, ctrl-d, space, tab, f5 or page-down"))
}

/// The longest name of a command, in bytes: Help and messages show it.
const MAX_NAME_BYTES: usize = 32;

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
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
            return Some(format!(
                "{name:?} is no name for a command: up to {MAX_NAME_BYTES} letters, digits, dots, dashes and underscores are"
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
