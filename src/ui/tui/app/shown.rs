//! What the screen shows: the live ensemble, the ensemble when the screen was paused, or a moment
//! of a recording.

use super::{Fleets, Replay, World};
use lockscope_base::znode::Timestamp;

/// The refusals of commands that change or ask the ensemble: in the replay of a file, and in the
/// past of the live state.
const NOT_IN_A_RECORDING: &str = "This is a recording: the ensemble is neither changed nor asked.";
const NOT_IN_THE_PAST: &str = "This is the past: {live} goes back to live, where this can be done.";

/// What the screen shows.
#[derive(Debug, Default)]
pub(super) enum Shown {
    /// The live ensemble.
    #[default]
    Live,
    /// The ensemble when the screen was paused.
    Paused(Box<Paused>),
    /// A moment of a recording: of a file, or of what the console recorded itself.
    Past(Box<Replay>),
}

/// The state of a paused screen.
#[derive(Clone, Debug)]
pub struct Paused {
    /// When the screen was paused. Ages are counted up to this time.
    pub at: Timestamp,
    /// The number of changes since then.
    pub missed: u64,
    pub(super) world: World,
    pub(super) fleets: Fleets,
}

impl Shown {
    /// Whether the screen shows the live ensemble, even if its connection is lost.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }

    pub fn is_paused(&self) -> bool {
        matches!(self, Self::Paused(_))
    }

    pub fn is_past(&self) -> bool {
        matches!(self, Self::Past(_))
    }

    /// The paused state; `None` when the screen is not paused.
    pub fn paused(&self) -> Option<&Paused> {
        if let Self::Paused(paused) = self { Some(paused) } else { None }
    }

    /// The shown recording; `None` when the screen shows an ensemble.
    pub fn replay(&self) -> Option<&Replay> {
        if let Self::Past(replay) = self { Some(replay) } else { None }
    }

    pub fn replay_mut(&mut self) -> Option<&mut Replay> {
        if let Self::Past(replay) = self { Some(replay) } else { None }
    }

    /// The shown state, where `live` is the live ensemble.
    pub fn world<'a>(&'a self, live: &'a World) -> &'a World {
        match self {
            Self::Paused(paused) => &paused.world,
            Self::Live | Self::Past(_) => self.followed(live),
        }
    }

    /// The shown state, for rebuilding its rows.
    pub fn world_mut<'a>(&'a mut self, live: &'a mut World) -> &'a mut World {
        match self {
            Self::Live => live,
            Self::Paused(paused) => &mut paused.world,
            Self::Past(replay) => replay.world_mut().unwrap_or(live),
        }
    }

    /// The state that a pause does not stop: the ensemble, or a recording.
    pub fn followed<'a>(&'a self, live: &'a World) -> &'a World {
        self.replay().and_then(Replay::world).unwrap_or(live)
    }

    /// Applies `with` to the live state, and to the shown state if that is another one.
    pub fn each_world(&mut self, live: &mut World, mut with: impl FnMut(&mut World)) {
        with(live);
        match self {
            Self::Live => {}
            Self::Paused(paused) => with(&mut paused.world),
            Self::Past(replay) => {
                if let Some(world) = replay.world_mut() {
                    with(world);
                }
            }
        }
    }

    /// The shown fleets: as they are now, or as they were when the screen was paused.
    pub fn fleets<'a>(&'a self, live: &'a Fleets) -> &'a Fleets {
        self.paused().map_or(live, |paused| &paused.fleets)
    }

    /// The current time of the followed state, paused or not: the wall-clock time, or the moment of
    /// a recording.
    pub fn moment(&self, wall: Timestamp) -> Timestamp {
        self.replay().map_or(wall, Replay::at)
    }

    /// Why commands that change or ask the ensemble are refused, with names of commands in braces;
    /// `None` when they are allowed. A paused screen allows them.
    pub fn refusal(&self) -> Option<&'static str> {
        self.replay().map(|replay| if replay.is_of_live() { NOT_IN_THE_PAST } else { NOT_IN_A_RECORDING })
    }

    /// Handles changes of the ensemble: returns whether the screen shows them. A paused screen
    /// counts them instead.
    pub fn follow(&mut self, changes: u64) -> bool {
        if let Self::Paused(paused) = self {
            paused.missed += changes;
        }
        self.is_live()
    }

    /// Pauses the screen with a copy of the state. New changes go to the original, so the memory of
    /// a pause is bounded however long it lasts, and the copy holds everything of that moment.
    pub fn pause(&mut self, at: Timestamp, world: &World, fleets: &Fleets) {
        *self = Self::Paused(Box::new(Paused { at, missed: 0, world: world.clone(), fleets: fleets.clone() }));
    }
}
