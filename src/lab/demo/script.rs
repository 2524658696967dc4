//! The script of the tour as data. Pure.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::contend::{Scenario, Speed};
use lockscope_base::znode::ZnodePath;
use lockscope_lock::{Access, Algorithm};

/// The text of the built-in script.
const BUILT_IN: &str = include_str!("tour.toml");

/// The session timeout of test clients: short, so that the audience sees a session expire.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// The scenes of a tour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The scenes in order; there is at least one.
    #[serde(rename = "scene")]
    pub scenes: Vec<Scene>,
}

/// A scene: its clients, and its steps with their captions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The scene's title.
    pub title: String,
    /// The fleets of test clients: none, one, or two side by side.
    #[serde(default, rename = "fleet")]
    pub fleets: Vec<SceneFleet>,
    /// The fleets of growing size that run one after the other.
    pub comparison: Option<SceneComparison>,
    /// The sessions that do what test clients cannot.
    pub scripted: Option<ScriptedClients>,
    /// The steps of the scene, in order; there is at least one.
    #[serde(rename = "step")]
    pub steps: Vec<TourStep>,
}

/// A fleet of test clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneFleet {
    /// The name of the clients' lock, below the tour's namespace.
    pub lock: String,
    /// The algorithm of the lock.
    #[serde(deserialize_with = "recipe")]
    pub recipe: Algorithm,
    /// The number of clients.
    pub clients: u32,
    /// The time for which each client holds the lock.
    #[serde(deserialize_with = "time")]
    pub hold: Duration,
    /// The accesses of the clients by their numbers, such as `RRW`: R reads, W writes.
    #[serde(default, deserialize_with = "accesses")]
    pub accesses: Vec<Access>,
}

impl SceneFleet {
    /// Returns the fleet's scenario at that path.
    pub fn scenario(&self, path: ZnodePath) -> Scenario {
        Scenario {
            hold: self.hold,
            accesses: self.accesses.clone(),
            session_timeout: SESSION_TIMEOUT,
            ..Scenario::new(self.recipe, path, self.clients)
        }
    }
}

/// Fleets that run one after the other: one for each size and recipe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneComparison {
    /// The name of the node above the locks, below the tour's namespace.
    pub lock: String,
    /// The algorithms of the locks.
    #[serde(deserialize_with = "recipes")]
    pub recipes: Vec<Algorithm>,
    /// The numbers of clients.
    pub sizes: Vec<u32>,
    /// The time for which each client holds the lock.
    #[serde(deserialize_with = "time")]
    pub hold: Duration,
    /// The minimum number of acquisitions of each fleet.
    pub acquisitions: u32,
}

impl SceneComparison {
    /// Returns the fleets' scenarios below that path, in the order of their runs.
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

/// The behaviour of the sessions of a [`SceneRunner`](super::SceneRunner).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScriptedClients {
    /// Workers take turns at a lock. On [`SceneAction::LoseReply`], the reply to one worker's
    /// create is lost, and it creates another node.
    LostReply {
        /// The name of the lock.
        lock: String,
        /// The number of workers.
        workers: u32,
        /// The time for which each worker holds the lock.
        #[serde(deserialize_with = "time")]
        hold: Duration,
    },
    /// Two workers hold one lock each. On [`SceneAction::Cross`], each asks for the other's, while
    /// further clients wait behind them.
    Cycle {
        /// The names of the locks.
        locks: [String; 2],
        /// The number of further waiters for each lock.
        behind: u32,
    },
}

impl ScriptedClients {
    /// Returns the names of the scene's locks.
    pub fn locks(&self) -> Vec<&str> {
        match self {
            Self::LostReply { lock, .. } => vec![lock],
            Self::Cycle { locks, .. } => locks.iter().map(String::as_str).collect(),
        }
    }
}

