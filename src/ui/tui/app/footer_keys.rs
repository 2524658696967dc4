//! The keys in the footer: those of this screen, as many as fit.

use super::{App, Pane, Replay, Screen};
use crate::tui::keymap::{Command, CommandEntry, FixedKey, commands};
use lockscope_model::text::width;

/// Columns before the first key.
const MARGIN: usize = 1;
/// Columns after each word.
const GAP: usize = 2;

/// A key in the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub command: Command,
    pub key: String,
    /// What the key would do now.
    pub word: &'static str,
}

impl Hint {
    /// Columns of the key, the space and the word.
    fn width(&self) -> usize {
        width(&self.key) + 1 + width(self.word)
    }
}

impl App {
    /// The keys of this screen that fit into `columns`. Help and quit are always included.
    pub fn hints(&self, columns: usize) -> Vec<Hint> {
        let mut entries: Vec<_> = commands().filter(|entry| self.is_hinted(entry)).collect();
        // Keys that move through a recording come first, and keys that open another screen come
        // last.
        entries.sort_by_key(|entry| match entry.command {
            command if command.is_of_replay() => 0,
            Command::Go(screen) if screen != Screen::Help => 2,
            _ => 1,
        });
        let hints = entries.into_iter().filter_map(|entry| self.hint(entry));
        let (last, first): (Vec<_>, Vec<_>) =
            hints.partition(|hint| matches!(hint.command, Command::Go(Screen::Help) | Command::Quit));
        let needs = |hint: &Hint| hint.width() + GAP;
        let mut room = columns.saturating_sub(MARGIN + last.iter().map(needs).sum::<usize>());
        let fitting = first.into_iter().filter(|hint| {
            let fits = needs(hint) <= room;
            room = if fits { room - needs(hint) } else { 0 };
            fits
        });
        let mut shown: Vec<_> = fitting.collect();
        shown.extend(last);
        shown
    }

    /// The command in the footer at that column.
    pub(super) fn hint_at(&self, column: u16) -> Option<Command> {
        let mut x = MARGIN;
        for hint in self.hints(usize::from(self.size.0)) {
            if (x..x + hint.width()).contains(&usize::from(column)) {
                return Some(hint.command);
            }
            x += hint.width() + GAP;
        }
        None
    }

    fn hint(&self, entry: &CommandEntry) -> Option<Hint> {
        let yields = self.tour().is_some() && entry.command.yields_to_tour();
        let mut keys = self.settings.bindings.keys(entry).iter();
        let key = keys.find(|key| !(yields && FixedKey::Spare.is(**key)))?;
        Some(Hint { command: entry.command, key: key.label(self.settings.ascii), word: self.word(entry) })
    }

    fn is_hinted(&self, entry: &CommandEntry) -> bool {
        let top = if self.ensembles().is_some() { Screen::Ensembles } else { Screen::Locks };
        let somewhere_to_go = self.screen() != top || self.is_narrowed();
        // Keys that would be refused now are left out, to leave room for those that work.
        let useful = match entry.command {
            command if command.is_of_replay() => self.replay().is_some(),
            command if self.replay().is_some() && command.changes_ensemble() => false,
            Command::Go(Screen::Contend | Screen::Audit | Screen::Node | Screen::Comparison)
                if self.replay().is_some() =>
            {
                false
            }
            Command::Delete | Command::Tag => self.settings().write,
            Command::Back => somewhere_to_go && !(self.screen() == Screen::Contend && self.has_fleets()),
            Command::Start if self.screen() == Screen::Contend => self.settings().write && !self.has_fleets(),
            Command::Picture if self.screen() == Screen::Contend => self.has_fleets(),
            command if command.is_of_slow_motion() => self.has_fleets() && self.shows_picture(),
            Command::NextPane if self.screen() == Screen::Contend => self.fleets().is_pair(),
            Command::Filter | Command::Copy | Command::Pause if self.screen() == Screen::Contend => false,
            Command::Export if self.screen() == Screen::Contend => {
                !self.has_fleets() && self.fleets().each().next().is_some()
            }
            command if self.refusal_outside(command).is_some() => false,
            Command::Go(screen) => screen != self.screen() || screen == Screen::Help,
            command if command.is_for_fleets() => self.has_fleets(),
            _ => true,
        };
        entry.hint.is_some() && self.screen().has(entry.command) && useful
    }

    /// The word of a hint. Some words depend on what the key would do now.
    fn word(&self, entry: &CommandEntry) -> &'static str {
        match entry.command {
            Command::Back if self.is_narrowed() && self.is_searched() => "clear search",
            Command::Back if self.screen() == Screen::Queue && !self.tags().is_empty() => "untag",
            Command::Back if self.is_narrowed() => "clear filter",
            Command::Filter if self.is_searched() => "search",
            Command::ReturnToLive if self.replay().is_some_and(|replay| !replay.is_of_live()) => "end",
            Command::Pause if self.replay().is_some_and(Replay::is_playing) => "stop",
            Command::Pause if self.replay().is_some() => "play",
            Command::Pause if self.paused().is_some() => "resume",
            Command::NextPane if self.screen() == Screen::Contend => "side",
            Command::Start if self.screen() == Screen::Contend => "start",
            Command::Picture if self.screen() == Screen::Locks && !self.shows_graph() => "graph",
            Command::Picture if self.screen() == Screen::Locks => "lately",
            Command::Picture if self.shows_picture() || self.shows_queue_picture() => "list",
            Command::StopOrGo if self.slow_motion().is_stopped() => "resume",
            Command::NextPane => match self.next_pane() {
                Pane::List if self.screen() == Screen::Queue => "queue",
                Pane::List => "list",
                Pane::Details => "details",
                Pane::Findings => "diagnosis",
                Pane::Events => "events",
            },
            _ => entry.hint.unwrap_or_default(),
        }
    }
}
