//! The table of commands.

use super::entry::entry;
use super::screens::SCREEN_COMMANDS;
use super::{ArgumentKind, Command, CommandEntry, HelpGroup};
use crate::tui::key::Key;

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
            entry(Command::Tag, "tag", &[Key::Char(' ')], "Tag a contender: {delete} takes all tagged ones")
                .hint("tag"),
        ],
    },
    HelpGroup {
        title: "Filter and sort",
        commands: &[
            entry(Command::Filter, "filter", &[Key::Char('/')], "Rows with all words; !without; /pattern/")
                .takes("[TEXT]", ArgumentKind::Text)
                .also(&["search", "grep"])
                .hint("filter"),
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
