//! The commands that lead to a screen.

use super::entry::entry;
use super::{ArgumentKind, Command, CommandEntry};
use crate::tui::key::Key;
use crate::tui::screen::Screen;

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
