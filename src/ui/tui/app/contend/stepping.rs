//! Stops, steps and resumes test clients. In slow motion, both sides take each step together.

use std::time::Duration;

use super::{FleetSide, Phase, TestClients};
use crate::tui::app::event::Effect;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{FleetCommand, Speed};

/// How long the other side waits for a side that is not ready for the next step.
const MAX_WAIT_FOR_OTHER_SIDE: Duration = Duration::from_secs(1);
/// The time after a `Hold` order before it is repeated to a fleet that does not follow it.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// The time between two frames while a watch event travels.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);

impl TestClients {
    pub fn go_slower(&mut self, now: Timestamp) -> Vec<Effect> {
        self.set_speed(self.motion.speed.slower(), now)
    }

    pub fn go_faster(&mut self, now: Timestamp) -> Vec<Effect> {
        self.set_speed(self.motion.speed.faster(), now)
    }

    /// Sets the speed and resumes. Any speed but full also shows the picture, the purpose of slow
    /// motion.
    pub fn set_speed(&mut self, speed: Speed, now: Timestamp) -> Vec<Effect> {
        self.motion.speed = speed;
        self.motion.is_stopped = false;
        self.motion.shows_picture |= speed != Speed::Full;
        self.hold_or_let_go(now)
    }

    /// Slows the clients down while the user is idle, or returns them to their speed, which is
    /// kept.
    pub fn set_idle(&mut self, is_idle: bool, now: Timestamp) -> Vec<Effect> {
        self.motion.is_idle = is_idle;
        self.hold_or_let_go(now)
    }

    pub fn stop_or_go_on(&mut self, now: Timestamp) -> Vec<Effect> {
        self.motion.is_stopped = !self.motion.is_stopped;
        self.motion.shows_picture |= self.motion.is_stopped;
        self.hold_or_let_go(now)
    }

    /// Stops the clients, and lets one client on each side take a step.
    pub fn play_one_step(&mut self, now: Timestamp) -> Vec<Effect> {
        let held = self.motion.holds();
        (self.motion.is_stopped, self.motion.shows_picture) = (true, true);
        let mut effects = if held { Vec::new() } else { self.hold_or_let_go(now) };
        effects.extend(self.step_both(now));
        effects
    }

    fn hold_or_let_go(&mut self, now: Timestamp) -> Vec<Effect> {
        let (holds, flight) = (self.motion.holds(), self.motion.flight());
        let mut effects = Vec::new();
        for side in FleetSide::BOTH {
            let Some(fleet) = self.fleets.fleet_mut(side) else { continue };
            fleet.replay.set_flight(flight);
            if fleet.is_active() {
                effects.push(Effect::Order { side, order: FleetCommand::Hold(holds) });
            }
        }
        (self.motion.told, self.motion.last_step) = ([Some(now); 2], now);
        effects
    }

    fn step_both(&mut self, now: Timestamp) -> Vec<Effect> {
        self.motion.last_step = now;
        let running = self.fleets.each().filter(|(_, fleet)| *fleet.phase() == Phase::Running);
        running.map(|(side, _)| Effect::Order { side, order: FleetCommand::Step }).collect()
    }

    /// Corrects a fleet whose reported speed differs from the wanted one. Repeats the order at most
    /// once a second.
    pub(super) fn correct_speed(&mut self, side: FleetSide, now: Timestamp) -> Option<Effect> {
        let holds = self.motion.holds();
        let fleet = self.fleets.fleet_mut(side).filter(|fleet| *fleet.phase() == Phase::Running)?;
        fleet.replay.set_flight(self.motion.flight());
        if fleet.status()?.stepped == holds {
            return None;
        }
        let told = &mut self.motion.told[side as usize];
        if told.is_some_and(|told| now.since(told) < REPEAT_AFTER) {
            return None;
        }
        *told = Some(now);
        Some(Effect::Order { side, order: FleetCommand::Hold(holds) })
    }

    /// Plays the step that is due, on both sides at once. Waits up to 1 s for a side that is not
    /// ready.
    pub fn play_due_step(&mut self, now: Timestamp) -> Vec<Effect> {
        let Some(due) = self.motion.next_step().filter(|due| *due <= now) else { return Vec::new() };
        let is_ready = self.fleets.each().all(|(_, fleet)| {
            let waits = fleet.status().is_some_and(|status| status.stepped && status.next_step.is_some());
            *fleet.phase() != Phase::Running || waits && fleet.replay.next().is_none()
        });
        if is_ready || now >= due.plus(MAX_WAIT_FOR_OTHER_SIDE) { self.step_both(now) } else { Vec::new() }
    }

    /// Advances the pictures to `now`. Returns whether anything in them moved.
    pub fn move_pictures(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for side in FleetSide::BOTH {
            if let Some(fleet) = self.fleets.fleet_mut(side) {
                moved |= fleet.replay.advance(now) | fleet.replay.moves();
            }
        }
        moved
    }

    /// Returns when the next step is due or, if `shows_moves`, the next frame of a picture. `None`
    /// if neither is due.
    pub fn next_due(&self, now: Timestamp, shows_moves: bool) -> Option<Timestamp> {
        // After the due time, a report of the side that was not ready plays the step earlier.
        let step = self.motion.next_step().filter(|_| self.fleets.is_running());
        let step = step.map(|due| if due > now { due } else { due.plus(MAX_WAIT_FOR_OTHER_SIDE) });
        let moves = self.fleets.each().filter(|_| shows_moves).filter_map(|(_, fleet)| {
            let frame = fleet.replay.moves().then(|| now.plus(FRAME_INTERVAL));
            [frame, fleet.replay.next()].into_iter().flatten().min()
        });
        moves.chain(step).min()
    }
}
