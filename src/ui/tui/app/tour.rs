//! Where the guided tour is; what its commands and its steps do to the screen is in `commands` and
//! `follow`.

mod commands;
mod follow;
mod left_alone;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::Scenario;
use lockscope_lab::demo::{Scene, SceneAction, SceneCommand, Script, ScriptedClients, Step, TourScreen};

pub(super) use left_alone::LEFT_ALONE;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tour {
    script: Arc<Script>,
    namespace: ZnodePath,
    sandbox: bool,
    scene: usize,
    step: usize,
    /// How often each scene was set up: a scene that comes again has locks of its own.
    times_set: Vec<u32>,
    since: Timestamp,
    playing: bool,
    /// What is to be looked at as soon as it is there; any key of the user comes before it.
    look: Option<TourScreen>,
    /// What is to be done as soon as it can be.
    act: Option<SceneAction>,
    /// Whether the screen is to go back as soon as it can.
    rewinds: bool,
    /// When the scene began.
    scene_since: Timestamp,
    /// How many of the step's keys were pressed.
    typed: usize,
    /// When somebody last pressed a key, or it played.
    attended_at: Timestamp,
    trouble: Option<String>,
}

impl Tour {
    /// A tour before its first step, below its own node. `sandbox`: whether the ensemble is the sandbox.
    ///
    /// # Panics
    ///
    /// Never for a script that was [read](Script::read): it has a scene with a step.
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

    pub fn step(&self) -> &Step {
        &self.scene().steps[self.step]
    }

    /// The number of the scene, from 1, and how many there are.
    pub fn scene_number(&self) -> (usize, usize) {
        (self.scene + 1, self.script.scenes.len())
    }

    /// The number of the step, from 1, and how many the scene has.
    pub fn step_number(&self) -> (usize, usize) {
        (self.step + 1, self.scene().steps.len())
    }

    /// Whether it is on the sandbox, and on no ensemble that anybody uses.
    pub fn is_on_sandbox(&self) -> bool {
        self.sandbox
    }

    /// The node below which all of it lies.
    pub fn namespace(&self) -> &ZnodePath {
        &self.namespace
    }

    /// Whether it steps on by itself.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// In how long the next step comes by itself; `None` when it does not.
    pub fn next_in(&self, now: Timestamp) -> Option<Duration> {
        self.playing.then(|| self.step().lasts.saturating_sub(now.since(self.since)))
    }

    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    fn is_at_end(&self) -> bool {
        self.scene + 1 == self.script.scenes.len() && self.step + 1 == self.scene().steps.len()
    }

    /// The path of a lock of the scene.
    fn path(&self, lock: &str) -> ZnodePath {
        match self.times_set[self.scene] {
            0 | 1 => self.namespace.child(lock),
            again => self.namespace.child(&format!("{lock}-{again}")),
        }
    }

    fn scenarios(&self) -> Vec<Scenario> {
        self.scene().fleets.iter().map(|cast| cast.scenario(self.path(&cast.lock))).collect()
    }

    /// The fleets of the scene that run one after the other.
    fn comparison(&self) -> Vec<Scenario> {
        let comparison = self.scene().comparison.as_ref();
        comparison.map(|comparison| comparison.scenarios(&self.path(&comparison.lock))).unwrap_or_default()
    }

    fn direction(&self) -> SceneCommand {
        match &self.scene().scripted {
            Some(play) => {
                let locks = ScriptedClients::locks(play).into_iter().map(|lock| self.path(lock)).collect();
                SceneCommand::Start { clients: play.clone(), locks }
            }
            None => SceneCommand::End,
        }
    }
}
