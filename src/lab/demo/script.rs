//! The tour as data. Pure.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::contend::{Scenario, Speed};
use lockscope_base::znode::ZnodePath;
use lockscope_lock::{Access, Algorithm};

/// The tour that comes with the program.
const BUILT_IN: &str = include_str!("../../../assets/demo.toml");

/// The session timeout of test clients: short, so that whoever looks on sees one expire.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// All scenes, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// There is one at least.
    #[serde(rename = "scene")]
    pub scenes: Vec<Scene>,
}

/// One scene: its clients, and its steps with their captions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The scene's title.
    pub title: String,
    /// Test clients: none, one fleet, or two side by side.
    #[serde(default, rename = "fleet")]
    pub fleets: Vec<SceneFleet>,
    /// Fleets of growing size, one after the other.
    pub comparison: Option<SceneComparison>,
    /// Sessions that do what test clients do not.
    pub scripted: Option<ScriptedClients>,
    /// Its steps, in order; there is at least one.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// One fleet of test clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneFleet {
    /// The name of their lock, below the tour's namespace.
    pub lock: String,
    /// How they contend.
    #[serde(deserialize_with = "recipe")]
    pub recipe: Algorithm,
    /// How many clients.
    pub clients: u32,
    /// How long each holds.
    #[serde(deserialize_with = "time")]
    pub hold: Duration,
    /// By how many percent of itself a hold is longer or shorter.
    #[serde(default)]
    pub spread: u8,
    /// How many percent of the requests are for reading.
    #[serde(default)]
    pub reads: u8,
}

impl SceneFleet {
    /// What the fleet does at that path.
    pub fn scenario(&self, path: ZnodePath) -> Scenario {
        Scenario {
            hold: self.hold,
            spread: self.spread,
            reads: self.reads,
            session_timeout: SESSION_TIMEOUT,
            ..Scenario::new(self.recipe, path, self.clients)
        }
    }
}

/// Fleets that run one after the other: of each size, one with each recipe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneComparison {
    /// The name of the node above their locks, below the tour's namespace.
    pub lock: String,
    /// How they contend.
    #[serde(deserialize_with = "recipes")]
    pub recipes: Vec<Algorithm>,
    /// How many clients.
    pub sizes: Vec<u32>,
    /// How long each holds.
    #[serde(deserialize_with = "time")]
    pub hold: Duration,
    /// How many acquisitions each fleet makes at least.
    pub acquisitions: u32,
}

impl SceneComparison {
    /// What the fleets do, below that path, in the order in which they run.
    pub fn scenarios(&self, path: &ZnodePath) -> Vec<Scenario> {
        let of = |clients: u32, recipe: &Algorithm| Scenario {
            hold: self.hold,
            rounds: Some(self.acquisitions.div_ceil(clients.max(1))),
            session_timeout: SESSION_TIMEOUT,
            ..Scenario::new(*recipe, path.child(&format!("{}-{clients}", recipe.name())), clients)
        };
        self.sizes.iter().flat_map(|clients| self.recipes.iter().map(|recipe| of(*clients, recipe))).collect()
    }
}

/// What the sessions of a [`SceneRunner`](super::SceneRunner) do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScriptedClients {
    /// Workers take turns at a lock; on [`SceneAction::LoseReply`] the reply to a create of one of them is lost, and it creates again.
    LostReply {
        /// The name of the lock.
        lock: String,
        /// How many workers.
        workers: u32,
        /// How long each holds.
        #[serde(deserialize_with = "time")]
        hold: Duration,
    },
    /// Two workers hold a lock each; on [`SceneAction::Cross`] each asks for the other's, and some wait behind them.
    Cycle {
        /// The names of the locks.
        locks: [String; 2],
        /// How many more wait for each lock.
        behind: u32,
    },
}

impl ScriptedClients {
    /// The names of its locks.
    pub fn locks(&self) -> Vec<&str> {
        match self {
            Self::LostReply { lock, .. } => vec![lock],
            Self::Cycle { locks, .. } => locks.iter().map(String::as_str).collect(),
        }
    }
}

/// One step of a scene: a screen, its caption, and perhaps an action.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The text, in ASCII.
    pub caption: String,
    /// Which screen shows it.
    pub screen: TourScreen,
    /// The name of the lock to open there, or of the one to select.
    pub lock: Option<String>,
    /// Only rows with this text show, so that what the step is about does not scroll away.
    pub filter: Option<String>,
    /// Whether Contend shows the picture there; `None` leaves it as it is.
    pub picture: Option<bool>,
    /// Whether that is large, for a projector.
    #[serde(default)]
    pub large: bool,
    /// How fast the test clients go from this step on: `full`, or the time from one step to the next (2s, 1s, 500ms, 250ms, 100ms).
    /// Without it as before.
    #[serde(default, deserialize_with = "speed")]
    pub speed: Option<Speed>,
    /// Whether the screen goes back to the moment when something was first found to be wrong in this scene.
    #[serde(default)]
    pub rewind: bool,
    /// What is done when the step begins.
    pub action: Option<SceneAction>,
    /// How long it lasts when the tour plays by itself.
    #[serde(deserialize_with = "time")]
    pub lasts: Duration,
    /// Keys that the tour presses when it plays by itself, where a presenter presses them.
    #[serde(default)]
    pub types: Vec<TypedKeys>,
}

/// Keys that the tour presses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypedKeys {
    /// How long after the step began.
    #[serde(deserialize_with = "time")]
    pub after: Duration,
    /// Which; `#` stands for the sequence number of the first contender of the open queue where that is asked for, `\n`
    /// for Enter.
    pub keys: String,
}

