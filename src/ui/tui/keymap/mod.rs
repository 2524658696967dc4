//! The table of all keys and commands. The keys, the footer, Help and the command line follow it.
//! Pure.
//!
//! A [`Command`] is one value for each thing that the user can do. A [`CommandEntry`] is its row:
//! its name, its argument on the command line, its default keys and its line in Help. The commands
//! that lead to a screen have a list of their own.
//!
//! Architecture invariant: no other place in the crate says which key does what. A sentence takes
//! the name of a key from [`Bindings`] or from a [`FixedKey`].

mod bindings;
#[doc(hidden)]
pub mod key;

use crate::tui::screen::Screen;
use key::Key;

pub use bindings::{Bindings, habit};
pub use key::FixedKey;

/// A command of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Up,
    Down,
    /// Goes left: to the list, then to the previous screen.
    Left,
    /// Goes right: into the selected row.
    Right,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    /// Goes to the first row and stays with it.
    First,
    /// Goes to the last row and stays with it.
    Last,
    Open,
    /// Clears the filter, if there is one, else goes back.
    Back,
    NextPane,
    /// Shows a screen. A second press leaves a screen that only explains.
    Go(Screen),
    Lock,
    Filter,
    /// Looks for a text in the locks and contenders of all ensembles.
    Find,
    /// Looks for nodes below the open one of the tree.
    FindNode,
    /// Goes to the next row or line that matches the search.
    NextMatch,
    PreviousMatch,
    Sort,
    /// Chooses the second column to sort by.
    ThenBy,
    Reverse,
    /// Mutes findings.
    Mute,
    Unmute,
    /// Begins or ends the maintenance of the servers.
    Maintenance,
    Pause,
    Times,
    Copy,
    Export,
    Delete,
    /// In the plan of a deletion: from deleting to asking the owner to release, and back.
    AskOwner,
    Tag,
    TagRange,
    Start,
    Stop,
    Holder,
    Join,
    Leave,
    Crash,
    Freeze,
    Cut,
    Heal,
    Delay,
    /// Shows the queue as a picture or as a list.
    Picture,
    /// Draws the picture for viewers at a distance.
    Large,
    Slower,
    Faster,
    StopOrGo,
    /// Lets one client of each fleet take a step.
    PlayStep,
    TourNext,
    TourBack,
    TourNextScene,
    TourPreviousScene,
    /// Goes to the scene with a number.
    TourScene,
    TourPlay,
    /// Goes to the next event of a recording.
    NextEvent,
    PreviousEvent,
    NextMinute,
    PreviousMinute,
    NextFinding,
    PreviousFinding,
    PlayFaster,
    PlaySlower,
    /// Goes to a time in a recording.
    GoToTime,
    /// Takes the past in from transaction logs.
    Import,
    /// Returns from the past to the live state.
    ReturnToLive,
    /// Goes to another ensemble.
    Context,
    Prompt,
    Redraw,
    Suspend,
    Quit,
}

impl Command {
    /// Returns whether the command is useful only while test clients run.
    pub fn is_for_fleets(self) -> bool {
        matches!(
            self,
            Self::Stop
                | Self::Holder
                | Self::Join
                | Self::Leave
                | Self::Crash
                | Self::Freeze
                | Self::Cut
                | Self::Heal
                | Self::Delay
        ) || self.is_of_slow_motion()
    }

    /// Returns whether the command controls the speed of test clients.
    pub fn is_of_slow_motion(self) -> bool {
        matches!(self, Self::Slower | Self::Faster | Self::StopOrGo | Self::PlayStep)
    }

    /// Returns whether a tour command with the same key takes precedence.
    pub fn yields_to_tour(self) -> bool {
        self == Self::StopOrGo
    }

    /// Returns whether the command is useful only in a recording.
    pub fn is_of_replay(self) -> bool {
        self.travels() || matches!(self, Self::PlayFaster | Self::PlaySlower | Self::ReturnToLive)
    }

    /// Returns whether the command controls how fast a recording plays: outside of a recording its
    /// keys mean something else.
    pub fn is_of_playing(self) -> bool {
        matches!(self, Self::PlayFaster | Self::PlaySlower)
    }

    /// Returns whether the command goes to another time in a recording.
    pub fn travels(self) -> bool {
        matches!(
            self,
            Self::NextEvent
                | Self::PreviousEvent
                | Self::NextMinute
                | Self::PreviousMinute
                | Self::NextFinding
                | Self::PreviousFinding
                | Self::GoToTime
        )
    }

