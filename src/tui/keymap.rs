//! The one table of commands: it drives the keys, the footer, Help and the command line. Pure.
//!
//! Architecture invariant: nothing else in the crate says which key does what.

mod command;

pub use command::Command;

use super::app::{Key, Screen};

/// Under which heading Help shows a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpGroup {
    /// Moving around in a list.
    Move,
    /// Going from screen to screen.
    Go,
    /// Choosing what is shown, and how.
    FilterAndSort,
    /// Taking something along.
    CopyAndExport,
    /// Changing the ensemble.
    Change,
    /// Test clients.
    Clients,
    /// The guided tour.
    Tour,
    /// The program itself.
    Program,
}

impl HelpGroup {
    /// Every group, in the order of Help.
    pub const ALL: [Self; 8] = [
        Self::Move,
        Self::Go,
        Self::FilterAndSort,
        Self::CopyAndExport,
        Self::Change,
        Self::Clients,
        Self::Tour,
        Self::Program,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Move => "Move",
            Self::Go => "Screens",
            Self::FilterAndSort => "Filter and sort",
            Self::CopyAndExport => "Copy and export",
            Self::Change => "Delete (with --write)",
            Self::Clients => "Test clients",
            Self::Tour => "Tour (lockscope demo)",
            Self::Program => "Program",
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct CommandEntry {
    /// The command.
    pub command: Command,
    /// Its name on the command line.
    pub name: &'static str,
    /// What the command line may give it, as Help writes it; `None` when it takes nothing.
    pub argument: Option<&'static str>,
    /// Its keys; the first is the one that the footer names.
    pub keys: &'static [Key],
    /// Its word in the footer; `None` keeps it out.
    pub hint: Option<&'static str>,
    /// One sentence without a full stop.
    pub help: &'static str,
    /// Its heading in Help.
    pub group: HelpGroup,
    /// The screens where it does something; empty for all.
    pub screens: &'static [Screen],
}

impl CommandEntry {
    /// Whether the command does something on that screen.
    pub fn is_on(&self, screen: Screen) -> bool {
        self.screens.is_empty() || self.screens.contains(&screen)
    }
}

const LISTS: &[Screen] =
    &[Screen::Locks, Screen::Queue, Screen::Sessions, Screen::Waits, Screen::Timeline, Screen::Audit];

const FILTERED: &[Screen] = &[Screen::Locks, Screen::Queue, Screen::Sessions, Screen::Timeline, Screen::Audit];

const SORTED: &[Screen] = &[Screen::Locks, Screen::Sessions];

const TAKEN: &[Screen] =
    &[Screen::Locks, Screen::Queue, Screen::Sessions, Screen::Waits, Screen::Contend, Screen::Timeline];

const COPIED: &[Screen] =
    &[Screen::Locks, Screen::Queue, Screen::Sessions, Screen::Waits, Screen::Contend, Screen::Timeline, Screen::Audit];

/// Builds a line of the table.
const fn entry(
    command: Command,
    name: &'static str,
    keys: &'static [Key],
    group: HelpGroup,
    help: &'static str,
) -> CommandEntry {
    CommandEntry { command, name, argument: None, keys, hint: None, help, group, screens: &[] }
}

impl CommandEntry {
    const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    const fn takes(mut self, argument: &'static str) -> Self {
        self.argument = Some(argument);
        self
    }

    const fn on(mut self, screens: &'static [Screen]) -> Self {
        self.screens = screens;
        self
    }
}

/// Which client the command line may name: its number, or `holder`.
const CLIENT: &str = "[WHO]";

/// Builds a line of the table for what is done to test clients while they run.
const fn control(command: Command, name: &'static str, keys: &'static [Key], help: &'static str) -> CommandEntry {
    entry(command, name, keys, HelpGroup::Clients, help).on(&[Screen::Contend])
}

/// Every command, in the order of the footer and of Help.
pub const COMMANDS: &[CommandEntry] = &[
    entry(Command::Up, "up", &[Key::Up, Key::Char('k')], HelpGroup::Move, "One row up"),
    entry(Command::Down, "down", &[Key::Down, Key::Char('j')], HelpGroup::Move, "One row down"),
    entry(Command::PageUp, "page-up", &[Key::PageUp, Key::Ctrl('b')], HelpGroup::Move, "One page up"),
    entry(Command::PageDown, "page-down", &[Key::PageDown, Key::Ctrl('f')], HelpGroup::Move, "One page down"),
    entry(Command::First, "first", &[Key::Home, Key::Char('g')], HelpGroup::Move, "To the first row, and stay with it"),
    entry(Command::Last, "last", &[Key::End, Key::Char('G')], HelpGroup::Move, "To the last row, and stay with it"),
    entry(Command::Left, "left", &[Key::Left, Key::Char('h')], HelpGroup::Move, "To the pane on the left, or back"),
    entry(
        Command::Right,
        "right",
        &[Key::Right, Key::Char('l')],
        HelpGroup::Move,
        "To the pane on the right, or inside",
    ),
    entry(Command::Open, "open", &[Key::Enter], HelpGroup::Go, "Open the lock, or a contender's details")
        .hint("open")
        .on(LISTS),
    entry(Command::Back, "back", &[Key::Esc], HelpGroup::Go, "Clear tags, then the filter; else go back")
        .hint("back")
        .on(&[
            Screen::Queue,
            Screen::Sessions,
            Screen::Waits,
            Screen::Servers,
            Screen::Contend,
            Screen::Timeline,
            Screen::Audit,
            Screen::Help,
            Screen::Unreadable,
            Screen::Locks,
        ]),
    entry(Command::NextPane, "pane", &[Key::Tab, Key::BackTab], HelpGroup::Go, "To the other pane, or the other side")
        .hint("details")
        .on(&[Screen::Queue, Screen::Contend, Screen::Audit]),
    entry(Command::Locks, "locks", &[Key::Char('1')], HelpGroup::Go, "All locks"),
    entry(Command::Queue, "queue", &[Key::Char('2')], HelpGroup::Go, "The queue of the selected lock"),
    entry(Command::Sessions, "sessions", &[Key::Char('3')], HelpGroup::Go, "Who holds and who waits, by session"),
    entry(Command::Waits, "waits", &[Key::Char('4')], HelpGroup::Go, "Who waits for whom, across locks"),
    entry(Command::Contend, "contend", &[Key::Char('5')], HelpGroup::Go, "Test clients: a herd beside a chain"),
    entry(Command::Timeline, "timeline", &[Key::Char('6')], HelpGroup::Go, "What happened, newest last"),
    entry(Command::Audit, "audit", &[Key::Char('7')], HelpGroup::Go, "What was deleted, by whom, and why"),
    entry(Command::Lock, "lock", &[], HelpGroup::Go, "Open the lock with that path").takes("PATH"),
    entry(Command::Servers, "servers", &[Key::Char('v')], HelpGroup::Go, "What each server tells of itself"),
    entry(Command::Unreadable, "unreadable", &[Key::Char('u')], HelpGroup::Go, "Where the server does not let us look"),
    entry(Command::Delete, "delete", &[Key::Char('x')], HelpGroup::Change, "Show the plan to delete it, and ask")
        .hint("delete")
        .on(&[Screen::Locks, Screen::Queue]),
    entry(Command::Tag, "tag", &[Key::Char(' ')], HelpGroup::Change, "Tag a contender: x takes all tagged ones")
        .hint("tag")
        .on(&[Screen::Queue]),
    entry(Command::Filter, "filter", &[Key::Char('/')], HelpGroup::FilterAndSort, "Only rows that contain a text")
        .takes("[TEXT]")
        .hint("filter")
        .on(FILTERED),
    entry(
        Command::Sort,
        "sort",
        &[Key::Char('s')],
        HelpGroup::FilterAndSort,
        "Sort by the next column, or a named one",
    )
    .takes("[COLUMN]")
    .hint("sort")
    .on(SORTED),
    entry(Command::Reverse, "reverse", &[Key::Char('S')], HelpGroup::FilterAndSort, "Turn the order around").on(SORTED),
    entry(Command::Pause, "pause", &[Key::Char('p')], HelpGroup::FilterAndSort, "Freeze what is shown, or go on")
        .hint("pause"),
    entry(Command::Times, "times", &[Key::Char('t')], HelpGroup::FilterAndSort, "Times in UTC, or in local time"),
    entry(Command::Copy, "copy", &[Key::Char('y')], HelpGroup::CopyAndExport, "Copy the path (or session) selected")
        .hint("copy")
        .on(COPIED),
    entry(
        Command::Export,
        "export",
        &[Key::Char('e')],
        HelpGroup::CopyAndExport,
        "Write what is shown to a JSON file here",
    )
    .hint("export")
    .on(TAKEN),
    entry(Command::Start, "start", &[Key::Char('c')], HelpGroup::Clients, "A herd beside a chain; Queue: join it")
        .takes("[N HOLD]")
        .hint("contend")
        .on(&[Screen::Locks, Screen::Queue, Screen::Contend]),
    control(Command::Crash, "crash", &[Key::Char('K')], "Kill the process: its session lives on")
        .takes(CLIENT)
        .hint("crash"),
    control(Command::Freeze, "freeze", &[Key::Char('z')], "Stop the process, or let it go on")
        .takes(CLIENT)
        .hint("freeze"),
    control(Command::Cut, "cut", &[Key::Char('-')], "Cut the link to the servers").takes(CLIENT).hint("cut"),
    control(Command::Heal, "heal", &[Key::Char('+')], "Make the link whole again").takes(CLIENT).hint("heal"),
    control(Command::Delay, "delay", &[Key::Char('d')], "Delay the link: 50 ms, 250 ms, no more")
        .takes("[WHO TIME]")
        .hint("delay"),
    control(Command::Stop, "stop", &[Key::Char('X')], "Stop all test clients").hint("stop"),
    control(Command::Join, "join", &[Key::Char('a')], "One client more, or so many").takes("[N]").hint("add"),
    control(Command::Leave, "remove", &[Key::Char('r')], "Release or give up, and leave").takes(CLIENT).hint("remove"),
    control(Command::Holder, "holder", &[Key::Char('H')], "Select whoever holds the lock").hint("holder"),
    entry(Command::TourNext, "next", &[Key::Char('n')], HelpGroup::Tour, "The next step (Space too)"),
    entry(Command::TourBack, "previous", &[Key::Char('b')], HelpGroup::Tour, "The step before, or the scene anew"),
    entry(Command::TourPlay, "play", &[Key::Char('P')], HelpGroup::Tour, "Step on by itself, or not any more"),
    entry(Command::CommandLine, "command", &[Key::Char(':')], HelpGroup::Program, "Type a command by its name"),
    entry(Command::Redraw, "redraw", &[Key::Ctrl('l')], HelpGroup::Program, "Draw everything anew"),
    entry(Command::Suspend, "suspend", &[Key::Ctrl('z')], HelpGroup::Program, "Stop until the shell continues it"),
    entry(Command::Help, "help", &[Key::Char('?')], HelpGroup::Program, "This page").hint("help"),
    entry(Command::Quit, "quit", &[Key::Char('q'), Key::Ctrl('c')], HelpGroup::Program, "End the program").hint("quit"),
];

/// What this key does where it does nothing else: it is the largest one, and a presenter looks at the room.
const SPARE_KEY: (Key, Command) = (Key::Char(' '), Command::TourNext);

/// The command of a key on a screen.
pub fn command(key: Key, screen: Screen) -> Option<Command> {
    let bound = COMMANDS.iter().find(|entry| entry.is_on(screen) && entry.keys.contains(&key));
    bound.map(|entry| entry.command).or((key == SPARE_KEY.0).then_some(SPARE_KEY.1))
}

/// The entry with that name, or the only one whose name begins so. A single letter means what its key means.
pub fn named(name: &str) -> Result<&'static CommandEntry, NoSuchCommand> {
    if let (Some(letter), None) = (name.chars().next(), name.chars().nth(1))
        && let Some(entry) = COMMANDS.iter().find(|entry| entry.keys.contains(&Key::Char(letter)))
    {
        return Ok(entry);
    }
    if let Some(entry) = COMMANDS.iter().find(|entry| entry.name == name) {
        return Ok(entry);
    }
    let mut begins = COMMANDS.iter().filter(|entry| !name.is_empty() && entry.name.starts_with(name));
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
        for screen in Screen::ALL {
            let mut bound = Vec::new();
            for entry in COMMANDS.iter().filter(|entry| entry.is_on(screen)) {
                for key in entry.keys {
                    assert!(!bound.contains(key), "{key:?} is bound twice on {screen:?}");
                    bound.push(*key);
                }
            }
        }
    }

