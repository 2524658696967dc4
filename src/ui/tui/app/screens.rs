//! The table of screens: the contents of each, and the commands that work on it.

use super::list::List;
use super::lists::{
    AuditEntries, Clients, Ensembles, HistoryList, LockList, QueueList, SessionList, SessionPlaces, TimelineList,
    WaitList,
};
use super::{App, Area};
use crate::tui::keymap::{Command, CommandEntry, entry_of};
use crate::tui::page::Page;
use crate::tui::screen::{Pane, Screen};

/// Writes a text page for a box.
pub type WritePage = fn(&App, Area) -> Page;

/// The main part of a screen.
#[derive(Clone, Copy)]
pub enum Content {
    List(&'static dyn List<App>),
    Text(WritePage),
    /// A picture, in which the keys do not move.
    Picture,
}

pub struct ScreenEntry {
    pub screen: Screen,
    /// The name of the screen, in texts and in file names.
    pub title: &'static str,
    /// Whether the line of tabs includes the screen.
    pub has_tab: bool,
    /// Whether the screen shows watches. The servers are asked for them at once when such a screen
    /// opens.
    pub shows_watchers: bool,
    pub content: Content,
    /// The text pages below the list, from left to right.
    pub panes: &'static [(Pane, WritePage)],
    /// The commands that work here and not everywhere. A command that no row names works on every
    /// screen.
    pub commands: &'static [Command],
}

/// Every screen, in the order of the tabs and of Help.
pub static SCREENS: [ScreenEntry; 16] = [
    ScreenEntry {
        screen: Screen::Ensembles,
        title: "Ensembles",
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&Ensembles),
        panes: &[(Pane::Findings, App::ensemble_page), (Pane::Events, App::ensemble_events_page)],
        commands: &[
            Command::Open,
            Command::NextPane,
            Command::Filter,
            Command::Sort,
            Command::ThenBy,
            Command::Reverse,
            Command::Copy,
            Command::Export,
        ],
    },
    ScreenEntry {
        screen: Screen::Locks,
        title: "Locks",
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&LockList),
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
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&QueueList),
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
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&SessionList),
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
        has_tab: true,
        shows_watchers: true,
        content: Content::List(&WaitList),
        panes: &[],
        commands: &[Command::Open, Command::Filter, Command::Copy, Command::Export, Command::Go(Screen::Session)],
    },
    ScreenEntry {
        screen: Screen::Contend,
        title: "Contend",
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
        has_tab: true,
        shows_watchers: false,
        content: Content::List(&AuditEntries),
        panes: &[(Pane::Details, App::audit_entry_page)],
        commands: &[Command::Open, Command::NextPane, Command::Filter, Command::Copy, Command::Go(Screen::Node)],
    },
    ScreenEntry {
        screen: Screen::Node,
        title: "Node",
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::node_page),
        panes: &[],
        commands: &[Command::Go(Screen::Node), Command::Filter],
    },
    ScreenEntry {
        screen: Screen::History,
        title: "History",
        has_tab: false,
        shows_watchers: false,
        content: Content::List(&HistoryList),
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
        has_tab: false,
        shows_watchers: false,
        content: Content::Picture,
        panes: &[],
        commands: &[],
    },
    ScreenEntry {
        screen: Screen::Servers,
        title: "Servers",
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::servers_page),
        panes: &[],
        commands: &[Command::Filter],
    },
    ScreenEntry {
        screen: Screen::Unreadable,
        title: "Unreadable",
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::unreadable_page),
        panes: &[],
        commands: &[Command::Filter],
    },
    ScreenEntry {
        screen: Screen::Output,
        title: "Output",
        has_tab: false,
        shows_watchers: false,
        content: Content::Text(App::output_page),
        panes: &[],
        commands: &[Command::Filter],
    },
    ScreenEntry {
        screen: Screen::Help,
        title: "Help",
        has_tab: true,
        shows_watchers: false,
        content: Content::Text(App::help_page),
        panes: &[],
        commands: &[Command::Filter],
    },
];

impl ScreenEntry {
    /// The command that opens the screen: its name, its key and its line in Help.
    pub fn go(&self) -> &'static CommandEntry {
        entry_of(Command::Go(self.screen))
    }
}

impl Screen {
    pub fn entry(self) -> &'static ScreenEntry {
        let found = SCREENS.iter().find(|entry| entry.screen == self);
        found.expect("every screen has a row, as a test checks")
    }

    /// The list of the screen, if it has one.
    pub(super) fn list(self) -> Option<&'static dyn List<App>> {
        match self.entry().content {
            Content::List(list) => Some(list),
            Content::Text(_) | Content::Picture => None,
        }
    }

    /// The panes of the screen: the list or the text first, then those below it, from left to
    /// right.
    pub fn panes(self) -> impl Iterator<Item = Pane> {
        [Pane::List].into_iter().chain(self.entry().panes.iter().map(|(pane, _)| *pane))
    }

    /// Whether a command does something on this screen.
    pub fn has(self, command: Command) -> bool {
        let named = |entry: &ScreenEntry| entry.commands.contains(&command);
        named(self.entry()) || !(command.is_of_plan() || SCREENS.iter().any(named))
    }
}
