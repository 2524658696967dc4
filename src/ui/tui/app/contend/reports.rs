//! What the fleets say of themselves, and the question before one leaves them.

use std::sync::Arc;

use super::{FleetSide, Phase};
use crate::tui::app::{App, Effect, Key, Screen, Update};
use lockscope_lab::contend::{FleetOutcome, FleetStatus};

impl App {
    pub(in crate::tui::app) fn fleet_reported(&mut self, side: FleetSide, status: Arc<FleetStatus>) -> Update {
        let before = self.test_clients.fleets.living();
        if let Some(fleet) = self.test_clients.fleets.fleet_mut(side).filter(|fleet| fleet.is_active()) {
            fleet.take(status, self.wall);
        }
        let mut effects: Vec<Effect> = self.correct_speed(side).into_iter().collect();
        effects.extend(self.play_due_step());
        let shows = self.navigation.screen == Screen::Contend && !self.shown.is_paused();
        Update { redraw: shows || self.test_clients.fleets.living() != before, effects }
    }

    pub(in crate::tui::app) fn fleet_failed(&mut self, side: FleetSide, why: String) -> Update {
        self.show_failure(format!("The test clients cannot run: {why}."));
        self.end(side, Phase::Failed(why))
    }

    pub(in crate::tui::app) fn fleet_ended(&mut self, side: FleetSide, outcome: FleetOutcome) -> Update {
        let path = &outcome.path;
        match outcome.left_behind {
            Some(0) => self.show_notice(format!("The test clients of {path} are gone, and their nodes with them.")),
            Some(1) => self.show_failure(format!("Test clients left 1 node in {path}: it goes with its session.")),
            Some(left) => {
                self.show_failure(format!("Test clients left {left} nodes in {path}: they go with their sessions."));
            }
            None => self.show_failure(format!("Whether test clients left nodes in {path} could not be found out.")),
        }
        self.end(side, Phase::Ended(Box::new(outcome)))
    }

    fn end(&mut self, side: FleetSide, phase: Phase) -> Update {
        if let Some(fleet) = self.test_clients.fleets.fleet_mut(side) {
            fleet.phase = phase;
        }
        // A pause keeps the figures of its moment, but there is nobody left to give orders to.
        self.footer.asks_to_quit &= self.test_clients.fleets.is_active();
        Update::redraw()
    }

    pub(in crate::tui::app) fn fleet_busy(&mut self, side: FleetSide) -> Update {
        let at = self
            .test_clients
            .fleets
            .fleet(side)
            .map_or_else(String::new, |fleet| format!(" of {}", fleet.scenario().path));
        self.refuse(format!("The test clients{at} have too much to do: that was not done."))
    }

    /// Ends the program; asks first while test clients run.
    pub(in crate::tui::app) fn quit(&mut self) -> Update {
        if self.test_clients.fleets.each().any(|(_, fleet)| *fleet.phase() == Phase::Running) {
            (self.footer.asks_to_quit, self.footer.next_context) = (true, None);
            return Update::redraw();
        }
        Update::effect(Effect::Quit)
    }

    /// Whether the question is open that is asked before the program leaves running clients.
    pub fn asks_to_quit(&self) -> bool {
        self.footer.asks_to_quit
    }

    pub(in crate::tui::app) fn answer(&mut self, key: Key) -> Update {
        match key {
            Key::Char('y' | 'Y') if self.footer.next_context.is_some() => {
                self.footer.asks_to_quit = false;
                return self.footer.next_context.take().map_or_else(Update::redraw, |name| self.leave_for(name));
            }
            Key::Char('y' | 'Y') | Key::Ctrl('c') => return Update::effect(Effect::Quit),
            Key::Char('n' | 'N') | Key::Esc => {
                (self.footer.asks_to_quit, self.footer.next_context) = (false, None);
            }
            _ => {}
        }
        Update::redraw()
    }
}
