//! From step to step and from scene to scene of the tour: what comes next, and what a step waits
//! for.

use std::time::Duration;

use super::Tour;
use crate::tui::app::{FleetSide, FleetView, Fleets, TimelineEntry};
use crate::tui::keymap::Command;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetCommand};
use lockscope_lab::demo::{PresenterInput, SceneAction, TourScreen};
use lockscope_model::queue::Timeline;

/// How long a step waits until what it does can be done.
const MAX_WAIT_FOR_ACT: Duration = Duration::from_secs(10);
/// After how long without a key a tour that does not play is left alone.
const LEFT_ALONE_AFTER: Duration = Duration::from_secs(60);

/// Where a command leads in the tour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// To the step that the tour is at now.
    Step,
    /// Back to the step that the tour is at now: what it does is done already.
    StepBack,
    /// To a scene, which begins anew.
    Scene(usize),
    /// Nowhere.
    Stays,
    /// Nowhere, since nothing follows. The sentence names other commands in braces.
    End(&'static str),
    /// There is no such scene: what to type, as a sentence.
    NoScene(String),
}

/// What time brings to a tour that plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Played {
    /// A second of the step has passed.
    Waits,
    /// What the presenter does now.
    Does(PresenterInput),
    /// The next step.
    Next,
}

impl Tour {
    /// Follows a command of the tour.
    pub(super) fn turn(&mut self, command: Command, argument: Option<&str>, now: Timestamp) -> Turn {
        match command {
            Command::TourNext => self.next(),
            Command::TourBack => self.back(),
            Command::TourNextScene => self.next_scene(),
            // From the middle of a scene too.
            Command::TourPreviousScene => Turn::Scene(self.scene.saturating_sub(1)),
            Command::TourScene => self.scene_named(argument),
            Command::TourPlay => {
                self.playing = !self.playing;
                (self.since, self.typed) = (now, 0);
                Turn::Stays
            }
            _ => Turn::Stays,
        }
    }

    pub(super) fn next(&mut self) -> Turn {
        if self.step + 1 == self.scene().steps.len() {
            return self.next_scene();
        }
        self.step += 1;
        Turn::Step
    }

    fn next_scene(&mut self) -> Turn {
        if self.scene + 1 < self.script.scenes.len() {
            return Turn::Scene(self.scene + 1);
        }
        self.playing = false;
        Turn::End(if self.is_at_end() {
            "This is the last step: {previous} goes back, {quit} quits."
        } else {
            "This is the last scene: {next} goes on, {previous-scene} goes back, {quit} quits."
        })
    }

    /// One step back; what was done to the scene cannot be undone, so that it then begins anew.
    fn back(&mut self) -> Turn {
        if self.step == 0 {
            return Turn::Scene(self.scene.saturating_sub(1));
        }
        if self.step().action.is_some() {
            return Turn::Scene(self.scene);
        }
        self.step -= 1;
        Turn::StepBack
    }

    fn scene_named(&self, number: Option<&str>) -> Turn {
        let scenes = self.script.scenes.len();
        match number.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) if (1..=scenes).contains(&number) => Turn::Scene(number - 1),
            _ => Turn::NoScene(format!("The tour has the scenes 1 to {scenes}: name one, as in `:scene 2`.")),
        }
    }

    /// Goes to the first step of a scene, which is set up once more.
    pub(super) fn begin_scene(&mut self, scene: usize, now: Timestamp) {
        (self.scene, self.step, self.trouble, self.scene_since) = (scene, 0, None, now);
        self.times_set[scene] += 1;
    }

    /// Begins the step that it is at. Gives what is done at once; what is done to test clients
    /// waits until it can be done.
    pub(super) fn begin_step(&mut self, now: Timestamp) -> Option<SceneAction> {
        (self.since, self.typed) = (now, 0);
        self.look = Some(self.step().screen);
        self.act = self.step().action;
        self.rewinds = self.step().rewind;
        self.act.take_if(|act| !act.is_of_clients())
    }

    /// What the step does is done already.
    pub(super) fn act_no_more(&mut self) {
        self.act = None;
    }

    /// The user pressed a key: what was about to be shown is not shown any more.
    pub(super) fn yields(&mut self) {
        self.look = None;
    }

    /// What is to be looked at as soon as it is there.
    pub(super) fn look(&self) -> Option<TourScreen> {
        self.look
    }

    /// When something was first found to be wrong in this scene, if the step goes back there, and
    /// did not yet.
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

    /// What is done to the test clients on the left for this step, once it can be done; then it is
    /// done no more.
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

    /// What time brings; `None` unless it plays.
    pub(super) fn play(&mut self, now: Timestamp) -> Option<Played> {
        if !self.playing {
            return None;
        }
        let passed = now.since(self.since);
        if passed >= self.step().lasts {
            return Some(Played::Next);
        }
        let due = self.step().inputs.get(self.typed).filter(|input| passed >= input.after);
        let Some(input) = due.map(|input| input.does) else { return Some(Played::Waits) };
        self.typed += 1;
        Some(Played::Does(input))
    }

    /// The path of the lock that the step is about.
    pub(super) fn lock_of_step(&self) -> Option<ZnodePath> {
        Some(self.path(self.step().lock.as_ref()?))
    }

    /// Somebody pressed a key.
    pub(super) fn attend(&mut self, now: Timestamp) {
        self.attended_at = now;
    }

    /// Whether nobody has pressed a key for a while. A tour that plays is looked at up to its end.
    pub(super) fn is_left_alone(&mut self, now: Timestamp) -> bool {
        if self.playing {
            self.attended_at = now;
        }
        now.since(self.attended_at) >= LEFT_ALONE_AFTER
    }
}

/// Who holds, and will for a while: what is known of it is a moment old.
fn recent_holder(fleet: &FleetView) -> Option<ClientId> {
    let (age, stepped) = fleet.status().map(|status| (status.age, status.stepped))?;
    let half = fleet.scenario().hold / 2;
    let holds = |client: &&ClientStatus| client.state == ClientState::Holding && !client.frozen;
    let mut holding = fleet.clients().iter().filter(holds);
    holding.find(|client| stepped || age.saturating_sub(client.since) <= half).map(|client| client.id)
}
