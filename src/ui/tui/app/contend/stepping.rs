//! Lets test clients go and holds them: in slow motion they go on only step by step, in step on
//! both sides.

use std::time::Duration;

use super::{FleetSide, Phase, TestClients};
use crate::tui::app::event::Effect;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{FleetCommand, Speed};

/// How long a side that cannot go on keeps the other from its next step.
const MAX_WAIT_FOR_OTHER_SIDE: Duration = Duration::from_secs(1);
/// After how long it is said again to a fleet how it is to go.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// The time between two frames while an event travels.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);

impl TestClients {
    pub fn go_slower(&mut self, now: Timestamp) -> Vec<Effect> {
        self.set_speed(self.motion.speed.slower(), now)
    }

    pub fn go_faster(&mut self, now: Timestamp) -> Vec<Effect> {
        self.set_speed(self.motion.speed.faster(), now)
    }

    /// Slow motion shows the picture: it is what one slows down for.
    pub fn set_speed(&mut self, speed: Speed, now: Timestamp) -> Vec<Effect> {
        self.motion.speed = speed;
        self.motion.is_stopped = false;
        self.motion.shows_picture |= speed != Speed::Full;
        self.hold_or_let_go(now)
    }

    /// Nobody looks at the clients, or somebody does again. Their speed stays what it was for then.
    pub fn set_idle(&mut self, is_idle: bool, now: Timestamp) -> Vec<Effect> {
        self.motion.is_idle = is_idle;
        self.hold_or_let_go(now)
    }

    pub fn stop_or_go_on(&mut self, now: Timestamp) -> Vec<Effect> {
        self.motion.is_stopped = !self.motion.is_stopped;
        self.motion.shows_picture |= self.motion.is_stopped;
        self.hold_or_let_go(now)
    }

    /// Stops, and lets one client go on, on both sides.
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

    /// A side has said how it is: where it does not go as it should, it is told again.
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

    /// The step that is due, for both sides at once; nothing as long as one of them is not ready
    /// for it, for a while.
    pub fn play_due_step(&mut self, now: Timestamp) -> Vec<Effect> {
        let Some(due) = self.motion.next_step().filter(|due| *due <= now) else { return Vec::new() };
        let is_ready = self.fleets.each().all(|(_, fleet)| {
            let waits = fleet.status().is_some_and(|status| status.stepped && status.next_step.is_some());
            *fleet.phase() != Phase::Running || waits && fleet.replay.next().is_none()
        });
        if is_ready || now >= due.plus(MAX_WAIT_FOR_OTHER_SIDE) { self.step_both(now) } else { Vec::new() }
    }

    /// Moves the pictures on up to now; gives whether anything in them moved.
    pub fn move_pictures(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for side in FleetSide::BOTH {
            if let Some(fleet) = self.fleets.fleet_mut(side) {
                moved |= fleet.replay.advance(now) | fleet.replay.moves();
            }
        }
        moved
    }

    /// When the next step is due, or the next frame of what moves, where that shows; `None` while
    /// nothing does.
    pub fn next_due(&self, now: Timestamp, shows_moves: bool) -> Option<Timestamp> {
        // A side that was not ready says so itself when it is.
        let step = self.motion.next_step().filter(|_| self.fleets.is_running());
        let step = step.map(|due| if due > now { due } else { due.plus(MAX_WAIT_FOR_OTHER_SIDE) });
        let moves = self.fleets.each().filter(|_| shows_moves).filter_map(|(_, fleet)| {
            let frame = fleet.replay.moves().then(|| now.plus(FRAME_INTERVAL));
            [frame, fleet.replay.next()].into_iter().flatten().min()
        });
        moves.chain(step).min()
    }
}
