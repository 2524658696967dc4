//! What the screen shows: the live ensemble, the ensemble when the screen was paused, or a moment
//! of a recording.
//!
//! A pause keeps a copy of the state. New changes go to the original, so the memory of a pause is
//! bounded. [`Replay`] is the shown moment of a recording and the way to another one: jumps run one
//! at a time, and further steps queue behind the current one.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Effect, Fleets, Outline, RaisedFinding, ScreenWorld, Travel};
use lockscope_base::znode::Timestamp;
use lockscope_model::text::human::{duration, time_of_day};
use lockscope_past::record::history::PastGap;

/// The refusals of commands that change or ask the ensemble: in the replay of a file, and in the
/// past of the live state.
const NOT_IN_A_RECORDING: &str = "This is a recording: only a live ensemble is changed or asked, and has an audit log.";

const NOT_IN_THE_PAST: &str = "This is the past: {live} goes back to live, where this can be done.";

/// What the screen shows.
#[derive(Debug, Default)]
pub enum Shown {
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
    world: ScreenWorld,
    fleets: Fleets,
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
    pub fn world<'a>(&'a self, live: &'a ScreenWorld) -> &'a ScreenWorld {
        match self {
            Self::Paused(paused) => &paused.world,
            Self::Live | Self::Past(_) => self.followed(live),
        }
    }

    /// The shown state, for rebuilding its rows.
    pub fn world_mut<'a>(&'a mut self, live: &'a mut ScreenWorld) -> &'a mut ScreenWorld {
        match self {
            Self::Live => live,
            Self::Paused(paused) => &mut paused.world,
            Self::Past(replay) => replay.world_mut().unwrap_or(live),
        }
    }

    /// The state that a pause does not stop: the ensemble, or a recording.
    pub fn followed<'a>(&'a self, live: &'a ScreenWorld) -> &'a ScreenWorld {
        self.replay().and_then(Replay::world).unwrap_or(live)
    }

    /// Applies `with` to the live state, and to the shown state if that is another one.
    pub fn each_world(&mut self, live: &mut ScreenWorld, mut with: impl FnMut(&mut ScreenWorld)) {
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
    pub fn pause(&mut self, at: Timestamp, world: &ScreenWorld, fleets: &Fleets) {
        *self = Self::Paused(Box::new(Paused { at, missed: 0, world: world.clone(), fleets: fleets.clone() }));
    }
}

/// The playback speeds.
pub const SPEEDS: [PlaySpeed; 9] = [
    PlaySpeed { tenths: 1 },
    PlaySpeed { tenths: 5 },
    PlaySpeed { tenths: 10 },
    PlaySpeed { tenths: 20 },
    PlaySpeed { tenths: 50 },
    PlaySpeed { tenths: 100 },
    PlaySpeed { tenths: 600 },
    PlaySpeed { tenths: 1_000 },
    PlaySpeed { tenths: 10_000 },
];

/// The index of the original speed in [`SPEEDS`].
const USUAL_SPEED: usize = 2;

/// The interval between two steps of playback.
const PLAY_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum steps queued behind the current one. A key that is held down would otherwise queue more
/// steps than the user wants to wait for.
const MAX_STEPS_AHEAD: usize = 16;

/// A playback speed, in tenths of the original speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaySpeed {
    tenths: u32,
}

impl PlaySpeed {
    /// The label on the screen: `x0.5`, `x10`.
    pub fn label(self) -> String {
        match self.tenths {
            tenths if tenths % 10 == 0 => format!("x{}", tenths / 10),
            tenths => format!("x{}.{}", tenths / 10, tenths % 10),
        }
    }

    fn of(self, time: Duration) -> Duration {
        time.saturating_mul(self.tenths) / 10
    }
}

/// The replay of a recording: of a file, or of what this console recorded itself.
#[derive(Debug)]
pub struct Replay {
    /// The replayed file; `None` for the past of the live state.
    file: Option<ReplayedFile>,
    /// The state at the shown moment; `None` until it has been read.
    world: Option<ScreenWorld>,
    at: Timestamp,
    outline: Outline,
    /// The end of the recording when the outline was made.
    outlined: Timestamp,
    speed: usize,
    playing: bool,
    /// The wall-clock time of the last step of playback.
    played_at: Timestamp,
    way: Way,
    /// Jumps queued behind the current one.
    then: VecDeque<Travel>,
}

/// Whether a jump to another moment is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Stands,
    /// Waits until the recorded changes are written.
    Waits,
    Travels,
}

/// The file of a replayed recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedFile {
    /// The name of the file.
    pub name: String,
    /// The connect string of the recorded ensemble.
    pub connect: String,
}

impl Replay {
    /// The replay of a file with that name and ensemble, with no state read yet.
    pub fn new(name: String, connect: String, outline: Outline) -> Self {
        Self::of(Some(ReplayedFile { name, connect }), outline.until, outline)
    }

    /// The replay of what this console recorded, with no state read yet.
    pub(super) fn of_live(at: Timestamp) -> Self {
        Self::of(None, at, Outline { from: at, until: at, ..Outline::default() })
    }

    fn of(file: Option<ReplayedFile>, at: Timestamp, outline: Outline) -> Self {
        Self {
            file,
            world: None,
            at,
            outlined: if outline.density.is_empty() { Timestamp::default() } else { outline.until },
            outline,
            speed: USUAL_SPEED,
            playing: false,
            played_at: Timestamp::default(),
            way: Way::Stands,
            then: VecDeque::new(),
        }
    }

