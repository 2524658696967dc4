//! The one table of screens: what each shows, which key leads to it, and which commands work on it.

use super::list::List;
use super::lists::{AuditEntries, Clients, History, Locks, Queue, SessionPlaces, Sessions, TimelineList, Waits};
use super::{App, Area};
use crate::tui::key::Key;
use crate::tui::keymap::{ArgumentKind, Command, CommandEntry, go};
use crate::tui::page::Page;
use crate::tui::screen::{Pane, Screen};

/// Writes a text page for a box.
pub type WritePage = fn(&App, Area) -> Page;

/// What fills most of a screen.
#[derive(Clone, Copy)]
pub enum Content {
    List(&'static dyn List<App>),
    Text(WritePage),
    /// Something that the keys do not move in.
    Picture,
}

pub struct ScreenEntry {
    pub screen: Screen,
    /// Its name, for people and for file names.
    pub title: &'static str,
    /// Its name on the command line, its key, and its line in Help.
    pub go: CommandEntry,
    /// Whether the line of tabs has it.
    pub has_tab: bool,
    /// Whether it shows who watches what, which the servers are asked only then.
    pub shows_watchers: bool,
    pub content: Content,
    /// The text pages below its list, from left to right.
    pub panes: &'static [(Pane, WritePage)],
    /// What works here and not everywhere: a command that no row names works on every screen.
    pub commands: &'static [Command],
}

/// Every screen, in the order of the tabs and of Help.
pub static SCREENS: [ScreenEntry; 14] = [
    ScreenEntry {
        screen: Screen::Locks,
        title: "Locks",
        go: go(Screen::Locks, "locks", &[Key::Char('1')], "All locks").also(&["lk", "ls"]),
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&Locks),
        panes: &[],
        commands: &[
            Command::Open,
            Command::Go(Screen::History),
            Command::Filter,
            Command::Sort,
            Command::ThenBy,
            Command::Reverse,
            Command::Copy,
            Command::Export,
            Command::Delete,
            Command::Start,
            Command::Picture,
            Command::Go(Screen::Session),
            Command::Go(Screen::Node),
        ],
    },
    ScreenEntry {
        screen: Screen::Queue,
        title: "Queue",
        go: go(Screen::Queue, "queue", &[Key::Char('2')], "The queue of the selected lock").also(&["contenders"]),
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&Queue),
        panes: &[(Pane::Details, App::details_page), (Pane::Findings, App::findings_page)],
        commands: &[
            Command::Open,
            Command::Go(Screen::History),
            Command::NextPane,
            Command::Filter,
            Command::Copy,
            Command::Export,
            Command::Delete,
            Command::Tag,
            Command::Start,
            Command::Picture,
            Command::Large,
            Command::Go(Screen::Session),
            Command::Go(Screen::Node),
        ],
    },
    ScreenEntry {
        screen: Screen::Sessions,
        title: "Sessions",
        go: go(Screen::Sessions, "sessions", &[Key::Char('3')], "Who holds and who waits, by session"),
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&Sessions),
        panes: &[],
        commands: &[
            Command::Open,
            Command::Filter,
            Command::Sort,
            Command::ThenBy,
            Command::Reverse,
            Command::Copy,
            Command::Export,
            Command::Go(Screen::Session),
        ],
    },
    ScreenEntry {
        screen: Screen::Session,
        title: "Session",
        go: go(Screen::Session, "session", &[Key::Char('o')], "All about the session that owns the row")
            .takes("[ID]", ArgumentKind::Session)
            .hint("session"),
        has_tab: false,
        shows_watchers: true,
        content: Content::List(&SessionPlaces),
        panes: &[(Pane::Details, App::session_page), (Pane::Events, App::session_events_page)],
        commands: &[
            Command::Open,
            Command::NextPane,
            Command::Filter,
            Command::Copy,
            Command::Export,
            Command::Go(Screen::Session),
            Command::Go(Screen::Node),
        ],
    },
    ScreenEntry {
        screen: Screen::Waits,
        title: "Waits",
        go: go(Screen::Waits, "waits", &[Key::Char('4')], "Who waits for whom, across locks").also(&["graph"]),
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&Waits),
        panes: &[],
        commands: &[Command::Open, Command::Filter, Command::Copy, Command::Export, Command::Go(Screen::Session)],
    },
    ScreenEntry {
        screen: Screen::Contend,
        title: "Contend",
        go: go(Screen::Contend, "contend", &[Key::Char('5')], "Test clients: a herd beside a chain"),
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&Clients),
        panes: &[],
        commands: &[
            Command::NextPane,
            Command::Filter,
            Command::Copy,
            Command::Export,
            Command::Start,
            Command::Crash,
            Command::Freeze,
            Command::Cut,
            Command::Heal,
            Command::Delay,
            Command::Stop,
            Command::Join,
            Command::Leave,
            Command::Holder,
            Command::Picture,
            Command::Large,
            Command::Slower,
            Command::Faster,
            Command::StopOrGo,
            Command::PlayStep,
        ],
    },
    ScreenEntry {
        screen: Screen::Timeline,
        title: "Timeline",
        go: go(Screen::Timeline, "timeline", &[Key::Char('6')], "What happened, newest last").also(&["events"]),
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&TimelineList),
        panes: &[(Pane::Details, App::timeline_entry_page)],
        commands: &[
            Command::Open,
            Command::NextPane,
            Command::Filter,
            Command::Copy,
            Command::Export,
            Command::Go(Screen::Session),
            Command::Go(Screen::Node),
        ],
    },
    ScreenEntry {
        screen: Screen::Audit,
        title: "Audit",
        go: go(Screen::Audit, "audit", &[Key::Char('7')], "What was deleted, by whom, and why").also(&["log"]),
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&AuditEntries),
        panes: &[(Pane::Details, App::audit_entry_page)],
        commands: &[Command::Open, Command::NextPane, Command::Filter, Command::Copy, Command::Go(Screen::Node)],
    },
    ScreenEntry {
        screen: Screen::Node,
        title: "Node",
        go: go(Screen::Node, "node", &[Key::Char('d')], "The node as it is: stat, ACL, data")
            .takes("[PATH]", ArgumentKind::Node)
            .also(&["describe", "yaml", "stat"])
            .hint("node"),
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::node_page),
        panes: &[],
        commands: &[Command::Go(Screen::Node), Command::Filter],
    },
    ScreenEntry {
        screen: Screen::History,
        title: "History",
        go: go(Screen::History, "history", &[Key::Char('i')], "What happened to the selected lock").hint("history"),
        has_tab: false,
        shows_watchers: false,
        content: Content::List(&History),
        panes: &[(Pane::Details, App::history_entry_page)],
        commands: &[
            Command::Open,
            Command::NextPane,
            Command::Filter,
            Command::Copy,
            Command::Export,
            Command::Go(Screen::Session),
            Command::Go(Screen::Node),
        ],
    },
    ScreenEntry {
        screen: Screen::Comparison,
        title: "Comparison",
        go: go(Screen::Comparison, "comparison", &[Key::Char('C')], "Herds and chains of growing size"),
        has_tab: false,
        shows_watchers: false,
        content: Content::Picture,
        panes: &[],
        commands: &[],
    },
    ScreenEntry {
        screen: Screen::Servers,
        title: "Servers",
        go: go(Screen::Servers, "servers", &[Key::Char('v')], "What each server reports about itself")
            .also(&["members"]),
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::servers_page),
        panes: &[],
        commands: &[Command::Filter],
    },
    ScreenEntry {
        screen: Screen::Unreadable,
        title: "Unreadable",
        go: go(Screen::Unreadable, "unreadable", &[Key::Char('u')], "Nodes that the server refuses to show"),
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::unreadable_page),
        panes: &[],
        commands: &[Command::Filter],
    },
    ScreenEntry {
        screen: Screen::Help,
        title: "Help",
        go: go(Screen::Help, "help", &[Key::Char('?'), Key::F(1), Key::Ctrl('a')], "This page")
            .also(&["h", "man", "keys"])
            .hint("help"),
        has_tab: true,
        shows_watchers: false,
        content: Content::Text(App::help_page),
        panes: &[],
        commands: &[Command::Filter],
    },
];

impl Screen {
    pub fn entry(self) -> &'static ScreenEntry {
        let found = SCREENS.iter().find(|entry| entry.screen == self);
        found.expect("every screen has a row: a test holds it")
    }

    /// What the keys move in, when it is a list.
    pub(super) fn list(self) -> Option<&'static dyn List<App>> {
        match self.entry().content {
            Content::List(list) => Some(list),
            Content::Text(_) | Content::Picture => None,
        }
    }

    /// Its panes: the list or the text first, then those below it, from left to right.
    pub fn panes(self) -> impl Iterator<Item = Pane> {
        [Pane::List].into_iter().chain(self.entry().panes.iter().map(|(pane, _)| *pane))
    }

    /// Whether a command does something here.
    pub fn has(self, command: Command) -> bool {
        let named = |entry: &ScreenEntry| entry.commands.contains(&command);
        named(self.entry()) || !SCREENS.iter().any(named)
    }
}
