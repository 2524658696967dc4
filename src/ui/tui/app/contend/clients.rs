//! The test clients of this console: the fleets, the side that the keys act on, and the orders that
//! they get.
//!
//! A command of the user becomes an order to a fleet or to one of its clients. In slow motion the
//! clients wait before each step, and both sides take each step together; a fleet whose report says
//! that it does not follow is ordered again. A comparison runs fleets of growing size one after the
//! other, and keeps their results.

use std::sync::Arc;
use std::time::Duration;

use super::super::event::Effect;
use super::{FleetSide, Fleets, Phase};
use crate::tui::keymap::{Bindings, Command};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, ComparedFleets, Comparison, FleetCommand, FleetOutcome, FleetStatus,
    MAX_CLIENTS, Scenario, Speed,
};
use lockscope_lock::Algorithm;

/// The fleets, and the side that the keys act on.
#[derive(Debug, Default)]
pub struct TestClients {
    fleets: Fleets,
    side: FleetSide,
    motion: SlowMotion,
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
            if let Some(fleet) = self.fleets.fleet_mut(side).filter(|fleet| fleet.phase == Phase::Running) {
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

/// The link delays that `d` cycles through.
const DELAYS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];

/// The argument that names the client that holds the lock now.
const HOLDER_WORD: &str = "holder";

/// The parsed argument of a command on one client.
#[derive(Default)]
struct ClientArgument<'a> {
    client: Option<&'a str>,
    delay: Option<Duration>,
}

impl<'a> ClientArgument<'a> {
    fn parse(argument: Option<&'a str>, takes_delay: bool) -> Result<Self, String> {
        let mut said = Self::default();
        for word in argument.unwrap_or_default().split_whitespace() {
            let delay = humantime::parse_duration(word).ok().filter(|_| takes_delay && word.parse::<u32>().is_err());
            match delay {
                Some(delay) if said.delay.is_none() => said.delay = Some(delay),
                None if said.client.is_none() => said.client = Some(word),
                _ => return Err(format!("`{word}` is one word too many after this command.")),
            }
        }
        Ok(said)
    }
}

impl TestClients {
    /// Returns the order that a command means for the fleet of the listed side. The order goes to
    /// the client named in `argument`, or else to the selected one. The error is a sentence.
    pub fn order(
        &self,
        command: Command,
        argument: Option<&str>,
        selected: Option<ClientId>,
        bindings: &Bindings,
    ) -> Result<Effect, String> {
        if !self.fleets.fleet(self.side).is_some_and(|fleet| fleet.phase == Phase::Running) {
            return Err(bindings.fill("No test clients run here: {start} starts some."));
        }
        let order = match command {
            Command::Join => self.join(argument)?,
            _ => self.order_for_client(command, argument, selected)?,
        };
        Ok(Effect::Order { side: self.side, order })
    }

    fn join(&self, argument: Option<&str>) -> Result<FleetCommand, String> {
        let more = argument.map_or(Ok(1), |text| {
            text.parse().ok().filter(|more| *more > 0).ok_or_else(|| format!("`{text}` is not a number of clients."))
        })?;
        let there = self.fleets.clients(self.side).len();
        let all = u32::try_from(there).unwrap_or(u32::MAX).saturating_add(more);
        if all > MAX_CLIENTS {
            return Err(format!("{all} clients would be too many: a fleet has at most {MAX_CLIENTS}."));
        }
        Ok(FleetCommand::Join(more))
    }

    fn order_for_client(
        &self,
        command: Command,
        argument: Option<&str>,
        selected: Option<ClientId>,
    ) -> Result<FleetCommand, String> {
        let said = ClientArgument::parse(argument, command == Command::Delay)?;
        let client = self.find(said.client, selected)?;
        let id = client.id;
        if command == Command::Leave {
            return Ok(FleetCommand::Leave(id));
        }
        match client.state {
            ClientState::Crashed => return Err(format!("{} has crashed: nothing more can be done to it.", id.name())),
            ClientState::Leaving => return Err(format!("{} is leaving already.", id.name())),
            ClientState::Failed => return Err(format!("{} has failed: nothing can be done to it.", id.name())),
            _ => {}
        }
        Ok(match command {
            Command::Crash => FleetCommand::Crash(id),
            Command::Freeze if client.frozen => FleetCommand::Thaw(id),
            Command::Freeze => FleetCommand::Freeze(id),
            Command::Cut => FleetCommand::Cut(id),
            Command::Heal => FleetCommand::Heal(id),
            _ => FleetCommand::Delay(id, said.delay.unwrap_or_else(|| next_delay(client.delay))),
        })
    }

