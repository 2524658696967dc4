//! The table of screens: the contents of each, and the commands that work on it.

use super::list::List;
use super::lists::{
    AuditEntries, Clients, Ensembles, HistoryList, LockList, QueueList, SessionList, SessionPlaces, TimelineList,
    TreeList, WaitList,
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
    pub commands: &'static [&'static [Command]],
}

/// The commands of a list.
const OF_LIST: &[Command] = &[Command::Filter, Command::Copy, Command::Export];

/// The commands of a list that can be sorted.
const SORTED: &[Command] = &[Command::Sort, Command::ThenBy, Command::Reverse];

/// The commands of rows with findings.
const OF_FINDINGS: &[Command] = &[Command::Mute, Command::Unmute];

/// The commands of a list with panes below it.
const WITH_PANES: &[Command] = &[Command::Open, Command::NextPane];

/// The commands of rows that have a node and its session.
const OF_NODE: &[Command] = &[Command::Go(Screen::Session), Command::Go(Screen::Node)];

/// The commands of a list that can be shown as a picture.
const OF_PICTURE: &[Command] = &[Command::Picture, Command::Large];

/// Every screen, in the order of the tabs and of Help.
pub static SCREENS: [ScreenEntry; 17] = [
    ScreenEntry {
        has_tab: true,
        panes: &[(Pane::Findings, App::ensemble_page), (Pane::Events, App::ensemble_events_page)],
        commands: &[OF_LIST, SORTED, WITH_PANES, OF_FINDINGS],
        ..ScreenEntry::new(Screen::Ensembles, "Ensembles", Content::List(&Ensembles))
    },
    ScreenEntry {
        has_tab: true,
        commands: &[
            OF_LIST,
            SORTED,
            OF_NODE,
            OF_FINDINGS,
            &[Command::Open, Command::Go(Screen::History), Command::Delete, Command::Start, Command::Picture],
        ],
        ..ScreenEntry::new(Screen::Locks, "Locks", Content::List(&LockList))
    },
    ScreenEntry {
        has_tab: true,
        shows_watchers: true,
        panes: &[(Pane::Details, App::details_page), (Pane::Findings, App::findings_page)],
        commands: &[
            OF_LIST,
            WITH_PANES,
            OF_NODE,
            OF_FINDINGS,
            OF_PICTURE,
            &[Command::Go(Screen::History), Command::Delete, Command::Tag, Command::TagRange, Command::Start],
        ],
        ..ScreenEntry::new(Screen::Queue, "Queue", Content::List(&QueueList))
    },
    ScreenEntry {
        has_tab: true,
        shows_watchers: true,
        commands: &[OF_LIST, SORTED, &[Command::Open, Command::Go(Screen::Session)]],
        ..ScreenEntry::new(Screen::Sessions, "Sessions", Content::List(&SessionList))
    },
    ScreenEntry {
        shows_watchers: true,
        panes: &[(Pane::Details, App::session_page), (Pane::Events, App::session_events_page)],
        commands: &[OF_LIST, WITH_PANES, OF_NODE],
        ..ScreenEntry::new(Screen::Session, "Session", Content::List(&SessionPlaces))
    },
    ScreenEntry {
        has_tab: true,
        shows_watchers: true,
        commands: &[OF_LIST, &[Command::Open, Command::Go(Screen::Session)]],
        ..ScreenEntry::new(Screen::Waits, "Waits", Content::List(&WaitList))
    },
    ScreenEntry {
        has_tab: true,
        commands: &[
            OF_LIST,
            OF_PICTURE,
            &[
                Command::NextPane,
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
                Command::Slower,
                Command::Faster,
                Command::StopOrGo,
                Command::PlayStep,
            ],
        ],
        ..ScreenEntry::new(Screen::Contend, "Contend", Content::List(&Clients))
    },
    ScreenEntry {
        has_tab: true,
        panes: &[(Pane::Details, App::timeline_entry_page)],
        commands: &[OF_LIST, WITH_PANES, OF_NODE],
        ..ScreenEntry::new(Screen::Timeline, "Timeline", Content::List(&TimelineList))
    },
    ScreenEntry {
        has_tab: true,
        panes: &[(Pane::Details, App::audit_entry_page)],
        commands: &[WITH_PANES, &[Command::Filter, Command::Copy, Command::Go(Screen::Node)]],
        ..ScreenEntry::new(Screen::Audit, "Audit", Content::List(&AuditEntries))
    },
    ScreenEntry {
        has_tab: true,
        panes: &[(Pane::Details, App::tree_page)],
        commands: &[OF_LIST, SORTED, WITH_PANES, OF_NODE, &[Command::FindNode]],
        ..ScreenEntry::new(Screen::Tree, "Tree", Content::List(&TreeList))
    },
    ScreenEntry {
        shows_watchers: true,
        commands: &[&[Command::Go(Screen::Node), Command::Filter]],
        ..ScreenEntry::new(Screen::Node, "Node", Content::Text(App::node_page))
    },
    ScreenEntry {
        panes: &[(Pane::Details, App::history_entry_page)],
        commands: &[OF_LIST, WITH_PANES, OF_NODE],
        ..ScreenEntry::new(Screen::History, "History", Content::List(&HistoryList))
    },
    ScreenEntry::new(Screen::Comparison, "Comparison", Content::Picture),
    ScreenEntry {
        commands: &[&[Command::Filter]],
        ..ScreenEntry::new(Screen::Servers, "Servers", Content::Text(App::servers_page))
    },
    ScreenEntry {
        commands: &[&[Command::Filter]],
        ..ScreenEntry::new(Screen::Unreadable, "Unreadable", Content::Text(App::unreadable_page))
    },
    ScreenEntry {
        commands: &[&[Command::Filter]],
        ..ScreenEntry::new(Screen::Output, "Output", Content::Text(App::output_page))
    },
    ScreenEntry {
        has_tab: true,
        commands: &[&[Command::Filter]],
        ..ScreenEntry::new(Screen::Help, "Help", Content::Text(App::help_page))
    },
];

impl ScreenEntry {
    /// A screen without a tab, watches, panes and commands of its own.
    const fn new(screen: Screen, title: &'static str, content: Content) -> Self {
        Self { screen, title, has_tab: false, shows_watchers: false, content, panes: &[], commands: &[] }
    }

    /// Whether a command works here and not everywhere.
    pub fn has_own(&self, command: Command) -> bool {
        self.commands.iter().any(|group| group.contains(&command))
    }

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
        let named = |entry: &ScreenEntry| entry.has_own(command);
        named(self.entry()) || !(command.is_of_plan() || SCREENS.iter().any(named))
    }
}