/// A screen to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TourScreen {
    /// All locks.
    Locks,
    /// The queue of the step's lock.
    Queue,
    /// Who waits for whom.
    Waits,
    /// The test clients.
    Contend,
    /// The events of all locks.
    Timeline,
    /// What the fleets of the scene's comparison came to.
    Comparison,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SceneAction {
    /// The test client that holds is killed.
    CrashHolder,
    /// The test client that holds is stopped.
    FreezeHolder,
    /// Whoever is stopped goes on.
    Thaw,
    /// The next create's reply is lost.
    LoseReply,
    /// Whoever made the forgotten node deletes it, when nobody else has done so.
    CleanUp,
    /// The two workers ask for each other's lock.
    Cross,
    /// One of the two is stopped for good.
    Break,
}

impl SceneAction {
    /// Whether test clients do it; else the sessions of the [`SceneRunner`](super::SceneRunner) do.
    pub fn is_of_clients(self) -> bool {
        matches!(self, Self::CrashHolder | Self::FreezeHolder | Self::Thaw)
    }
}

impl Script {
    /// The tour that comes with the program.
    ///
    /// # Panics
    ///
    /// Never: a test reads the script.
    pub fn built_in() -> Self {
        Self::read(BUILT_IN).expect("the script is part of the program, and a test reads it")
    }

    /// Reads a script; the error is a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let script: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if script.scenes.is_empty() || script.scenes.iter().any(|scene| scene.steps.is_empty()) {
            return Err("a script has scenes, and each scene has steps".to_owned());
        }
        Ok(script)
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(serde::de::Error::custom)
}

fn speed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Speed>, D::Error> {
    let name = String::deserialize(from)?;
    let known = Speed::named(&name);
    known.map(Some).ok_or_else(|| {
        let all = Speed::ALL.map(|speed| match speed.interval() {
            Some(interval) => humantime::format_duration(interval).to_string(),
            None => "full".to_owned(),
        });
        serde::de::Error::custom(format!("there is no speed {name}, only {}", all.join(", ")))
    })
}

fn recipe<'de, D: Deserializer<'de>>(from: D) -> Result<Algorithm, D::Error> {
    named(&String::deserialize(from)?)
}

fn recipes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Algorithm>, D::Error> {
    Vec::<String>::deserialize(from)?.iter().map(|name| named(name)).collect()
}

fn named<E: serde::de::Error>(name: &str) -> Result<Algorithm, E> {
    let known = Algorithm::named(name, Access::Write, NonZeroU32::MIN);
    known.ok_or_else(|| E::custom(format!("there is no recipe {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_that_comes_with_the_program_can_be_played() {
        let script = Script::built_in();
        assert_eq!(script.scenes.len(), 8);
        for scene in &script.scenes {
            let of_others = usize::from(scene.scripted.is_some()) + usize::from(scene.comparison.is_some());
            let is_of_fleets = !scene.fleets.is_empty();
            assert!(scene.fleets.len() <= 2 && of_others + usize::from(is_of_fleets) == 1, "{}", scene.title);
            let namespace = ZnodePath::root().child("demo");
            let compared = scene.comparison.iter().flat_map(|comparison| comparison.scenarios(&namespace));
            for scenario in compared {
                assert_eq!(scenario.check(), Ok(()), "{}", scene.title);
            }
            for fleet in &scene.fleets {
                assert_eq!(fleet.scenario(namespace.child(&fleet.lock)).check(), Ok(()), "{}", scene.title);
            }
            let fleets = scene.fleets.iter().map(|fleet| fleet.lock.as_str());
            let locks: Vec<&str> = fleets.chain(scene.scripted.iter().flat_map(ScriptedClients::locks)).collect();
            for step in &scene.steps {
                let caption = &step.caption;
                assert!(caption.is_ascii() && !caption.contains('\n') && !caption.is_empty(), "{caption:?}");
                assert!(step.lock.as_deref().is_none_or(|lock| locks.contains(&lock)), "{caption:?}");
                assert!(step.screen != TourScreen::Queue || step.lock.is_some(), "{caption:?}");
                assert!(
                    step.action.is_none_or(|action| action.is_of_clients() == scene.scripted.is_none()),
                    "{caption:?}"
                );
                assert!(step.lasts >= Duration::from_secs(2), "{caption:?}");
                assert!(step.types.iter().all(|typed| typed.after < step.lasts), "{caption:?}");
            }
        }
    }

    #[test]
    fn a_speed_at_which_no_test_client_can_go_is_an_error_that_names_those_that_there_are() {
        let script = |speed: &str| {
            let step = format!("speed = '{speed}'\nscreen = 'contend'\nlasts = '2s'\ncaption = 'x'");
            Script::read(&format!("[[scene]]\ntitle = 'x'\n[[scene.step]]\n{step}"))
        };
        assert_eq!(script("2s").map(|script| script.scenes[0].steps[0].speed), Ok(Some(Speed::EveryTwoSeconds)));
        for wrong in ["3s", "fast", ""] {
            let error = script(wrong).expect_err("no such speed");
            assert!(
                error.contains(&format!("there is no speed {wrong}, only 2s, 1s, 500ms, 250ms, 100ms, full")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_script_without_scenes_or_with_words_that_mean_nothing_is_refused() {
        for wrong in ["", "scene = []", "[[scene]]\ntitle = 'x'\nstep = []", "[[scene]]\ntitle = 'x'\nacts = 3"] {
            assert!(Script::read(wrong).is_err(), "{wrong}");
        }
    }
}
