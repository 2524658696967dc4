//! The state of the guided tour: its scenes and steps, and what the current step waits for.
//!
//! `contend::acts` carries out its commands. After every event, `App` asks it what is possible now:
//! the screen of the step, its action on test clients, its way back into the past, or the
//! presenter's next key.

use std::sync::Arc;
use std::time::Duration;

use crate::tui::app::{FleetSide, FleetView, Fleets, TimelineEntry};
use crate::tui::keymap::Command;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetCommand, Scenario};
use lockscope_lab::demo::{
    PresenterInput, Scene, SceneAction, SceneCommand, Script, ScriptedClients, TourScreen, TourStep,
};
use lockscope_model::queue::Timeline;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tour {
    script: Arc<Script>,
    namespace: ZnodePath,
    sandbox: bool,
    scene: usize,
    step: usize,
    /// How often each scene was set up. A repeated scene gets locks of its own.
    times_set: Vec<u32>,
    since: Timestamp,
    playing: bool,
    /// The screen to open as soon as it can be opened. Any key of the user cancels this.
    look: Option<TourScreen>,
    /// The action to carry out as soon as it is possible.
    act: Option<SceneAction>,
    /// Whether the screen should go back as soon as possible.
    rewinds: bool,
    /// When the scene began.
    scene_since: Timestamp,
    /// The number of the step's keys that were pressed so far.
    typed: usize,
    /// The time of the last key; while the tour plays, the time of the last check.
    attended_at: Timestamp,
    pub(in crate::tui::app) trouble: Option<String>,
}

impl Tour {
    /// A tour before its first step. All of its nodes are below `namespace`. `sandbox` says whether
    /// the ensemble is the sandbox.
    ///
    /// # Panics
    ///
    /// Panics if the script has no scene, or if its first scene has no steps. A script that was
    /// [read](Script::read) always has both.
    pub fn new(script: Script, namespace: ZnodePath, sandbox: bool, playing: bool) -> Self {
        assert!(script.scenes.first().is_some_and(|scene| !scene.steps.is_empty()), "a script has scenes with steps");
        Self {
            times_set: vec![0; script.scenes.len()],
            script: Arc::new(script),
            namespace,
            sandbox,
            scene: 0,
            step: 0,
            since: Timestamp(0),
            playing,
            look: None,
            act: None,
            rewinds: false,
            scene_since: Timestamp(0),
            typed: 0,
            attended_at: Timestamp(0),
            trouble: None,
        }
    }

    pub fn scene(&self) -> &Scene {
        &self.script.scenes[self.scene]
    }

    pub fn step(&self) -> &TourStep {
        &self.scene().steps[self.step]
    }

    /// Returns the number of the scene, counted from 1, and the number of scenes.
    pub fn scene_number(&self) -> (usize, usize) {
        (self.scene + 1, self.script.scenes.len())
    }

    /// Returns the number of the step, counted from 1, and the number of steps in its scene.
    pub fn step_number(&self) -> (usize, usize) {
        (self.step + 1, self.scene().steps.len())
    }

    /// Returns whether the tour runs on the sandbox, and not on a real ensemble.
    pub fn is_on_sandbox(&self) -> bool {
        self.sandbox
    }

    /// Returns the node that contains all nodes of the tour.
    pub fn namespace(&self) -> &ZnodePath {
        &self.namespace
    }

    /// Returns whether the tour advances by itself.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Returns the time until the next automatic step; `None` when the tour does not advance by
    /// itself.
    pub fn next_in(&self, now: Timestamp) -> Option<Duration> {
        self.playing.then(|| self.step().lasts.saturating_sub(now.since(self.since)))
    }

    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn is_at_end(&self) -> bool {
        self.scene + 1 == self.script.scenes.len() && self.step + 1 == self.scene().steps.len()
    }

    /// Returns the path of a lock of the scene. From the second time the scene is set up, its name
    /// ends with the count.
    fn path(&self, lock: &str) -> ZnodePath {
        match self.times_set[self.scene] {
            0 | 1 => self.namespace.child(lock),
            again => self.namespace.child(&format!("{lock}-{again}")),
        }
    }

    pub(in crate::tui::app) fn scenarios(&self) -> Vec<Scenario> {
        self.scene().fleets.iter().map(|cast| cast.scenario(self.path(&cast.lock))).collect()
    }

