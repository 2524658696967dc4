//! Where in a recording the screen stands, and how it gets from one moment to another.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Effect, Outline, RaisedFinding, Travel, World};
use lockscope_base::znode::Timestamp;
use lockscope_model::text::human::{duration, time_of_day};
use lockscope_past::record::history::PastGap;

/// How many times as fast as it happened a recording may be played.
pub const SPEEDS: [Speed; 9] = [
    Speed { tenths: 1 },
    Speed { tenths: 5 },
    Speed { tenths: 10 },
    Speed { tenths: 20 },
    Speed { tenths: 50 },
    Speed { tenths: 100 },
    Speed { tenths: 600 },
    Speed { tenths: 1_000 },
    Speed { tenths: 10_000 },
];

/// As it happened.
const USUAL_SPEED: usize = 2;

/// How often a recording that plays goes on.
const PLAY_INTERVAL: Duration = Duration::from_millis(100);

/// Steps that are remembered while another one is made: whoever holds a key down for long does not want to wait for all of them.
const MAX_STEPS_AHEAD: usize = 16;

/// How fast a recording is played, in tenths of the speed at which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    tenths: u32,
}

impl Speed {
    /// As it stands on the screen: `x0.5`, `x10`.
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

/// A recording that is shown, of a file or of what the console saw itself.
#[derive(Debug)]
pub struct Replay {
    /// The file; `None` where what is live goes on behind it.
    file: Option<ReplayedFile>,
    /// What was known at the moment shown; `None` until it was read.
    world: Option<World>,
    at: Timestamp,
    outline: Outline,
    /// The end of the recording as of the outline.
    outlined: Timestamp,
    speed: usize,
    playing: bool,
    /// When the recording was played on the last time, by the clock on the wall.
    played_at: Timestamp,
    way: Way,
    /// The ways that come after the one that is being gone.
    then: VecDeque<Travel>,
}

/// Whether a way to another moment is being gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Stands,
    /// Until what happened up to now is written.
    Waits,
    Travels,
}

/// The file of a recording that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedFile {
    /// Its name.
    pub name: String,
    /// The ensemble that it is of.
    pub connect: String,
}

impl Replay {
    /// A recording of that name and ensemble, before anything of it was read.
    pub fn new(name: String, connect: String, outline: Outline) -> Self {
        Self::of(Some(ReplayedFile { name, connect }), outline.until, outline)
    }

    /// The past of what is live, before anything of it was read.
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

    /// The file; `None` where what is live goes on behind it.
    pub fn file(&self) -> Option<&ReplayedFile> {
        self.file.as_ref()
    }

    /// Whether what is live goes on behind it.
    pub fn is_of_live(&self) -> bool {
        self.file.is_none()
    }

    /// What was known at the moment shown; `None` until it was read.
    pub(super) fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    pub(super) fn world_mut(&mut self) -> Option<&mut World> {
        self.world.as_mut()
    }

    /// The moment that is shown, by the recorder's clock.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    pub fn speed(&self) -> Speed {
        SPEEDS[self.speed]
    }

    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// The gap that the moment shown lies in.
    pub fn gap(&self) -> Option<&PastGap> {
        self.outline.gaps.iter().find(|gap| gap.from <= self.at && gap.to.is_none_or(|to| self.at < to))
    }

    /// The last finding that was raised before the moment shown, or at it.
    pub fn last_finding(&self) -> Option<&RaisedFinding> {
        self.outline.findings.iter().rfind(|finding| finding.at <= self.at)
    }

    /// Wants to go somewhere for the first time; at once, or when what happened up to now is written.
    pub(super) fn set_out(&mut self, travel: Travel, waits: bool) -> Option<Effect> {
        if waits {
            (self.way, self.then) = (Way::Waits, VecDeque::from([travel]));
            return None;
        }
        self.travel(travel)
    }

    /// What happened up to now is written.
    pub(super) fn go_where_it_waits_to_go(&mut self) -> Option<Effect> {
        if self.way != Way::Waits {
            return None;
        }
        let travel = self.then.pop_front()?;
        self.way = Way::Stands;
        self.travel(travel)
    }

    /// Wants to go somewhere; at once, or when the way that is being gone ends.
    pub(super) fn travel(&mut self, travel: Travel) -> Option<Effect> {
        if self.way != Way::Stands {
            // A step goes on from the one before it; a moment comes in place of all that was wanted before.
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

    /// Turns playing on or off.
    pub(super) fn play_or_stop(&mut self, wall: Timestamp) {
        self.playing = !self.playing;
        self.played_at = wall;
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        self.speed = if faster { (self.speed + 1).min(SPEEDS.len() - 1) } else { self.speed.saturating_sub(1) };
    }

    /// Stops playing, and wants to go somewhere.
    pub(super) fn stop_and_travel(&mut self, travel: Travel) -> Option<Effect> {
        self.playing = false;
        self.travel(travel)
    }

    /// When it goes on, by the clock on the wall; `None` unless it plays.
    pub(super) fn plays_on_at(&self) -> Option<Timestamp> {
        (self.playing && self.way == Way::Stands).then(|| self.played_at.plus(PLAY_INTERVAL))
    }

    /// Plays on up to where the clock on the wall has got to.
    pub(super) fn play_on(&mut self, wall: Timestamp) -> Option<Effect> {
        self.plays_on_at().filter(|due| *due <= wall)?;
        let passed = self.speed().of(wall.since(self.played_at));
        self.played_at = wall;
        self.travel(Travel::Play { until: self.at.plus(passed) })
    }

    /// Stands at the moment that one has got to, and goes on to the next one that is wanted. What
    /// shows there is still to be [taken](Self::show).
    pub(super) fn arrive(&mut self, at: Option<Timestamp>, outline: Option<Outline>) -> Option<Effect> {
        self.way = Way::Stands;
        if let Some(outline) = outline {
            self.outlined = outline.until;
            self.outline = outline;
        }
        self.at = at.unwrap_or(self.at);
        self.then.pop_front().and_then(|travel| self.travel(travel))
    }

    /// Nothing was found where one wanted to go: it stops. Gives whether nothing at all can be
    /// shown, while what is live goes on.
    pub(super) fn stop(&mut self) -> bool {
        self.playing = false;
        self.is_of_live() && self.world.is_none()
    }

    /// Shows what was known at that moment.
    pub(super) fn show(&mut self, world: World) {
        self.world = Some(world);
    }
}

/// What the line below the bar says of the moment that is shown.
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
