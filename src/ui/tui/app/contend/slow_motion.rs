//! Slow motion: test clients that go on only step by step, in step on both sides, and the picture that shows it.

use std::time::Duration;

use super::{FleetSide, Phase};
use crate::tui::app::{App, Effect, Screen, Update};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{FleetCommand, Speed};

/// How long a side that cannot go on keeps the other from its next step.
const MAX_WAIT_FOR_OTHER_SIDE: Duration = Duration::from_secs(1);
/// After how long it is said again to a fleet how it is to go.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// How long an event travels where clients that go at full speed were stopped.
const FLIGHT_AT_FULL_SPEED: Duration = Duration::from_millis(500);
/// The time from step to step of clients that nobody looks at.
const IDLE_INTERVAL: Duration = Duration::from_secs(5);
/// The time between two frames while an event travels.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);

/// How the test clients go, and how they are shown.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowMotion {
    speed: Speed,
    /// Whether they stand still until somebody plays a step.
    is_stopped: bool,
    /// Whether nobody looks at them: they go slowly then, whatever their speed.
    is_idle: bool,
    last_step: Timestamp,
    /// When each side was last told to be held or let go.
    told: [Option<Timestamp>; 2],
    shows_picture: bool,
    shows_queue_picture: bool,
    is_large: bool,
}

impl SlowMotion {
    pub fn speed(&self) -> Speed {
        self.speed
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub(in crate::tui::app) fn shows_queue_picture(&self) -> bool {
        self.shows_queue_picture
    }

    /// How long a watch event travels in the picture: half of the time from step to step.
    fn flight(&self) -> Duration {
        self.speed.interval().unwrap_or(FLIGHT_AT_FULL_SPEED * 2) / 2
    }

    /// Whether the clients wait to be let go on.
    fn holds(&self) -> bool {
        self.is_stopped || self.interval().is_some()
    }

    /// The time from step to step; `None` where they go on by themselves.
    fn interval(&self) -> Option<Duration> {
        if self.is_idle { Some(IDLE_INTERVAL) } else { self.speed.interval() }
    }

    /// When the next step is due by itself.
    fn next_step(&self) -> Option<Timestamp> {
        let interval = self.interval().filter(|_| !self.is_stopped)?;
        Some(self.last_step.plus(interval))
    }
}

impl App {
    pub fn slow_motion(&self) -> SlowMotion {
        self.test_clients.slow_motion
    }

    /// Whether Contend shows the picture in place of figures and clients.
    pub fn shows_picture(&self) -> bool {
        self.navigation.screen == Screen::Contend
            && self.test_clients.slow_motion.shows_picture
            && self.fleets().fleet(FleetSide::Left).is_some()
    }

    /// Whether it is drawn for those who sit far away.
    pub fn is_large(&self) -> bool {
        self.test_clients.slow_motion.is_large
    }

    pub(in crate::tui::app) fn turn_picture(&mut self) {
        let motion = &mut self.test_clients.slow_motion;
        match self.navigation.screen {
            Screen::Locks => self.turn_graph(),
            Screen::Queue => motion.shows_queue_picture = !motion.shows_queue_picture,
            _ => motion.shows_picture = !motion.shows_picture,
        }
    }

    pub(in crate::tui::app) fn turn_large(&mut self) {
        let motion = &mut self.test_clients.slow_motion;
        motion.is_large = !motion.is_large;
        if self.navigation.screen == Screen::Queue {
            motion.shows_queue_picture |= motion.is_large;
        } else {
            motion.shows_picture |= motion.is_large;
        }
    }

    pub(in crate::tui::app) fn show_picture(&mut self, large: bool) {
        let motion = &mut self.test_clients.slow_motion;
        (motion.shows_picture, motion.is_large) = (true, motion.is_large || large);
    }

    pub(in crate::tui::app) fn hide_picture(&mut self) {
        self.test_clients.slow_motion.shows_picture = false;
    }

    /// New clients go by themselves and are shown as a list, until somebody wants it otherwise. How large the picture is stays.
    pub(in crate::tui::app) fn leave_slow_motion(&mut self) {
        let is_large = self.test_clients.slow_motion.is_large;
        self.test_clients.slow_motion = SlowMotion { is_large, ..SlowMotion::default() };
    }

    pub(in crate::tui::app) fn go_slower(&mut self) -> Update {
        self.set_speed(self.test_clients.slow_motion.speed.slower())
    }

    pub(in crate::tui::app) fn go_faster(&mut self) -> Update {
        self.set_speed(self.test_clients.slow_motion.speed.faster())
    }

    /// Slow motion shows the picture: it is what one slows down for.
    pub(in crate::tui::app) fn set_speed(&mut self, speed: Speed) -> Update {
        let motion = &mut self.test_clients.slow_motion;
        motion.speed = speed;
        motion.is_stopped = false;
        motion.shows_picture |= speed != Speed::Full;
        self.hold_or_let_go()
    }

    /// Nobody looks at the clients, or somebody does again. Their speed stays what it was for then.
    pub(in crate::tui::app) fn set_idle(&mut self, is_idle: bool) -> Update {
        self.test_clients.slow_motion.is_idle = is_idle;
        self.hold_or_let_go()
    }

