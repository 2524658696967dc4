//! Moving between panes and between screens, and back.

use super::list::List;
use super::{App, Cursor, Pane, Screen};

impl App {
    pub(super) fn left(&mut self) {
        match self.focused_list() {
            Some(list) if list.move_sideways(self, false) || self.is_at_the_top() => {}
            None if self.navigation.pane != Pane::List => self.navigation.turn_pane(false),
            _ => self.leave(),
        }
    }

    /// Whether no list leads to this one.
    fn is_at_the_top(&self) -> bool {
        let top = if self.ensembles().is_some() { Screen::Ensembles } else { Screen::Locks };
        self.navigation.screen == top
    }

    pub(super) fn right(&mut self) {
        match self.focused_list() {
            Some(list) if !list.move_sideways(self, true) => list.open(self),
            None if self.navigation.screen.panes().last() != Some(self.navigation.pane) => {
                self.navigation.turn_pane(true);
            }
            _ => {}
        }
    }

    /// Moves to the other list, or else to the next pane; from the last pane to the first.
    pub(super) fn go_to_next_pane(&mut self) {
        let beside =
            |list: &dyn List<Self>, app: &mut Self| list.move_sideways(app, true) || list.move_sideways(app, false);
        if !self.focused_list().is_some_and(|list| beside(list, self)) {
            self.navigation.turn_pane(true);
        }
    }

    pub(super) fn open_selected(&mut self) {
        if let Some(list) = self.focused_list() {
            list.open(self);
        }
    }

    pub(super) fn go_to_queue(&mut self) {
        match self.navigation.screen {
            Screen::Locks => self.open_selected(),
            _ if self.navigation.open.is_some() => self.go(Screen::Queue),
            _ => self.show_failure("Select a lock in Locks first.".to_owned()),
        }
    }

    pub(super) fn toggle(&mut self, screen: Screen) {
        if self.navigation.screen == screen { self.leave() } else { self.go(screen) }
    }

    pub(super) fn back(&mut self) {
        if self.navigation.pane != Pane::List && !self.is_narrowed() {
            self.navigation.go_to_pane(Pane::List);
        } else if self.navigation.screen == Screen::Queue && !self.deletions.tags.is_empty() {
            self.deletions.tags.clear();
        } else if self.is_narrowed() {
            self.look_for("");
        } else {
            self.leave();
        }
    }

    /// Shows the history of the lock selected in Locks, or on other screens of the lock opened
    /// last.
    pub(in crate::tui::app) fn go_to_history(&mut self) {
        let left = self.place();
        if self.screen() == Screen::Locks {
            self.open_selected();
            if self.screen() == Screen::History {
                return;
            }
        }
        if self.opened().is_none() {
            return self.show_failure("Select a lock in Locks first.".to_owned());
        }
        if self.screen() != Screen::History {
            self.cursors.history = Cursor::last();
            self.go_from(left, Screen::History);
        }
    }
}
