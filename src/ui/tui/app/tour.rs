//! The state of the guided tour. `commands` carries out its commands, and `follow` its steps.

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
    trouble: Option<String>,
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

    pub fn step(&self) -> &Step {
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

    fn scenarios(&self) -> Vec<Scenario> {
        self.scene().fleets.iter().map(|cast| cast.scenario(self.path(&cast.lock))).collect()
    }

    /// Returns the fleets of the scene's comparison, which run one after the other.
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