    /// Returns the client with the number `word`, the holder for `holder`, or the selected client
    /// without a word. The error is a sentence.
    fn find(&self, word: Option<&str>, selected: Option<ClientId>) -> Result<&ClientStatus, String> {
        let fleet = self.fleets.fleet(self.side);
        match word {
            None => {
                let client = selected.and_then(|id| fleet?.client(id));
                client.ok_or_else(|| "No client is selected.".to_owned())
            }
            Some(HOLDER_WORD) => fleet
                .and_then(|fleet| fleet.client(fleet.holder()?.0))
                .ok_or_else(|| "Nobody holds the lock right now.".to_owned()),
            Some(word) => {
                let id = word
                    .strip_prefix("client-")
                    .unwrap_or(word)
                    .parse()
                    .map_err(|_| format!("`{word}` is not a client: give its number, or `{HOLDER_WORD}`."))?;
                fleet
                    .and_then(|fleet| fleet.client(ClientId(id)))
                    .ok_or_else(|| format!("There is no {}.", ClientId(id).name()))
            }
        }
    }
}

fn next_delay(now: Duration) -> Duration {
    DELAYS.into_iter().find(|delay| *delay > now).unwrap_or_default()
}

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
        let running = self.fleets.each().filter(|(_, fleet)| fleet.phase == Phase::Running);
        running.map(|(side, _)| Effect::Order { side, order: FleetCommand::Step }).collect()
    }

    /// Corrects a fleet whose reported speed differs from the wanted one. Repeats the order at most
    /// once a second.
    fn correct_speed(&mut self, side: FleetSide, now: Timestamp) -> Option<Effect> {
        let holds = self.motion.holds();
        let fleet = self.fleets.fleet_mut(side).filter(|fleet| fleet.phase == Phase::Running)?;
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
            fleet.phase != Phase::Running || waits && fleet.replay.next().is_none()
        });
        if is_ready || now >= due.plus(MAX_WAIT_FOR_OTHER_SIDE) { self.step_both(now) } else { Vec::new() }
    }

    /// Advances the pictures to `now`. Returns whether anything in them moved.
    pub fn move_pictures(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for side in FleetSide::BOTH {
            if let Some(fleet) = self.fleets.fleet_mut(side) {
                moved |= fleet.replay.advance(now) | fleet.replay.moves() | fleet.turn.fade(now);
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
            [frame, fleet.replay.next(), fleet.turn.next()].into_iter().flatten().min()
        });
        moves.chain(step).min()
    }
}

/// How long a watch event travels in the picture if clients at full speed were stopped.
const FLIGHT_AT_FULL_SPEED: Duration = Duration::from_millis(500);

/// The time between two steps while the user is idle.
const IDLE_STEP_INTERVAL: Duration = Duration::from_secs(5);

/// The speed of the test clients, and which pictures show them.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch, and every combination is valid")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowMotion {
    pub speed: Speed,
    /// Whether the clients are stopped until the user plays a step.
    pub is_stopped: bool,
    /// Whether the user is idle. The clients then take one step every 5 s, whatever their speed.
    pub is_idle: bool,
    last_step: Timestamp,
    /// When each side was last sent a `Hold` order, which starts or ends stepping.
    told: [Option<Timestamp>; 2],
    /// Whether Contend should show the picture instead of figures and clients.
    pub shows_picture: bool,
    /// Whether Queue should show its picture instead of the list.
    pub shows_queue_picture: bool,
    /// Whether pictures are drawn large, to be readable from a distance.
    pub is_large: bool,
}

impl SlowMotion {
    pub fn turn_picture(&mut self) {
        self.shows_picture = !self.shows_picture;
    }

    pub fn turn_queue_picture(&mut self) {
        self.shows_queue_picture = !self.shows_queue_picture;
    }

    /// Switches between large and normal pictures. Switching to large also shows the picture of
    /// Queue (`is_of_queue`) or of Contend.
    pub fn turn_large(&mut self, is_of_queue: bool) {
        self.is_large = !self.is_large;
        if is_of_queue {
            self.shows_queue_picture |= self.is_large;
        } else {
            self.shows_picture |= self.is_large;
        }
    }

    pub fn show_picture(&mut self, large: bool) {
        (self.shows_picture, self.is_large) = (true, self.is_large || large);
    }

    pub fn hide_picture(&mut self) {
        self.shows_picture = false;
    }

    /// Resets to full speed and lists, for new clients. Keeps the size of the pictures.
    fn leave(&mut self) {
        *self = Self { is_large: self.is_large, ..Self::default() };
    }

    /// Returns how long a watch event travels in the picture: half of the time between two steps.
    fn flight(&self) -> Duration {
        self.speed.interval().unwrap_or(FLIGHT_AT_FULL_SPEED * 2) / 2
    }