/// A step of a scene: a screen, its caption, and perhaps an action.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TourStep {
    /// The caption, in ASCII; the name of a command in braces stands for its key.
    pub caption: String,
    /// The screen to show.
    pub screen: TourScreen,
    /// The name of the lock to open or to select on that screen.
    pub lock: Option<String>,
    /// A filter for the rows, so that the step's subject stays in view.
    pub filter: Option<String>,
    /// Whether the Contend screen shows the picture; `None` leaves it as it is.
    pub picture: Option<bool>,
    /// Whether the picture is large, for a projector.
    #[serde(default)]
    pub large: bool,
    /// The speed of the test clients from this step on: `full`, or the time between steps (2s, 1s,
    /// 500ms, 250ms, 100ms). `None` leaves it as it is.
    #[serde(default, deserialize_with = "speed")]
    pub speed: Option<Speed>,
    /// Whether the screen goes back to the time of the scene's first finding.
    #[serde(default)]
    pub rewind: bool,
    /// The action at the beginning of the step.
    pub action: Option<SceneAction>,
    /// The duration of the step when the tour plays by itself.
    #[serde(deserialize_with = "time")]
    pub lasts: Duration,
    /// What the tour does when it plays by itself, where a presenter would.
    #[serde(default, rename = "input")]
    pub inputs: Vec<StepInput>,
}

/// Something that the tour does for the presenter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepInput {
    /// How long after the step began.
    #[serde(deserialize_with = "time")]
    pub after: Duration,
    /// What.
    pub does: PresenterInput,
}

/// What a presenter does in the open queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PresenterInput {
    /// Asks to delete the first contender.
    Delete,
    /// Types the sequence number of the first contender, which confirms it.
    Number,
}

/// A screen to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TourScreen {
    /// All locks.
    Locks,
    /// The queue of the step's lock.
    Queue,
    /// The graph of waits between sessions.
    Waits,
    /// The test clients.
    Contend,
    /// The events of all locks.
    Timeline,
    /// The outcomes of the fleets of the scene's comparison.
    Comparison,
}

/// An action of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SceneAction {
    /// The test client that holds is killed.
    CrashHolder,
    /// The test client that holds is stopped.
    FreezeHolder,
    /// The stopped client goes on.
    Thaw,
    /// The reply to the next create is lost.
    LoseReply,
    /// The worker's orphan is deleted, if nobody else has done so.
    CleanUp,
    /// Each of the two workers asks for the other's lock.
    Cross,
    /// One of the two workers ends for good.
    Break,
}

impl SceneAction {
    /// Returns whether test clients run the action. Otherwise the sessions of the
    /// [`SceneRunner`](super::SceneRunner) do.
    pub fn is_of_clients(self) -> bool {
        matches!(self, Self::CrashHolder | Self::FreezeHolder | Self::Thaw)
    }
}

impl Script {
    /// Returns the built-in script.
    ///
    /// # Panics
    ///
    /// Never in practice: a test reads the script.
    pub fn built_in() -> Self {
        Self::read(BUILT_IN).expect("a test reads the built-in script")
    }

    /// Reads a script; the error is a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let script: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if script.scenes.is_empty() || script.scenes.iter().any(|scene| scene.steps.is_empty()) {
            return Err("a script needs at least one scene, and each scene at least one step".to_owned());
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

/// Reads accesses such as `RRW`.
fn accesses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Access>, D::Error> {
    let access = |letter: char| match letter {
        'R' => Ok(Access::Read),
        'W' => Ok(Access::Write),
        other => Err(serde::de::Error::custom(format!("{other} is not an access: R reads, W writes"))),
    };
    String::deserialize(from)?.chars().map(access).collect()
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
    fn the_built_in_tour_is_valid() {
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
                assert!(step.inputs.iter().all(|input| input.after < step.lasts), "{caption:?}");
            }
        }
    }

    #[test]
    fn an_unknown_speed_is_an_error_that_names_the_valid_ones() {
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
    fn a_script_without_scenes_or_with_unknown_keys_is_refused() {
        for wrong in ["", "scene = []", "[[scene]]\ntitle = 'x'\nstep = []", "[[scene]]\ntitle = 'x'\nacts = 3"] {
            assert!(Script::read(wrong).is_err(), "{wrong}");
        }
    }
}