    /// Returns the fleets of the scene's comparison, which run one after the other.
    pub(in crate::tui::app) fn comparison(&self) -> Vec<Scenario> {
        let comparison = self.scene().comparison.as_ref();
        comparison.map(|comparison| comparison.scenarios(&self.path(&comparison.lock))).unwrap_or_default()
    }

    pub(in crate::tui::app) fn direction(&self) -> SceneCommand {
        match &self.scene().scripted {
            Some(play) => {
                let locks = ScriptedClients::locks(play).into_iter().map(|lock| self.path(lock)).collect();
                SceneCommand::Start { clients: play.clone(), locks }
            }
            None => SceneCommand::End,
        }
    }
}

/// How long a step waits until its action or its rewind becomes possible.
const MAX_WAIT_FOR_ACT: Duration = Duration::from_secs(10);

/// How long without a key until a tour that does not advance by itself counts as left alone.
const LEFT_ALONE_AFTER: Duration = Duration::from_secs(60);

/// Where a command moves the tour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TourTurn {
    /// To the current step, which begins.
    Step,
    /// Back to the current step, whose action was done before and is not repeated.
    StepBack,
    /// To the first step of this scene, which is set up again.
    Scene(usize),
    /// The tour stays at its step.
    Stays,
    /// The tour stays at its step, because no scene follows. The sentence names commands in braces.
    End(&'static str),
    /// The scene does not exist. The sentence says what to type.
    NoScene(String),
}

/// What a tour that advances by itself does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlayedStep {
    /// Nothing is due; only the remaining time changed.
    Waits,
    /// The presenter presses a key.
    Does(PresenterInput),
    /// The next step is due.
    Next,
}

impl Tour {
    /// Carries out a command of the tour. Returns where it moves.
    pub(super) fn run_command(&mut self, command: Command, argument: Option<&str>, now: Timestamp) -> TourTurn {
        match command {
            Command::TourNext => self.next(),
            Command::TourBack => self.back(),
            Command::TourNextScene => self.next_scene(),
            // Goes to the previous scene from any step, not only from the first.
            Command::TourPreviousScene => TourTurn::Scene(self.scene.saturating_sub(1)),
            Command::TourScene => self.scene_named(argument),
            Command::TourPlay => {
                self.playing = !self.playing;
                (self.since, self.typed) = (now, 0);
                TourTurn::Stays
            }
            _ => TourTurn::Stays,
        }
    }

    pub(super) fn next(&mut self) -> TourTurn {
        if self.step + 1 == self.scene().steps.len() {
            return self.next_scene();
        }
        self.step += 1;
        TourTurn::Step
    }

    fn next_scene(&mut self) -> TourTurn {
        if self.scene + 1 < self.script.scenes.len() {
            return TourTurn::Scene(self.scene + 1);
        }
        self.playing = false;
        TourTurn::End(if self.is_at_end() {
            "This is the last step: {previous} goes back, {quit} quits."
        } else {
            "This is the last scene: {next} continues, {previous-scene} goes back, {quit} quits."
        })
    }

    /// Goes one step back; from the first step, to the previous scene. An action cannot be undone,
    /// so going back from a step with an action restarts the scene.
    fn back(&mut self) -> TourTurn {
        if self.step == 0 {
            return TourTurn::Scene(self.scene.saturating_sub(1));
        }
        if self.step().action.is_some() {
            return TourTurn::Scene(self.scene);
        }
        self.step -= 1;
        TourTurn::StepBack
    }