    /// Whether it only answers the plan of a deletion.
    pub fn is_of_plan(self) -> bool {
        self == Self::AskOwner
    }

    /// Whether it changes the ensemble, or what test clients do.
    pub fn changes_ensemble(self) -> bool {
        matches!(self, Self::Delete | Self::Tag | Self::TagRange | Self::Start) || self.is_for_fleets()
    }

    /// Whether it notes something about findings.
    pub fn notes(self) -> bool {
        matches!(self, Self::Mute | Self::Unmute | Self::Maintenance)
    }

    /// Returns whether the command is useful only during the tour.
    pub fn is_of_tour(self) -> bool {
        matches!(
            self,
            Self::TourNext
                | Self::TourBack
                | Self::TourNextScene
                | Self::TourPreviousScene
                | Self::TourScene
                | Self::TourPlay
        )
    }
}

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
    /// A sentence without a full stop. `{quit}` stands for the key of the command `quit`.
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

/// The argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The argument as Help shows it: in brackets when it is optional.
    pub shown: &'static str,
    pub kind: ArgumentKind,
}

/// The completions that are offered while the argument is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Free text, without completions.
    Text,
    /// A time, or the word for the beginning of the past.
    Moment,
    /// Columns of the list, each optionally preceded by `-`.
    Columns,
    /// The path of a lock.
    Lock,
    /// The path of any node.
    Node,
    Session,
    /// A test client.
    Client,
    /// A scene of the tour.
    Scene,
    /// A context of the config file.
    Context,
}

const fn go(screen: Screen, name: &'static str, keys: &'static [Key], help: &'static str) -> CommandEntry {
    entry(Command::Go(screen), name, keys, help)
}

/// One command for each screen, in the order of the tabs and of Help.
pub const SCREEN_COMMANDS: &[CommandEntry] = &[
    go(Screen::Ensembles, "ensembles", &[Key::Char('0')], "All ensembles, the worst first").also(&["contexts"]),
    go(Screen::Locks, "locks", &[Key::Char('1')], "All locks").also(&["lk", "ls"]),
    go(Screen::Queue, "queue", &[Key::Char('2')], "The queue of the selected lock").also(&["contenders"]),
    go(Screen::Sessions, "sessions", &[Key::Char('3')], "Holders and waiters, by session"),
    go(Screen::Session, "session", &[Key::Char('o')], "All about the session that owns the row")
        .takes("[ID]", ArgumentKind::Session)
        .hint("session"),
    go(Screen::Waits, "waits", &[Key::Char('4')], "Waits between sessions, across locks").also(&["graph"]),
    go(Screen::Contend, "contend", &[Key::Char('5')], "Test clients: a herd beside a chain"),
    go(Screen::Timeline, "timeline", &[Key::Char('6')], "What happened, newest last").also(&["events"]),
    go(Screen::Audit, "audit", &[Key::Char('7')], "What was deleted, by whom, and why").also(&["log"]),
    go(Screen::Tree, "tree", &[Key::Char('8')], "The nodes below a path; there: read anew")
        .takes("[PATH]", ArgumentKind::Node)
        .also(&["browse"]),
    go(Screen::Node, "node", &[Key::Char('d')], "The node as it is: stat, ACL, data")
        .takes("[PATH]", ArgumentKind::Node)
        .also(&["describe", "yaml", "stat"])
        .hint("node"),
    go(Screen::History, "history", &[Key::Char('i')], "What happened to the selected lock").hint("history"),
    go(Screen::Comparison, "comparison", &[Key::Char('C')], "Herds and chains of growing size"),
    go(Screen::Servers, "servers", &[Key::Char('v')], "What each server reports about itself").also(&["members"]),
    go(Screen::Unreadable, "unreadable", &[Key::Char('u')], "Nodes that the server refuses to show"),
    go(Screen::Output, "output", &[Key::Char('!')], "The output of your last command"),
    go(Screen::Help, "help", &[Key::Char('?'), Key::F(1), Key::Ctrl('a')], "This page")
        .also(&["h", "man", "keys"])
        .hint("help"),
];

/// Which client the command line may name: its number, or `holder`.
const CLIENT: &str = "[WHO]";

/// Every command under its heading, in the order of Help.
pub fn command_groups() -> impl Iterator<Item = HelpGroup> {
    [HelpGroup { title: "Screens", commands: SCREEN_COMMANDS }].into_iter().chain(GROUPS.iter().copied())
}

