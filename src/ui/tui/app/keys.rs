//! Dispatches a key to the part of the screen that handles it.

use super::commands::{KeyPlace, command, strange};
use super::{App, Key, Update};
use crate::tui::keymap::{Command, FixedKey};

impl App {
    pub(super) fn key(&mut self, key: Key) -> Update {
        if self.asks_to_quit() {
            return self.answer(key);
        }
        if FixedKey::Interrupt.is(key) {
            return self.quit();
        }
        if self.deletions.open.is_some() {
            return self.answer_plan(key);
        }
        if self.asks_to_run() {
            return self.answer_run(key);
        }
        if self.footer.prompt.is_some() && self.layout().is_some() {
            return self.type_key(key);
        }
        let place = self.key_place();
        match command(key, place, &self.settings.bindings) {
            Some(command) => self.carry_out(command),
            None if self.own_command_of(key).is_some() && self.layout().is_some() => {
                self.tour_yields();
                let own = self.own_command_of(key);
                own.map_or_else(Update::default, |own| self.run_own(&own))
            }
            // In a terminal that is too small, a message about the key would not be visible.
            None if self.layout().is_none() => Update::default(),
            None => {
                let elsewhere = self.own_elsewhere(key);
                let usual = || strange(key, place, &self.settings.bindings, self.settings.ascii);
                self.refuse(elsewhere.unwrap_or_else(usual))
            }
        }
    }

    /// Carries out a command as its key would.
    pub(super) fn carry_out(&mut self, command: Command) -> Update {
        self.tour_yields();
        self.footer.notice = None;
        self.run(command, None)
    }

    /// The state that decides what a key means.
    fn key_place(&self) -> KeyPlace {
        KeyPlace {
            screen: self.navigation.screen,
            reads_text: self.focused_list().is_none() && self.focused_page().is_some(),
            in_tour: self.tour.is_some(),
            in_past: self.shown.is_past(),
        }
    }
}
