//! Quitting, or switching to another ensemble. While test clients run, the user is asked first.

use super::{App, Effect, Key, Update};
use crate::tui::keymap::FixedKey;

/// Where the user wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// Quit the program.
    Quit,
    /// Switch to the context with this name.
    Context(String),
}

impl App {
    /// Whether the question about running test clients is open.
    pub fn asks_to_quit(&self) -> bool {
        self.footer.leaving.is_some()
    }

    /// Quits; asks first while test clients run.
    pub(super) fn quit(&mut self) -> Update {
        self.leave_console(Leaving::Quit)
    }

    /// Quits or switches the context; asks first while test clients run.
    pub(super) fn leave_console(&mut self, leaving: Leaving) -> Update {
        if self.test_clients.fleets().is_running() {
            self.footer.leaving = Some(leaving);
            return Update::redraw();
        }
        self.go_away(leaving)
    }

    fn go_away(&mut self, leaving: Leaving) -> Update {
        match leaving {
            Leaving::Quit => Update::effect(Effect::Quit),
            Leaving::Context(name) => {
                self.show_notice(format!("Going to {name}."));
                Update::effect(Effect::GoToContext(name))
            }
        }
    }

    /// Handles the answer to the question.
    pub(super) fn answer(&mut self, key: Key) -> Update {
        let is_yes = FixedKey::Yes.is(key);
        if is_yes && let Some(Leaving::Context(name)) = &self.footer.leaving {
            let leaving = Leaving::Context(name.clone());
            self.footer.leaving = None;
            return self.go_away(leaving);
        }
        if is_yes || FixedKey::Interrupt.is(key) {
            return Update::effect(Effect::Quit);
        }
        if FixedKey::No.is(key) || FixedKey::Leave.is(key) {
            self.footer.leaving = None;
        }
        Update::redraw()
    }
}
