//! Maps keys and typed names to commands.

use super::screens::SCREENS;
use crate::tui::keymap::key::Key;
use crate::tui::keymap::{Bindings, Command, CommandEntry, FixedKey, commands, habit};
use crate::tui::screen::Screen;

/// Maximum edit distance between a typed name and the command that is suggested for it.
const MAX_TYPOS: usize = 2;

/// The state of the screen that decides what a key means.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPlace {
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
pub(super) fn command(key: Key, place: KeyPlace, bindings: &Bindings) -> Option<Command> {
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
    let own = usual.find(|entry| screen.entry().commands.contains(&entry.command)).map(|entry| entry.command);
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
pub(super) fn strange(key: Key, place: KeyPlace, bindings: &Bindings, ascii: bool) -> String {
    if let Some(sentence) = habit(key, bindings) {
        return sentence;
    }
    let label = key.label(ascii);
    let elsewhere = commands().find(|entry| !entry.command.is_of_plan() && bindings.keys(entry).contains(&key));
    match elsewhere.filter(|entry| place.in_tour || !entry.command.is_of_tour()) {
        Some(entry) => {
            let screens = SCREENS.iter().filter(|screen| screen.commands.contains(&entry.command));
            let titles: Vec<_> = screens.map(|screen| screen.title).collect();
            format!("{label} ({}) does nothing here; it works in {}.", entry.name, titles.join(", "))
        }
        None => format!("{label} does nothing here; {} lists the keys.", bindings.name(Command::Go(Screen::Help))),
    }
}

/// Finds the command with that name or synonym, or the only command whose name starts with `name`.
/// A single letter means the command of that key.
pub(super) fn named(name: &str, screen: Screen, bindings: &Bindings) -> Result<&'static CommandEntry, NoSuchCommand> {
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
pub(super) fn nearest_name(name: &str) -> Option<&'static str> {
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
    pub(super) fn sentence(&self, bindings: &Bindings) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the keys of a command work at any time, and not only in the tour or in playback.
    fn is_always_bound(entry: &CommandEntry) -> bool {
        !entry.command.is_of_tour() && !entry.command.is_of_playing()
    }

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for screen in SCREENS.iter().map(|entry| entry.screen) {
            let mut bound = Vec::new();
            for entry in commands().filter(|entry| screen.has(entry.command) && is_always_bound(entry)) {
                let is_own = screen.entry().commands.contains(&entry.command);
                for key in entry.keys {
                    assert!(!bound.contains(&(*key, is_own)), "{key:?} is bound twice on {screen:?}");
                    bound.push((*key, is_own));
                }
            }
        }
    }

    #[test]
    fn every_command_has_a_unique_name_and_a_help_text() {
        for (at, entry) in commands().enumerate() {
            assert!(entry.help.len() > 5 && !entry.help.ends_with('.'), "{:?}", entry.command);
            assert!(commands().take(at).all(|other| other.command != entry.command));
            let named =
                |name: &str| commands().filter(|other| other.name == name || other.synonyms.contains(&name)).count();
            assert!([entry.name].iter().chain(entry.synonyms).all(|name| named(name) == 1), "{:?}", entry.command);
            assert!(!entry.keys.is_empty() || entry.argument.is_some(), "{:?} cannot be reached", entry.command);
        }
    }

    #[test]
    fn the_table_has_one_row_for_each_screen() {
        for (at, entry) in SCREENS.iter().enumerate() {
            assert_eq!(entry.screen as usize, at, "{}", entry.title);
        }
        assert_eq!(Screen::Help as usize + 1, SCREENS.len(), "the last one");
    }

    #[test]
    fn help_and_quit_work_on_every_screen() {
        for screen in SCREENS.iter().map(|entry| entry.screen) {
            assert_eq!(pressed(Key::Char('?'), screen, false), Some(Command::Go(Screen::Help)));
            assert_eq!(pressed(Key::Char('q'), screen, false), Some(Command::Quit));
            assert_eq!(pressed(Key::Ctrl('c'), screen, false), Some(Command::Quit));
            assert_eq!(pressed(Key::Esc, screen, false), Some(Command::Back));
        }
    }

    #[test]
    fn space_on_contend_stops_the_clients_but_advances_a_tour() {
        assert_eq!(pressed(Key::Char(' '), Screen::Contend, false), Some(Command::StopOrGo));
        assert_eq!(pressed(Key::Char(' '), Screen::Contend, true), Some(Command::TourNext));
        assert_eq!(pressed(Key::Char('s'), Screen::Contend, true), Some(Command::StopOrGo));
        assert_eq!(pressed(Key::Right, Screen::Contend, true), Some(Command::PlayStep));
        assert_eq!(pressed(Key::Char('l'), Screen::Contend, false), Some(Command::Right));
        assert_eq!(pressed(Key::Right, Screen::Queue, false), Some(Command::Right));
    }

    #[test]
    fn the_keys_of_the_tour_work_only_while_it_runs() {
        for (key, during, otherwise) in [
            ('n', Command::TourNext, Some(Command::NextMatch)),
            ('N', Command::TourNextScene, Some(Command::PreviousMatch)),
            ('b', Command::TourBack, None),
            ('P', Command::TourPlay, None),
            (' ', Command::TourNext, Some(Command::PageDown)),
        ] {
            assert_eq!(pressed(Key::Char(key), Screen::Locks, true), Some(during));
            assert_eq!(pressed(Key::Char(key), Screen::Locks, false), otherwise);
        }
    }

    #[test]
    fn the_keys_of_less_move_in_a_text() {
        let place = KeyPlace { reads_text: true, ..place(Screen::Unreadable, false) };
        for (key, does) in [
            (' ', Command::PageDown),
            ('f', Command::PageDown),
            ('b', Command::PageUp),
            ('d', Command::HalfPageDown),
            ('u', Command::HalfPageUp),
            ('j', Command::Down),
            ('N', Command::PreviousMatch),
        ] {
            assert_eq!(command(Key::Char(key), place, &Bindings::default()), Some(does), "{key}");
        }
    }

    #[test]
    fn a_key_that_does_nothing_says_what_to_press() {
        let said = |key| strange(Key::Char(key), place(Screen::Timeline, false), &Bindings::default(), false);
        assert_eq!(said('@'), "7 shows what this console has changed, and 6 what happened.");
        assert_eq!(said('x'), "x (delete) does nothing here; it works in Locks, Queue.");
        assert_eq!(said('%'), "% does nothing here; ? lists the keys.");
    }

    fn place(screen: Screen, in_tour: bool) -> KeyPlace {
        KeyPlace { screen, reads_text: false, in_tour, in_past: false }
    }

    fn pressed(key: Key, screen: Screen, in_tour: bool) -> Option<Command> {
        command(key, place(screen, in_tour), &Bindings::default())
    }

    fn named_on_locks(name: &str) -> Result<&'static CommandEntry, NoSuchCommand> {
        named(name, Screen::Locks, &Bindings::default())
    }

    #[test]
    fn a_single_letter_means_the_command_of_that_key_on_this_screen() {
        assert_eq!(named("d", Screen::Contend, &Bindings::default()).unwrap().command, Command::Delay);
        assert_eq!(named("d", Screen::Queue, &Bindings::default()).unwrap().command, Command::Go(Screen::Node));
    }

    #[test]
    fn a_name_may_be_shortened_while_it_is_unambiguous() {
        assert_eq!(named_on_locks("q").unwrap().command, Command::Quit, "as the key");
        assert_eq!(named_on_locks("pa").unwrap_err(), NoSuchCommand::Ambiguous("pa".into(), "page-up", "page-down"));
        assert_eq!(named_on_locks("qui").unwrap().command, Command::Quit);
        assert_eq!(named_on_locks("lock").unwrap().command, Command::Lock, "an exact name wins over `locks`");
        assert!(matches!(named_on_locks(""), Err(NoSuchCommand::Unknown(_))));
        assert_eq!(named_on_locks("describe").unwrap().command, Command::Go(Screen::Node), "as in k9s");
        assert_eq!(named_on_locks("sesions").unwrap_err(), NoSuchCommand::Misspelt("sesions".into(), "sessions"));
    }
}
