//! Which command a key or a typed name means.

use super::screens::SCREENS;
use crate::tui::key::Key;
use crate::tui::keymap::{Command, CommandEntry, GROUPS, SPARE_KEY};
use crate::tui::screen::Screen;

/// Every command under its heading, in the order of Help.
pub fn command_groups() -> impl Iterator<Item = (&'static str, Vec<&'static CommandEntry>)> {
    let screens = ("Screens", SCREENS.iter().map(|entry| &entry.go).collect());
    [screens].into_iter().chain(GROUPS.iter().map(|group| (group.title, group.commands.iter().collect())))
}

/// Every command, in the order of the footer.
pub fn commands() -> impl Iterator<Item = &'static CommandEntry> {
    command_groups().flat_map(|(_, commands)| commands)
}

/// The command of a key on a screen: one that works only there comes before one that works everywhere.
pub(super) fn command(key: Key, screen: Screen, in_tour: bool) -> Option<Command> {
    let of_key = || commands().filter(|entry| screen.has(entry.command) && entry.keys.contains(&key));
    let own = of_key().find(|entry| screen.entry().commands.contains(&entry.command));
    let bound = own.or_else(|| of_key().next()).map(|entry| entry.command);
    let bound = bound.filter(|bound| !(in_tour && key == SPARE_KEY.0 && bound.yields_to_tour()));
    bound.or((key == SPARE_KEY.0).then_some(SPARE_KEY.1))
}

/// The command of a key: on this screen, else on any other.
fn of_key(key: Key, screen: Screen) -> Option<&'static CommandEntry> {
    let of_key = || commands().filter(|entry| entry.keys.contains(&key));
    of_key().find(|entry| screen.has(entry.command)).or_else(|| of_key().next())
}

/// The entry with that name, or the only one whose name begins so. A single letter means what its key means.
pub(super) fn named(name: &str, screen: Screen) -> Result<&'static CommandEntry, NoSuchCommand> {
    if let (Some(letter), None) = (name.chars().next(), name.chars().nth(1))
        && let Some(entry) = of_key(Key::Char(letter), screen)
    {
        return Ok(entry);
    }
    if let Some(entry) = commands().find(|entry| entry.name == name) {
        return Ok(entry);
    }
    let mut begins = commands().filter(|entry| !name.is_empty() && entry.name.starts_with(name));
    match (begins.next(), begins.next()) {
        (Some(entry), None) => Ok(entry),
        (None, _) => Err(NoSuchCommand::Unknown(name.to_owned())),
        (Some(first), Some(second)) => Err(NoSuchCommand::Ambiguous(name.to_owned(), first.name, second.name)),
    }
}

/// Why a typed name is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchCommand {
    /// Nothing is called so.
    #[error("There is no command `{0}`: `?` lists them all.")]
    Unknown(String),
    /// More than one name begins so.
    #[error("`{0}` may be `{1}` or `{2}`: type one letter more.")]
    Ambiguous(String, &'static str, &'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for screen in SCREENS.iter().map(|entry| entry.screen) {
            let mut bound = Vec::new();
            for entry in commands().filter(|entry| screen.has(entry.command)) {
                let is_own = screen.entry().commands.contains(&entry.command);
                for key in entry.keys {
                    assert!(!bound.contains(&(*key, is_own)), "{key:?} is bound twice on {screen:?}");
                    bound.push((*key, is_own));
                }
            }
        }
    }

    #[test]
    fn every_command_has_a_name_of_its_own_and_a_sentence() {
        for (at, entry) in commands().enumerate() {
            assert!(entry.help.len() > 5 && !entry.help.ends_with('.'), "{:?}", entry.command);
            assert!(commands().take(at).all(|other| other.name != entry.name && other.command != entry.command));
            assert!(!entry.keys.is_empty() || entry.argument.is_some(), "{:?} cannot be reached", entry.command);
        }
    }

    #[test]
    fn every_screen_has_a_row_of_its_own() {
        for (at, entry) in SCREENS.iter().enumerate() {
            assert_eq!(entry.screen as usize, at, "{}", entry.title);
        }
        assert_eq!(Screen::Help as usize + 1, SCREENS.len(), "the last one");
    }

    #[test]
    fn help_and_quit_are_within_reach_everywhere() {
        for screen in SCREENS.iter().map(|entry| entry.screen) {
            assert_eq!(command(Key::Char('?'), screen, false), Some(Command::Go(Screen::Help)));
            assert_eq!(command(Key::Char('q'), screen, false), Some(Command::Quit));
            assert_eq!(command(Key::Ctrl('c'), screen, false), Some(Command::Quit));
            assert_eq!(command(Key::Esc, screen, false), Some(Command::Back));
        }
    }

    #[test]
    fn on_contend_space_stops_the_clients_and_during_the_tour_it_is_the_tours() {
        assert_eq!(command(Key::Char(' '), Screen::Contend, false), Some(Command::StopOrGo));
        assert_eq!(command(Key::Char(' '), Screen::Contend, true), Some(Command::TourNext));
        assert_eq!(command(Key::Char('s'), Screen::Contend, true), Some(Command::StopOrGo));
        assert_eq!(command(Key::Right, Screen::Contend, true), Some(Command::PlayStep));
        assert_eq!(command(Key::Char('l'), Screen::Contend, false), Some(Command::Right));
        assert_eq!(command(Key::Right, Screen::Queue, false), Some(Command::Right));
    }

    fn named_on_locks(name: &str) -> Result<&'static CommandEntry, NoSuchCommand> {
        named(name, Screen::Locks)
    }

    #[test]
    fn a_key_that_means_something_else_elsewhere_means_what_it_does_here() {
        assert_eq!(named("d", Screen::Contend).unwrap().command, Command::Delay);
        assert_eq!(named("d", Screen::Queue).unwrap().command, Command::Go(Screen::Node));
    }

    #[test]
    fn a_name_may_be_shortened_as_long_as_it_is_clear() {
        assert_eq!(named_on_locks("q").unwrap().command, Command::Quit, "as the key");
        assert_eq!(named_on_locks("pa").unwrap_err(), NoSuchCommand::Ambiguous("pa".into(), "page-up", "page-down"));
        assert_eq!(named_on_locks("qui").unwrap().command, Command::Quit);
        assert_eq!(named_on_locks("lock").unwrap().command, Command::Lock, "an exact name wins over `locks`");
        assert!(matches!(named_on_locks(""), Err(NoSuchCommand::Unknown(_))));
    }
}
