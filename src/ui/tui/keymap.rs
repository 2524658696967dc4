//! The table of all keys and commands. The keys, the footer, Help and the command line follow it.
//! Pure.
//!
//! Architecture invariant: no other place in the crate says which key does what, except for the
//! table of screens (`app::screens`), which has the keys that lead to screens.

mod argument;
mod bindings;
mod command;
mod habits;

pub use argument::{Argument, ArgumentKind};
pub use bindings::Bindings;
pub use command::Command;
pub use habits::habit;

use super::key::Key;
use super::screen::Screen;

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
    /// A sentence without a full stop.
    pub help: &'static str,
}

const fn entry(command: Command, name: &'static str, keys: &'static [Key], help: &'static str) -> CommandEntry {
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

/// Returns the entry of a command that leads to a screen.
pub const fn go(screen: Screen, name: &'static str, keys: &'static [Key], help: &'static str) -> CommandEntry {
    entry(Command::Go(screen), name, keys, help)
}

/// The argument that names a client: its number, or `holder`.
const CLIENT: &str = "[WHO]";

/// Every command except those that lead to a screen, in the order of the footer and of Help.
pub const GROUPS: &[HelpGroup] = &[
    HelpGroup {
        title: "Move and open",
        commands: &[
            entry(Command::Up, "up", &[Key::Up, Key::Char('k')], "One row up"),
            entry(Command::Down, "down", &[Key::Down, Key::Char('j')], "One row down"),
            entry(
                Command::PageUp,
                "page-up",
                &[Key::PageUp, Key::Ctrl('b'), Key::Char(',')],
                "One page up; b in a text",
            )
            .pages(&[Key::Char('b')]),
            entry(
                Command::PageDown,
                "page-down",
                &[Key::PageDown, Key::Ctrl('f'), Key::Char('.')],
                "One page down; Space or f in a text",
            )
            .pages(&[Key::Char(' '), Key::Char('f')]),
            entry(Command::HalfPageUp, "half-page-up", &[Key::Ctrl('u')], "Half a page up; u in a text")
                .pages(&[Key::Char('u')]),
            entry(Command::HalfPageDown, "half-page-down", &[Key::Ctrl('d')], "Half a page down; d in a text")
                .pages(&[Key::Char('d')]),
            entry(
                Command::First,
                "first",
                &[Key::Home, Key::Char('g'), Key::Char('<')],
                "To the first row, and stay with it",
            ),
            entry(
                Command::Last,
                "last",
                &[Key::End, Key::Char('G'), Key::Char('>')],
                "To the last row, and stay with it",
            ),
            entry(Command::Left, "left", &[Key::Left, Key::Char('h')], "To the pane on the left, or back"),
            entry(Command::Right, "right", &[Key::Right, Key::Char('l')], "To the pane on the right, or inside"),
            entry(Command::Open, "open", &[Key::Enter], "Open the lock, or a contender's details").hint("open"),
            entry(Command::Back, "back", &[Key::Esc], "Clear tags, then the filter; else go back").hint("back"),
            entry(Command::NextPane, "pane", &[Key::Tab, Key::BackTab], "To the other pane, or the other side")
                .hint("details"),
            entry(Command::Lock, "lock", &[], "Open the lock with that path")
                .takes("PATH", ArgumentKind::Lock)
                .also(&["edit"]),
        ],
    },
    HelpGroup {
        title: "Delete (with --write)",
        commands: &[
            entry(Command::Delete, "delete", &[Key::Char('x')], "Show the plan to delete it, and ask")
                .also(&["rm", "kill"])
                .hint("delete"),
            entry(Command::Tag, "tag", &[Key::Char(' ')], "Tag a contender: x takes all tagged ones").hint("tag"),
        ],
    },
    HelpGroup {
        title: "Filter and sort",
        commands: &[
            entry(Command::Filter, "filter", &[Key::Char('/')], "Rows with all words; !without; /pattern/")
                .takes("[TEXT]", ArgumentKind::Text)
                .also(&["search", "grep"])
                .hint("filter"),
            entry(Command::NextMatch, "next-match", &[Key::Char('n')], "To the next place that matches"),
            entry(Command::PreviousMatch, "previous-match", &[Key::Char('N')], "To the match before"),
            entry(Command::Sort, "sort", &[Key::Char('s')], "By the next column, or by one and another")
                .takes("[COLUMNS]", ArgumentKind::Columns)
                .hint("sort"),
            entry(Command::ThenBy, "then-by", &[Key::Char('S')], "What is equal: by the next column")
                .takes("[COLUMN]", ArgumentKind::Columns),
            entry(Command::Reverse, "reverse", &[Key::Char('R')], "Turn the order around"),
            entry(Command::Pause, "pause", &[Key::Char('p')], "Freeze what is shown, or go on").hint("pause"),
            entry(Command::Times, "times", &[Key::Char('t')], "Times in UTC, or in local time"),
        ],
    },
    HelpGroup {
        title: "Copy and export",
        commands: &[
            entry(Command::Copy, "copy", &[Key::Char('y')], "Copy the path (or session) selected")
                .also(&["yank"])
                .hint("copy"),
            entry(Command::Export, "export", &[Key::Char('e')], "Write what is shown to a JSON file here")
                .also(&["write", "save"])
                .hint("export"),
        ],
    },
    HelpGroup {
        title: "Who wakes whom",
        commands: &[
            entry(Command::Picture, "picture", &[Key::Char('w')], "As a picture or list; in Locks a graph")
                .hint("picture"),
            entry(Command::Slower, "slower", &[Key::Char(',')], "Test clients go slower: step by step").hint("slower"),
            entry(Command::Faster, "faster", &[Key::Char('.')], "Test clients go faster, up to full speed")
                .hint("faster"),
            entry(Command::StopOrGo, "stop-or-go", &[Key::Char(' '), Key::Char('s')], "Test clients stop, or go on")
                .hint("stop"),
            entry(Command::PlayStep, "step", &[Key::Right], "One step (l goes to the other side)").hint("step"),
            entry(Command::Large, "large", &[Key::Char('L')], "The picture large, for a projector"),
        ],
    },
    HelpGroup {
        title: "Test clients",
        commands: &[
            entry(Command::Start, "start", &[Key::Char('c')], "A herd beside a chain; Queue: join it")
                .takes("[N HOLD]", ArgumentKind::Text)
                .hint("contend"),
            entry(Command::Crash, "crash", &[Key::Char('K')], "Kill the process: its session lives on")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("crash"),
            entry(Command::Freeze, "freeze", &[Key::Char('z')], "Stop the process, or let it go on")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("freeze"),
            entry(Command::Cut, "cut", &[Key::Char('-')], "Cut the link to the servers")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("cut"),
            entry(Command::Heal, "heal", &[Key::Char('+')], "Make the link whole again")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("heal"),
            entry(Command::Delay, "delay", &[Key::Char('d')], "Delay the link: 50 ms, 250 ms, no more")
                .takes("[WHO TIME]", ArgumentKind::Client)
                .hint("delay"),
            entry(Command::Stop, "stop", &[Key::Char('X')], "Stop all test clients").hint("stop"),
            entry(Command::Join, "join", &[Key::Char('a')], "One client more, or so many")
                .takes("[N]", ArgumentKind::Text)
                .hint("add"),
            entry(Command::Leave, "remove", &[Key::Char('r')], "Release or give up, and leave")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("remove"),
            entry(Command::Holder, "holder", &[Key::Char('H')], "Select whoever holds the lock").hint("holder"),
        ],
    },
    HelpGroup {
        title: "The past (live, and in lockscope replay)",
        commands: &[
            entry(Command::NextEvent, "next-event", &[Key::Char(']')], "The next event; in Queue, of that lock")
                .hint("event"),
            entry(Command::PreviousEvent, "previous-event", &[Key::Char('[')], "The event before").hint("back"),
            entry(Command::NextMinute, "minute-on", &[Key::Char('}')], "A minute later").hint("minute"),
            entry(Command::PreviousMinute, "minute-back", &[Key::Char('{')], "A minute earlier"),
            entry(Command::NextFinding, "next-finding", &[Key::Char(')')], "The next finding").hint("finding"),
            entry(Command::PreviousFinding, "previous-finding", &[Key::Char('(')], "The finding before"),
            entry(Command::PlayFaster, "play-faster", &[Key::Char('>')], "Play it faster (P plays and stops)"),
            entry(Command::PlaySlower, "play-slower", &[Key::Char('<')], "Play it slower"),
            entry(Command::GoToTime, "at", &[], "To that time, or to the start").takes("TIME", ArgumentKind::Moment),
            entry(Command::ReturnToLive, "live", &[Key::Char('F')], "Back to what is live, or to the end").hint("live"),
        ],
    },
    HelpGroup {
        title: "Tour (lockscope demo)",
        commands: &[
            entry(Command::TourNext, "next", &[Key::Char('n')], "The next step (Space too)"),
            entry(Command::TourBack, "previous", &[Key::Char('b')], "The step before, or the scene anew"),
            entry(Command::TourNextScene, "next-scene", &[Key::Char('N')], "The next scene"),
            entry(Command::TourPreviousScene, "previous-scene", &[Key::Char('B')], "The scene before"),
            entry(Command::TourScene, "scene", &[], "The scene with that number").takes("N", ArgumentKind::Scene),
            entry(Command::TourPlay, "play", &[Key::Char('P')], "Step on by itself, or not any more"),
        ],
    },
    HelpGroup {
        title: "Program",
        commands: &[
            entry(Command::Context, "context", &[], "To the ensemble of that context")
                .takes("[NAME]", ArgumentKind::Context),
            entry(Command::Prompt, "command", &[Key::Char(':')], "Type a command by its name"),
            entry(Command::Redraw, "redraw", &[Key::Ctrl('l')], "Draw everything anew"),
            entry(Command::Suspend, "suspend", &[Key::Ctrl('z')], "Stop until the shell continues it"),
            entry(Command::Quit, "quit", &[Key::Char('q'), Key::Ctrl('c')], "End the program")
                .also(&["q!", "qa", "qa!", "exit"])
                .hint("quit"),
        ],
    },
];

/// Shows the next step of the tour where the key does nothing else: it is the largest key, and a
/// presenter looks at the audience. In a recording it plays and stops; elsewhere it pages.
pub const SPARE_KEY: Key = Key::Char(' ');
