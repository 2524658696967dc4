//! What the screen shows: the ensemble as it is, as it stood when the screen was paused, or a
//! moment of a recording.

use super::{Fleets, Replay, World};
use lockscope_base::znode::Timestamp;

/// Why nothing is changed or asked while a file is shown, and while the past of what is live is.
const NOT_IN_A_RECORDING: &str = "This is a recording: the ensemble is neither changed nor asked.";
const NOT_IN_THE_PAST: &str = "This is the past: {live} goes back to what is live, where that can be done.";

/// What the screen shows.
#[derive(Debug, Default)]
pub(super) enum Shown {
    /// The ensemble as it is.
    #[default]
    Live,
    /// The ensemble as it stood when the screen was paused.
    Paused(Box<Paused>),
    /// A moment of a recording: of a file, or of what the console saw itself.
    Past(Box<Replay>),
}

/// A screen that stands still.
#[derive(Clone, Debug)]
pub struct Paused {
    /// Since when: ages are counted up to here.
    pub at: Timestamp,
    /// Changes that came since.
    pub missed: u64,
    pub(super) world: World,
    pub(super) fleets: Fleets,
}

impl Shown {
    /// Whether it is the ensemble as it is, or was until the connection was lost.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }

    pub fn is_paused(&self) -> bool {
        matches!(self, Self::Paused(_))
    }

    pub fn is_past(&self) -> bool {
        matches!(self, Self::Past(_))
    }

    /// The screen that stands still; `None` when it goes on.
    pub fn paused(&self) -> Option<&Paused> {
        if let Self::Paused(paused) = self { Some(paused) } else { None }
    }

    /// The recording that is shown; `None` where the screen shows an ensemble.
    pub fn replay(&self) -> Option<&Replay> {
        if let Self::Past(replay) = self { Some(replay) } else { None }
    }

    pub fn replay_mut(&mut self) -> Option<&mut Replay> {
        if let Self::Past(replay) = self { Some(replay) } else { None }
    }

    /// What shows, where `live` is the ensemble as it is.
    pub fn world<'a>(&'a self, live: &'a World) -> &'a World {
        match self {
            Self::Paused(paused) => &paused.world,
            Self::Live | Self::Past(_) => self.followed(live),
        }
    }

    /// What shows, to make rows of it anew.
    pub fn world_mut<'a>(&'a mut self, live: &'a mut World) -> &'a mut World {
        match self {
            Self::Live => live,
            Self::Paused(paused) => &mut paused.world,
            Self::Past(replay) => replay.world_mut().unwrap_or(live),
        }
    }

    /// What goes on while the screen is paused: the ensemble, or a recording.
    pub fn followed<'a>(&'a self, live: &'a World) -> &'a World {
        self.replay().and_then(Replay::world).unwrap_or(live)
    }

    /// Does something to what is live and to what is shown, when these are two.
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

    /// The fleets that show: as they are, or as they were when the screen was paused.
    pub fn fleets<'a>(&'a self, live: &'a Fleets) -> &'a Fleets {
        self.paused().map_or(live, |paused| &paused.fleets)
    }

    /// The time of what goes on, paused or not: now, by the clock on the wall, or the moment of a
    /// recording.
    pub fn moment(&self, wall: Timestamp) -> Timestamp {
        self.replay().map_or(wall, Replay::at)
    }

    /// Why the ensemble is neither changed nor asked, with names of commands in braces; `None`
    /// where it may be. A screen that is paused still asks and changes.
    pub fn refusal(&self) -> Option<&'static str> {
        self.replay().map(|replay| if replay.is_of_live() { NOT_IN_THE_PAST } else { NOT_IN_A_RECORDING })
    }

    /// The ensemble has changed: whether that shows. A screen that is paused counts what it does
    /// not show.
    pub fn follow(&mut self, changes: u64) -> bool {
        if let Self::Paused(paused) = self {
            paused.missed += changes;
        }
        self.is_live()
    }

    /// Keeps a copy of everything as of now; what comes goes on into the original. So the memory of
    /// a pause is bounded however long it lasts, and all of that moment can be looked at.
    pub fn pause(&mut self, at: Timestamp, world: &World, fleets: &Fleets) {
        *self = Self::Paused(Box::new(Paused { at, missed: 0, world: world.clone(), fleets: fleets.clone() }));
    }
}