    #[test]
    fn every_command_has_a_name_of_its_own_a_heading_and_a_sentence() {
        for (at, entry) in COMMANDS.iter().enumerate() {
            assert!(entry.help.len() > 5 && !entry.help.ends_with('.'), "{:?}", entry.command);
            assert!(HelpGroup::ALL.contains(&entry.group));
            assert!(COMMANDS[..at].iter().all(|other| other.name != entry.name && other.command != entry.command));
            assert!(!entry.keys.is_empty() || entry.argument.is_some(), "{:?} cannot be reached", entry.command);
        }
    }

    #[test]
    fn help_and_quit_are_within_reach_everywhere() {
        for screen in Screen::ALL {
            assert_eq!(command(Key::Char('?'), screen), Some(Command::Help));
            assert_eq!(command(Key::Char('q'), screen), Some(Command::Quit));
            assert_eq!(command(Key::Ctrl('c'), screen), Some(Command::Quit));
            assert_eq!(command(Key::Esc, screen), Some(Command::Back));
        }
    }

    #[test]
    fn a_name_may_be_shortened_as_long_as_it_is_clear() {
        assert_eq!(named("q").unwrap().command, Command::Quit, "as the key");
        assert_eq!(named("pa").unwrap_err(), NoSuchCommand::Ambiguous("pa".into(), "page-up", "page-down"));
        assert_eq!(named("qui").unwrap().command, Command::Quit);
        assert_eq!(named("lock").unwrap().command, Command::Lock, "an exact name wins over `locks`");
        assert!(matches!(named(""), Err(NoSuchCommand::Unknown(_))));
    }
}
