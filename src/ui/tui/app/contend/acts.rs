//! Carries out commands on test clients, and shows what the fleets report.

use std::sync::Arc;

use super::{FleetSide, FleetView, Phase};
use crate::tui::app::{App, Cursor, Screen, Update};
use crate::tui::keymap::Command;
use lockscope_lab::contend::{FleetOutcome, FleetStatus};

impl App {
    /// Applies a command to the fleet of the listed side.
    pub(in crate::tui::app) fn order(&mut self, command: Command, argument: Option<&str>) -> Update {
        let selected = self.selected_client().map(|client| client.id);
        match self.test_clients.order(command, argument, selected, &self.settings.bindings) {
            Ok(effect) => Update::effect(effect),
            Err(why) => self.refuse(why),
        }
    }

    pub(in crate::tui::app) fn select_holder(&mut self) {
        let Some((id, _)) = self.fleets().fleet(self.side()).and_then(FleetView::holder) else {
            return self.show_failure("Nobody holds the lock right now.".to_owned());
        };
        self.cursors.clients[self.test_clients.side() as usize] = Cursor::on(id);
    }

    pub(in crate::tui::app) fn stop_fleets(&mut self) -> Update {
        let effects = self.test_clients.stop();
        if effects.is_empty() {
            return self.refuse("No test clients run.".to_owned());
        }
        Update { redraw: true, effects }
    }

    /// Carries out a slow-motion command: slower, faster, stop or resume, or play one step.
    pub(in crate::tui::app) fn change_motion(&mut self, command: Command) -> Update {
        let (clients, now) = (&mut self.test_clients, self.wall);
        let effects = match command {
            Command::Slower => clients.go_slower(now),
            Command::Faster => clients.go_faster(now),
            Command::StopOrGo => clients.stop_or_go_on(now),
            Command::PlayStep => clients.play_one_step(now),
            _ => Vec::new(),
        };
        Update { redraw: true, effects }
    }

    pub(in crate::tui::app) fn fleet_reported(&mut self, side: FleetSide, status: Arc<FleetStatus>) -> Update {
        let before = self.living_clients();
        let effects = self.test_clients.report(side, status, self.wall);
        let shows = self.screen() == Screen::Contend && !self.shown.is_paused();
        Update { redraw: shows || self.living_clients() != before, effects }
    }

    pub(in crate::tui::app) fn fleet_failed(&mut self, side: FleetSide, why: String) -> Update {
        self.show_failure(format!("The test clients cannot run: {why}."));
        self.end_fleet(side, Phase::Failed(why))
    }

    pub(in crate::tui::app) fn fleet_ended(&mut self, side: FleetSide, outcome: FleetOutcome) -> Update {
        let path = &outcome.path;
        match outcome.left_behind {
            Some(0) => self.show_notice(format!("The test clients of {path} are gone, and their nodes with them.")),
            Some(1) => self.show_failure(format!("Test clients left 1 node in {path}: it goes with its session.")),
            Some(left) => {
                self.show_failure(format!("Test clients left {left} nodes in {path}: they go with their sessions."));
            }
            None => {
                self.show_failure(format!("Test clients may have left nodes in {path}: this could not be checked."));
            }
        }
        self.end_fleet(side, Phase::Ended(Box::new(outcome)))
    }

    fn end_fleet(&mut self, side: FleetSide, phase: Phase) -> Update {
        self.test_clients.end(side, phase);
        if !self.has_fleets() {
            // A paused screen still shows clients, but none is left to ask about before leaving.
            self.footer.leaving = None;
        }
        Update::redraw()
    }

    pub(in crate::tui::app) fn fleet_busy(&mut self, side: FleetSide) -> Update {
        let fleet = self.test_clients.fleets().fleet(side);
        let at = fleet.map_or_else(String::new, |fleet| format!(" of {}", fleet.scenario().path));
        self.refuse(format!("The test clients{at} are too busy: that was not done; try again."))
    }

    pub(in crate::tui::app) fn fleet_compared(&mut self, outcome: Result<Box<FleetOutcome>, String>) -> Update {
        self.test_clients.comparison.store(outcome);
        Update { redraw: self.screen() == Screen::Comparison, effects: Vec::new() }
    }
}