    pub(in crate::tui::app) fn stop_or_go_on(&mut self) -> Update {
        let motion = &mut self.test_clients.slow_motion;
        motion.is_stopped = !motion.is_stopped;
        motion.shows_picture |= motion.is_stopped;
        self.hold_or_let_go()
    }

    /// Stops, and lets one client go on, on both sides.
    pub(in crate::tui::app) fn play_one_step(&mut self) -> Update {
        let motion = &mut self.test_clients.slow_motion;
        let held = motion.holds();
        (motion.is_stopped, motion.shows_picture) = (true, true);
        let mut update = if held { Update::redraw() } else { self.hold_or_let_go() };
        update.effects.extend(self.step_both());
        update
    }

    fn hold_or_let_go(&mut self) -> Update {
        let (now, holds) = (self.wall, self.test_clients.slow_motion.holds());
        let flight = self.test_clients.slow_motion.flight();
        let mut effects = Vec::new();
        for side in FleetSide::BOTH {
            let Some(fleet) = self.test_clients.fleets.fleet_mut(side) else { continue };
            fleet.replay.set_flight(flight);
            if fleet.is_active() {
                effects.push(Effect::Order { side, order: FleetCommand::Hold(holds) });
            }
        }
        let motion = &mut self.test_clients.slow_motion;
        (motion.told, motion.last_step) = ([Some(now); 2], now);
        Update { redraw: true, effects }
    }

    fn step_both(&mut self) -> Vec<Effect> {
        self.test_clients.slow_motion.last_step = self.wall;
        let running = self.test_clients.fleets.each().filter(|(_, fleet)| *fleet.phase() == Phase::Running);
        running.map(|(side, _)| Effect::Order { side, order: FleetCommand::Step }).collect()
    }

    /// A side has said how it is: where it does not go as it should, it is told again.
    pub(in crate::tui::app) fn correct_speed(&mut self, side: FleetSide) -> Option<Effect> {
        let (now, holds) = (self.wall, self.test_clients.slow_motion.holds());
        let fleet = self.test_clients.fleets.fleet_mut(side).filter(|fleet| *fleet.phase() == Phase::Running)?;
        fleet.replay.set_flight(self.test_clients.slow_motion.flight());
        if fleet.status()?.stepped == holds {
            return None;
        }
        let told = &mut self.test_clients.slow_motion.told[side as usize];
        if told.is_some_and(|told| now.since(told) < REPEAT_AFTER) {
            return None;
        }
        *told = Some(now);
        Some(Effect::Order { side, order: FleetCommand::Hold(holds) })
    }

    /// The step that is due, for both sides at once; nothing as long as one of them is not ready for it, for a while.
    pub(in crate::tui::app) fn play_due_step(&mut self) -> Vec<Effect> {
        let now = self.wall;
        let Some(due) = self.test_clients.slow_motion.next_step().filter(|due| *due <= now) else { return Vec::new() };
        let is_ready = self.test_clients.fleets.each().all(|(_, fleet)| {
            let waits = fleet.status().is_some_and(|status| status.stepped && status.next_step.is_some());
            *fleet.phase() != Phase::Running || waits && fleet.replay.next().is_none()
        });
        if is_ready || now >= due.plus(MAX_WAIT_FOR_OTHER_SIDE) { self.step_both() } else { Vec::new() }
    }

    /// The time came that [`next_due`](Self::next_due) named.
    pub(in crate::tui::app) fn due(&mut self) -> Update {
        let mut played = self.play_on();
        let now = self.wall;
        let mut moved = false;
        for side in FleetSide::BOTH {
            if let Some(fleet) = self.test_clients.fleets.fleet_mut(side) {
                moved |= fleet.replay.advance(now) | fleet.replay.moves();
            }
        }
        played.effects.extend(self.play_due_step());
        played.redraw |= moved && self.shows_picture() && !self.shown.is_paused();
        played
    }

    /// When an [`Event::Due`](crate::tui::app::Event::Due) is wanted: for the next step, or for the next frame of what moves; `None`
    /// while nothing does.
    pub fn next_due(&self) -> Option<Timestamp> {
        let motion = &self.test_clients.slow_motion;
        let fleets = &self.test_clients.fleets;
        let runs = fleets.each().any(|(_, fleet)| *fleet.phase() == Phase::Running);
        // A side that was not ready says so itself when it is.
        let step = motion.next_step().filter(|_| runs);
        let step = step.map(|due| if due > self.wall { due } else { due.plus(MAX_WAIT_FOR_OTHER_SIDE) });
        let shows = self.shows_picture() && !self.shown.is_paused();
        let moves = fleets.each().filter(|_| shows).filter_map(|(_, fleet)| {
            let frame = fleet.replay.moves().then(|| self.wall.plus(FRAME_INTERVAL));
            [frame, fleet.replay.next()].into_iter().flatten().min()
        });
        moves.chain(step).chain(self.plays_on_at()).min()
    }
}
