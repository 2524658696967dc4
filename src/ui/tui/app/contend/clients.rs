//! The test clients of this console: the fleets, the side that the keys act on, and the handling
//! of status reports.

use std::sync::Arc;

use super::{FleetSide, Fleets, Phase, SlowMotion};
use crate::tui::app::comparison::FleetComparison;
use crate::tui::app::event::Effect;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{FleetStatus, Scenario};

/// The fleets, and the side that the keys act on.
#[derive(Debug, Default)]
pub(in crate::tui::app) struct TestClients {
    pub(super) fleets: Fleets,
    pub(super) side: FleetSide,
    pub(super) motion: SlowMotion,
    pub comparison: FleetComparison,
}

impl TestClients {
    /// Returns the current fleets, even while the screen is paused.
    pub fn fleets(&self) -> &Fleets {
        &self.fleets
    }

    /// Returns the side whose clients are listed. Commands act on its fleet.
    pub fn side(&self) -> FleetSide {
        self.side
    }

    /// Returns the speed of the clients and how they are drawn.
    pub fn motion(&self) -> &SlowMotion {
        &self.motion
    }

    pub fn motion_mut(&mut self) -> &mut SlowMotion {
        &mut self.motion
    }

    pub fn turn_side(&mut self) {
        if self.fleets.is_pair() {
            self.side = self.side.other();
        }
    }

    /// Replaces the listed fleets with new ones, and returns the effects that start them.
    pub fn start(&mut self, left: Scenario, right: Option<Scenario>) -> Vec<Effect> {
        let both = FleetSide::BOTH.into_iter().zip([Some(left.clone()), right.clone()]);
        let start = |(side, scenario)| Some(Effect::StartFleet { side, scenario: Box::new(scenario?) });
        let effects = both.filter_map(start).collect();
        self.fleets.replace(left, right);
        self.side = FleetSide::Left;
        effects
    }

    /// Starts the fleets of a scene of the tour, at most two, and its comparison. Drops the fleets
    /// of the previous scene. Resets speed and display to their defaults, except for the size of
    /// the pictures.
    pub fn begin_scene(&mut self, scenarios: Vec<Scenario>, comparison: Vec<Scenario>) -> Vec<Effect> {
        let mut scenarios = scenarios.into_iter();
        self.fleets = Fleets::default();
        let mut effects = scenarios.next().map(|left| self.start(left, scenarios.next())).unwrap_or_default();
        effects.extend(self.comparison.begin(comparison));
        self.side = FleetSide::Left;
        self.motion.leave();
        effects
    }

    /// Stops all running fleets. Returns no effects if none is running.
    pub fn stop(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for side in FleetSide::BOTH {
            if let Some(fleet) = self.fleets.fleet_mut(side).filter(|fleet| *fleet.phase() == Phase::Running) {
                fleet.phase = Phase::Stopping;
                effects.push(Effect::StopFleet(side));
            }
        }
        effects
    }

    /// Takes a status report of one side, then corrects its speed and plays a due step.
    pub fn report(&mut self, side: FleetSide, status: Arc<FleetStatus>, now: Timestamp) -> Vec<Effect> {
        if let Some(fleet) = self.fleets.fleet_mut(side).filter(|fleet| fleet.is_active()) {
            fleet.set_status(status, now);
        }
        let mut effects: Vec<Effect> = self.correct_speed(side, now).into_iter().collect();
        effects.extend(self.play_due_step(now));
        effects
    }

    /// Records that the fleet of a side ended or failed.
    pub fn end(&mut self, side: FleetSide, phase: Phase) {
        if let Some(fleet) = self.fleets.fleet_mut(side) {
            fleet.phase = phase;
        }
    }
}