    /// Returns whether the clients wait for a `Step` order before each step.
    pub fn holds(&self) -> bool {
        self.is_stopped || self.interval().is_some()
    }

    /// Returns the time between two steps. `None` at full speed, where clients do not wait, unless
    /// the user is idle.
    fn interval(&self) -> Option<Duration> {
        if self.is_idle { Some(IDLE_STEP_INTERVAL) } else { self.speed.interval() }
    }

    /// Returns when the next automatic step is due; `None` if the clients are stopped or do not
    /// wait between steps.
    fn next_step(&self) -> Option<Timestamp> {
        let interval = self.interval().filter(|_| !self.is_stopped)?;
        Some(self.last_step.plus(interval))
    }
}

/// How often a comparison runs all its fleets.
const COMPARED_ROUNDS: u32 = 3;

/// A comparison of fleets, with the latest results.
#[derive(Debug, Default)]
pub struct FleetComparison {
    planned: Vec<Scenario>,
    /// The latest results of the fleets that have run.
    done: Vec<FleetOutcome>,
    /// The fleets that have ended in this round, and the rounds before it.
    ended: usize,
    rounds: u32,
    /// Why the comparison ended early, as a sentence without a full stop.
    failed: Option<String>,
}

/// One fleet of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFleet<'a> {
    /// The scenario of the fleet.
    pub scenario: &'a Scenario,
    /// The result of the fleet; `None` until the fleet has ended.
    pub outcome: Option<&'a FleetOutcome>,
}

impl FleetComparison {
    /// All fleets in the order in which they run, including those that have not run yet.
    pub fn fleets(&self) -> impl ExactSizeIterator<Item = ComparedFleet<'_>> {
        let outcome = |at: usize| self.done.get(at);
        self.planned.iter().enumerate().map(move |(at, scenario)| ComparedFleet { scenario, outcome: outcome(at) })
    }

    /// The number of the running fleet, counted from 1, and the number of all fleets. `None` when
    /// no fleet runs.
    pub fn running(&self) -> Option<(usize, usize)> {
        let all = self.planned.len();
        (self.failed.is_none() && self.ended < all).then(|| (self.ended + 1, all))
    }

    /// The number of the current round, counted from 1, and the number of all rounds.
    pub fn round(&self) -> (u32, u32) {
        (self.rounds + 1, COMPARED_ROUNDS)
    }

    /// The conclusion as a sentence; `None` until all fleets have ended once.
    pub fn conclusion(&self) -> Option<String> {
        let is_done = self.done.len() == self.planned.len();
        let sizes = self.done.chunk_by(|one, next| one.clients == next.clients).filter(|_| is_done);
        let of = |size: &[FleetOutcome], algorithm: Algorithm| {
            size.iter().find(|outcome| outcome.recipe == algorithm.name()).cloned()
        };
        let run = |size: &[FleetOutcome]| {
            let (herd, chain) = (of(size, Algorithm::Herd)?, of(size, Algorithm::Chain)?);
            Some(ComparedFleets::of(herd.clients, herd, chain, None))
        };
        let runs: Vec<ComparedFleets> = sizes.filter_map(run).collect();
        (!runs.is_empty()).then(|| Comparison::of(runs).conclusion())
    }

    /// Why the comparison ended early, as a sentence without a full stop.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Starts a comparison and discards the results of an earlier one. Returns the effect that runs
    /// the fleets one after the other; `None` when there are none.
    fn begin(&mut self, scenarios: Vec<Scenario>) -> Option<Effect> {
        let effect = (!scenarios.is_empty()).then(|| Effect::CompareFleets(scenarios.clone()));
        *self = Self { planned: scenarios, ..Self::default() };
        effect
    }

    /// Stores the result of the fleet that has ended, or why the comparison ended early. Returns the
    /// effect that runs all fleets once more, after the last one of a round.
    pub(in crate::tui::app) fn store(&mut self, outcome: Result<Box<FleetOutcome>, String>) -> Option<Effect> {
        let outcome = match outcome {
            Ok(outcome) => *outcome,
            Err(why) => {
                self.failed = Some(why);
                return None;
            }
        };
        match self.done.get_mut(self.ended) {
            Some(before) => *before = outcome,
            None => self.done.push(outcome),
        }
        self.ended += 1;
        let again = self.ended == self.planned.len() && self.rounds + 1 < COMPARED_ROUNDS;
        again.then(|| {
            (self.ended, self.rounds) = (0, self.rounds + 1);
            Effect::CompareFleets(self.planned.clone())
        })
    }
}
