//! Tests of `commands`.

use super::*;
use crate::tui::keymap::Command;

/// Whether the keys of a command work at any time, and not only in the tour or in playback.
fn is_always_bound(entry: &CommandEntry) -> bool {
    !entry.command.is_of_tour() && !entry.command.is_of_playing()
}

#[test]
fn no_key_means_two_things_on_one_screen() {
    for screen in SCREENS.iter().map(|entry| entry.screen) {
        let mut bound = Vec::new();
        for entry in commands().filter(|entry| screen.has(entry.command) && is_always_bound(entry)) {
            let is_own = screen.entry().has_own(entry.command);
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

fn read(wanted: &[(&str, &[&str])]) -> (Bindings, Vec<(usize, String)>) {
    let wanted = wanted.iter().enumerate().map(|(place, (command, keys))| WantedKeys {
        place,
        command: (*command).to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    });
    Bindings::read(wanted.collect(), &Bindings::default())
}

fn keys(bindings: &Bindings, command: Command) -> &[Key] {
    bindings.keys(commands().find(|entry| entry.command == command).unwrap())
}

#[test]
fn two_commands_may_swap_their_keys() {
    let (bindings, refused) = read(&[("sort", &["S"]), ("then-by", &["s"]), ("quit", &["q", "f10"])]);
    assert_eq!(refused, []);
    assert_eq!(keys(&bindings, Command::Sort), [Key::Char('S')]);
    assert_eq!(keys(&bindings, Command::Quit), [Key::Char('q'), Key::F(10)]);
}

#[test]
fn a_key_that_is_taken_is_refused_and_the_default_stays() {
    let (bindings, refused) = read(&[("sort", &["o"]), ("pause", &["z"])]);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].0, 0);
    assert_eq!(refused[0].1, "`o` means `session` in Locks already, so it cannot be `sort`");
    assert_eq!(keys(&bindings, Command::Sort), [Key::Char('s')]);
    assert_eq!(
        keys(&bindings, Command::Pause),
        [Key::Char('z')],
        "freeze has it only on Contend, where it comes first"
    );
}

#[test]
fn unknown_commands_and_keys_are_named() {
    for (command, key, part) in [
        ("srot", "s", "perhaps sort is meant"),
        ("frobnicate", "s", "Help lists them all"),
        ("sort", "hyper-x", "`hyper-x` cannot be bound"),
        ("sort", "", "cannot be bound"),
        ("sort", "ctrl-c", "cannot be bound"),
        ("ask-owner", "y", "`y` is another answer already"),
        ("ask-owner", "esc", "`Esc` is another answer already"),
    ] {
        let (bindings, refused) = read(&[(command, &[key])]);
        assert_eq!(bindings, Bindings::default());
        assert!(refused[0].1.contains(part), "{refused:?}");
    }
}

#[test]
fn a_refused_command_keeps_its_earlier_keys() {
    let (earlier, _) = read(&[("sort", &["f8"]), ("pause", &["f9"])]);
    let wanted = [("sort", "o"), ("pause", "hyper-x"), ("then-by", "f8")];
    let wanted = wanted.iter().enumerate().map(|(place, (command, key))| WantedKeys {
        place,
        command: (*command).to_owned(),
        keys: vec![(*key).to_owned()],
    });
    let (bindings, refused) = Bindings::read(wanted.collect(), &earlier);
    assert_eq!(refused.len(), 2);
    assert_eq!(keys(&bindings, Command::Pause), [Key::F(9)]);
    assert_eq!(keys(&bindings, Command::ThenBy), [Key::F(8)]);
    assert_eq!(keys(&bindings, Command::Sort), [Key::Char('s')], "its key of before means something else now");
}