    /// The replayed file; `None` for the past of the live state.
    pub fn file(&self) -> Option<&ReplayedFile> {
        self.file.as_ref()
    }

    /// Whether this is the past of the live state, and not a file.
    pub fn is_of_live(&self) -> bool {
        self.file.is_none()
    }

    /// The state at the shown moment; `None` until it has been read.
    fn world(&self) -> Option<&ScreenWorld> {
        self.world.as_ref()
    }

    pub(super) fn world_mut(&mut self) -> Option<&mut ScreenWorld> {
        self.world.as_mut()
    }

    /// The shown moment, by the recorder's clock.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    pub fn speed(&self) -> PlaySpeed {
        SPEEDS[self.speed]
    }

    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// The gap that contains the shown moment.
    pub fn gap(&self) -> Option<&PastGap> {
        self.outline.gaps.iter().find(|gap| gap.from <= self.at && gap.to.is_none_or(|to| self.at < to))
    }

    /// The last finding that was raised up to the shown moment.
    pub fn last_finding(&self) -> Option<&RaisedFinding> {
        self.outline.findings.iter().rfind(|finding| finding.at <= self.at)
    }

    /// Starts the first jump: at once, or with `waits`, after the recorded changes are written.
    pub(super) fn set_out(&mut self, travel: Travel, waits: bool) -> Option<Effect> {
        if waits {
            (self.way, self.then) = (Way::Waits, VecDeque::from([travel]));
            return None;
        }
        self.travel(travel)
    }

    /// Starts the jump that waited for a write, if there is one.
    pub(super) fn go_where_it_waits_to_go(&mut self) -> Option<Effect> {
        if self.way != Way::Waits {
            return None;
        }
        let travel = self.then.pop_front()?;
        self.way = Way::Stands;
        self.travel(travel)
    }

    /// Starts a jump, or queues it behind the current one.
    pub(super) fn travel(&mut self, travel: Travel) -> Option<Effect> {
        if self.way != Way::Stands {
            // A step continues from the queued ones. A jump to a moment replaces them.
            if matches!(travel, Travel::At(_) | Travel::To(_) | Travel::Start | Travel::Play { .. }) {
                self.then.clear();
            }
            if self.then.len() < MAX_STEPS_AHEAD {
                self.then.push_back(travel);
            }
            return None;
        }
        self.way = Way::Travels;
        Some(Effect::Travel { from: self.at, outlined: self.outlined, travel })
    }

    /// Starts or stops playback.
    pub(super) fn play_or_stop(&mut self, wall: Timestamp) {
        self.playing = !self.playing;
        self.played_at = wall;
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        self.speed = if faster { (self.speed + 1).min(SPEEDS.len() - 1) } else { self.speed.saturating_sub(1) };
    }

    /// Stops playback and starts a jump.
    pub(super) fn stop_and_travel(&mut self, travel: Travel) -> Option<Effect> {
        self.playing = false;
        self.travel(travel)
    }

    /// When the next step of playback is due, by the wall clock; `None` when nothing plays or a
    /// jump is in progress.
    pub(super) fn plays_on_at(&self) -> Option<Timestamp> {
        (self.playing && self.way == Way::Stands).then(|| self.played_at.plus(PLAY_INTERVAL))
    }

    /// Continues playback up to the current wall-clock time.
    pub(super) fn play_on(&mut self, wall: Timestamp) -> Option<Effect> {
        self.plays_on_at().filter(|due| *due <= wall)?;
        let passed = self.speed().of(wall.since(self.played_at));
        self.played_at = wall;
        self.travel(Travel::Play { until: self.at.plus(passed) })
    }

    /// Ends the current jump at `at`, and starts the next queued one. The caller passes the state
    /// of that moment to [`show`](Self::show).
    pub(super) fn arrive(&mut self, at: Option<Timestamp>, outline: Option<Outline>) -> Option<Effect> {
        self.way = Way::Stands;
        if let Some(outline) = outline {
            self.outlined = outline.until;
            self.outline = outline;
        }
        self.at = at.unwrap_or(self.at);
        self.then.pop_front().and_then(|travel| self.travel(travel))
    }

    /// Stops playback after a jump that led nowhere. Returns whether the screen should return to
    /// the live state, because no moment of the past was shown yet.
    pub(super) fn stop(&mut self) -> bool {
        self.playing = false;
        self.is_of_live() && self.world.is_none()
    }

    /// Sets the state of the shown moment.
    pub(super) fn show(&mut self, world: ScreenWorld) {
        self.world = Some(world);
    }
}

/// The sentence below the bar about the shown moment: its gap, or the last finding before it.
pub fn replay_sentence(replay: &Replay, utc: bool) -> String {
    let time = |at| time_of_day(at, utc);
    if let Some(gap) = replay.gap() {
        let to = gap.to.map_or_else(|| "the end".to_owned(), time);
        return format!("not recorded from {} to {to}: {}", time(gap.from), gap.reason);
    }
    match replay.last_finding() {
        Some(finding) => {
            let (at, ago) = (time(finding.at), replay.at().since(finding.at));
            match ago.as_secs() {
                0 => format!("{at} {}", finding.code),
                _ => format!("{at} {}, {} before this moment", finding.code, duration(ago)),
            }
        }
        None => String::new(),
    }
}