    fn scene_named(&self, number: Option<&str>) -> TourTurn {
        let scenes = self.script.scenes.len();
        match number.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) if (1..=scenes).contains(&number) => TourTurn::Scene(number - 1),
            _ => TourTurn::NoScene(format!("The tour has the scenes 1 to {scenes}: name one, as in `:scene 2`.")),
        }
    }

    /// Goes to the first step of a scene, and counts that it is set up once more.
    pub(super) fn begin_scene(&mut self, scene: usize, now: Timestamp) {
        (self.scene, self.step, self.trouble, self.scene_since) = (scene, 0, None, now);
        self.times_set[scene] += 1;
    }

    /// Begins the current step. Returns an action that is done at once; an action on test clients
    /// stays pending until it is possible.
    pub(super) fn begin_step(&mut self, now: Timestamp) -> Option<SceneAction> {
        (self.since, self.typed) = (now, 0);
        self.look = Some(self.step().screen);
        self.act = self.step().action;
        self.rewinds = self.step().rewind;
        self.act.take_if(|act| !act.is_of_clients())
    }

    /// Cancels the pending action of the step.
    pub(super) fn cancel_action(&mut self) {
        self.act = None;
    }

    /// Cancels the pending change of screen.
    pub(super) fn cancel_screen(&mut self) {
        self.look = None;
    }

    /// Returns the screen to open as soon as its contents exist.
    pub(super) fn screen_to_open(&self) -> Option<TourScreen> {
        self.look
    }

    /// Returns, once, the time of the first finding of this scene, if the step goes back to it.
    /// `None` until the step's screen is open; gives up 10 s after the step began.
    pub(super) fn rewinds_to(&mut self, timeline: &Timeline<TimelineEntry>, now: Timestamp) -> Option<Timestamp> {
        if !self.rewinds || self.look.is_some() {
            return None;
        }
        if now.since(self.since) > MAX_WAIT_FOR_ACT {
            self.rewinds = false;
        }
        let found = timeline.iter().find_map(|entry| match entry {
            TimelineEntry::Finding { at, raised: true, .. } if *at >= self.scene_since => Some(*at),
            _ => None,
        })?;
        self.rewinds = false;
        Some(found)
    }

    /// Returns, once, the step's orders to the test clients on the left, as soon as they are
    /// possible. Gives up 10 s after the step began.
    pub(super) fn orders(&mut self, fleets: &Fleets, now: Timestamp) -> Vec<FleetCommand> {
        if now.since(self.since) > MAX_WAIT_FOR_ACT {
            self.act = None;
        }
        let fleet = fleets.fleet(FleetSide::Left);
        let orders: Vec<FleetCommand> = match (self.act, fleet) {
            (None, _) | (_, None) => Vec::new(),
            (Some(SceneAction::CrashHolder), Some(fleet)) => {
                recent_holder(fleet).map(FleetCommand::Crash).into_iter().collect()
            }
            (Some(SceneAction::FreezeHolder), Some(fleet)) => {
                recent_holder(fleet).map(FleetCommand::Freeze).into_iter().collect()
            }
            (Some(_), Some(fleet)) => {
                let frozen = fleet.clients().iter().filter(|client| client.frozen);
                frozen.map(|client| FleetCommand::Thaw(client.id)).collect()
            }
        };
        self.act.take_if(|_| !orders.is_empty());
        orders
    }

    /// Returns what is due at `now`; `None` unless the tour advances by itself.
    pub(super) fn play(&mut self, now: Timestamp) -> Option<PlayedStep> {
        if !self.playing {
            return None;
        }
        let passed = now.since(self.since);
        if passed >= self.step().lasts {
            return Some(PlayedStep::Next);
        }
        let due = self.step().inputs.get(self.typed).filter(|input| passed >= input.after);
        let Some(input) = due.map(|input| input.does) else { return Some(PlayedStep::Waits) };
        self.typed += 1;
        Some(PlayedStep::Does(input))
    }

    /// Returns the path of the step's lock; `None` if the step names none.
    pub(super) fn lock_of_step(&self) -> Option<ZnodePath> {
        Some(self.path(self.step().lock.as_ref()?))
    }

    /// Records that the user pressed a key.
    pub(super) fn attend(&mut self, now: Timestamp) {
        self.attended_at = now;
    }

    /// Returns whether no key was pressed for a minute. A tour that advances by itself never counts
    /// as left alone.
    pub(super) fn is_left_alone(&mut self, now: Timestamp) -> bool {
        if self.playing {
            self.attended_at = now;
        }
        now.since(self.attended_at) >= LEFT_ALONE_AFTER
    }
}

/// Returns a client that holds and is not frozen. Unless the fleet is stepped, the client must have
/// held for at most half of the hold time: the report is slightly old, and the client should still
/// hold when the order arrives.
fn recent_holder(fleet: &FleetView) -> Option<ClientId> {
    let (age, stepped) = fleet.status().map(|status| (status.age, status.stepped))?;
    let half = fleet.scenario.hold / 2;
    let holds = |client: &&ClientStatus| client.state == ClientState::Holding && !client.frozen;
    let mut holding = fleet.clients().iter().filter(holds);
    holding.find(|client| stepped || age.saturating_sub(client.since) <= half).map(|client| client.id)
}