/// The entry of a command.
pub fn entry_of(command: Command) -> &'static CommandEntry {
    commands().find(|entry| entry.command == command).expect("every command stands in the table")
}

/// Every command, in the order of the footer.
pub fn commands() -> impl Iterator<Item = &'static CommandEntry> {
    command_groups().flat_map(|group| group.commands)
}

/// Every command but those that lead to a screen, in the order of the footer and of Help.
const GROUPS: &[HelpGroup] = &[
    HelpGroup {
        title: "Move and open",
        commands: &[
            entry(Command::Up, "up", &[Key::Up, Key::Char('k')], "One row up"),
            entry(Command::Down, "down", &[Key::Down, Key::Char('j')], "One row down"),
            entry(Command::PageUp, "page-up", &[Key::PageUp, Key::Ctrl('b'), Key::Char(',')], "One page up")
                .pages(&[Key::Char('b')]),
            entry(Command::PageDown, "page-down", &[Key::PageDown, Key::Ctrl('f'), Key::Char('.')], "One page down")
                .pages(&[Key::Char(' '), Key::Char('f')]),
            entry(Command::HalfPageUp, "half-page-up", &[Key::Ctrl('u')], "Half a page up").pages(&[Key::Char('u')]),
            entry(Command::HalfPageDown, "half-page-down", &[Key::Ctrl('d')], "Half a page down")
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
            entry(
                Command::AskOwner,
                "ask-owner",
                &[Key::Char('r'), Key::Ctrl('r')],
                "In the plan: ask the owner to release",
            ),
            entry(Command::Tag, "tag", &[Key::Char(' ')], "Tag a contender, or those with the words")
                .takes("[WORDS]", ArgumentKind::Text)
                .hint("tag"),
            entry(Command::TagRange, "range", &[Key::Char('V')], "Begin a range, which {tag} tags"),
        ],
    },
    HelpGroup {
        title: "Mute findings",
        commands: &[
            entry(Command::Mute, "mute", &[Key::Char('a')], "Do not count its findings for a time")
                .takes("[TIME NOTE]", ArgumentKind::Text)
                .also(&["acknowledge", "ack"]),
            entry(Command::Unmute, "unmute", &[Key::Ctrl('t')], "Let its findings count again"),
            entry(Command::Maintenance, "maintenance", &[], "Expect servers to restart, or `off`")
                .takes("[TIME]", ArgumentKind::Text),
        ],
    },
    HelpGroup {
        title: "Filter and sort",
        commands: &[
            entry(Command::Filter, "filter", &[Key::Char('/')], "Rows with all words; !without; /pattern/")
                .takes("[TEXT]", ArgumentKind::Text)
                .also(&["search", "grep"])
                .hint("filter"),
            entry(Command::Find, "find", &[], "Look for it in all ensembles").takes("TEXT", ArgumentKind::Text),
            entry(Command::FindNode, "find-node", &[], "In Tree: find names and data below it")
                .takes("TEXT", ArgumentKind::Text),
            entry(Command::NextMatch, "next-match", &[Key::Char('n')], "To the next match"),
            entry(Command::PreviousMatch, "previous-match", &[Key::Char('N')], "To the previous match"),
            entry(Command::Sort, "sort", &[Key::Char('s')], "Sort by the next column, or by one or two")
                .takes("[COLUMNS]", ArgumentKind::Columns)
                .hint("sort"),
            entry(Command::ThenBy, "then-by", &[Key::Char('S')], "Sort equal rows by the next column")
                .takes("[COLUMN]", ArgumentKind::Columns),
            entry(Command::Reverse, "reverse", &[Key::Char('R')], "Reverse the order"),
            entry(Command::Pause, "pause", &[Key::Char('p')], "Freeze the screen, or resume it").hint("pause"),
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
            entry(Command::Picture, "picture", &[Key::Char('w')], "Picture or list; in Locks a graph").hint("picture"),
            entry(Command::Slower, "slower", &[Key::Char(',')], "Slow the test clients, down to steps").hint("slower"),
            entry(Command::Faster, "faster", &[Key::Char('.')], "Speed up the test clients, to full speed")
                .hint("faster"),
            entry(Command::StopOrGo, "stop-or-go", &[Key::Char(' '), Key::Char('s')], "Pause or resume test clients")
                .hint("stop"),
            entry(Command::PlayStep, "step", &[Key::Right], "One step ({pane} goes to the other side)").hint("step"),
            entry(Command::Large, "large", &[Key::Char('L')], "Enlarge the picture, for a projector"),
        ],
    },
    HelpGroup {
        title: "Test clients",
        commands: &[
            entry(Command::Start, "start", &[Key::Char('c')], "Start a herd and a chain; Queue: join it")
                .takes("[N HOLD]", ArgumentKind::Text)
                .hint("contend"),
            entry(Command::Crash, "crash", &[Key::Char('K')], "Kill the process: its session lives on")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("crash"),
            entry(Command::Freeze, "freeze", &[Key::Char('z')], "Stop the process, or let it continue")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("freeze"),
            entry(Command::Cut, "cut", &[Key::Char('-')], "Cut the link to the servers")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("cut"),
            entry(Command::Heal, "heal", &[Key::Char('+')], "Restore the link")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("heal"),
            entry(Command::Delay, "delay", &[Key::Char('d')], "Delay the link: 50 ms, 250 ms, no delay")
                .takes("[WHO TIME]", ArgumentKind::Client)
                .hint("delay"),
            entry(Command::Stop, "stop", &[Key::Char('X')], "Stop all test clients").hint("stop"),
            entry(Command::Join, "join", &[Key::Char('a')], "Add one client, or that many")
                .takes("[N]", ArgumentKind::Text)
                .hint("add"),
            entry(Command::Leave, "remove", &[Key::Char('r')], "Release or give up, and leave")
                .takes(CLIENT, ArgumentKind::Client)
                .hint("remove"),
            entry(Command::Holder, "holder", &[Key::Char('H')], "Select the client that holds the lock").hint("holder"),
        ],
    },
    HelpGroup {
        title: "The past (live, and in lockscope replay)",
        commands: &[
            entry(Command::NextEvent, "next-event", &[Key::Char(']')], "The next event; in Queue, of that lock")
                .hint("event"),
            entry(Command::PreviousEvent, "previous-event", &[Key::Char('[')], "The previous event").hint("back"),
            entry(Command::NextMinute, "minute-on", &[Key::Char('}')], "A minute later").hint("minute"),
            entry(Command::PreviousMinute, "minute-back", &[Key::Char('{')], "A minute earlier"),
            entry(Command::NextFinding, "next-finding", &[Key::Char(')')], "The next finding").hint("finding"),
            entry(Command::PreviousFinding, "previous-finding", &[Key::Char('(')], "The previous finding"),
            entry(Command::PlayFaster, "play-faster", &[Key::Char('>')], "Play it faster ({play} plays and stops)"),
            entry(Command::PlaySlower, "play-slower", &[Key::Char('<')], "Play it slower"),
            entry(Command::GoToTime, "at", &[], "To that time, or to the start").takes("TIME", ArgumentKind::Moment),
            entry(Command::Import, "import", &[], "Take in the past from a server's logs")
                .takes("[FOLDER]", ArgumentKind::Text),
            entry(Command::ReturnToLive, "live", &[Key::Char('F')], "Back to live, or to the end").hint("live"),
        ],
    },
    HelpGroup {
        title: "Tour (lockscope demo)",
        commands: &[
            entry(Command::TourNext, "next", &[Key::Char('n')], "The next step ({spare key} too)"),
            entry(Command::TourBack, "previous", &[Key::Char('b')], "The previous step, or restart the scene"),
            entry(Command::TourNextScene, "next-scene", &[Key::Char('N')], "The next scene"),
            entry(Command::TourPreviousScene, "previous-scene", &[Key::Char('B')], "The previous scene"),
            entry(Command::TourScene, "scene", &[], "The scene with that number").takes("N", ArgumentKind::Scene),
            entry(Command::TourPlay, "play", &[Key::Char('P')], "Start or stop the automatic steps"),
        ],
    },
    HelpGroup {
        title: "Program",
        commands: &[
            entry(Command::Context, "context", &[], "Switch to that context's ensemble")
                .takes("[NAME]", ArgumentKind::Context),
            entry(Command::Prompt, "command", &[Key::Char(':')], "Type a command by its name"),
            entry(Command::Redraw, "redraw", &[Key::Ctrl('l')], "Redraw the screen"),
            entry(Command::Suspend, "suspend", &[Key::Ctrl('z')], "Suspend until the shell resumes it"),
            entry(Command::Quit, "quit", &[Key::Char('q'), Key::Ctrl('c')], "End the program")
                .also(&["q!", "qa", "qa!", "exit"])
                .hint("quit"),
        ],
    },
];
