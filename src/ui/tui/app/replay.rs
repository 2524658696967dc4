//! Where in a recording the screen stands, and how it gets from one moment to another.

use std::collections::VecDeque;
use std::time::Duration;

use super::{App, Arrival, Arrived, Effect, Outline, RaisedFinding, Travel, Update, World};
use crate::tui::keymap::Command;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockName;
use lockscope_model::text::human::{duration, time_of_day};
use lockscope_past::record::PastTime;
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

/// What leads to where the past begins, in place of a time.
pub(super) const START: &str = "start";

const MINUTE: Duration = Duration::from_secs(60);

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
}

impl App {
    /// How many events came since the moment of the past that is shown, as the timeline of what is
    /// live has them, and whether there may be more: it keeps the last ones only, and knows none
    /// from before the console began.
    pub fn events_since(&self) -> (usize, bool) {
        let (timeline, at) = (self.live.timeline(), self.now());
        let before = timeline.partition_point(|entry| entry.at() <= at);
        let is_from_before = self.live.lately().begun().is_none_or(|begun| at < begun);
        (timeline.len() - before, before == 0 && (is_from_before || timeline.first() > 0))
    }

    pub(super) fn travel_by(&mut self, command: Command, argument: Option<&str>) -> Update {
        let lock = self.lock_to_follow();
        let (at, end) = match self.replay() {
            Some(replay) => (replay.at, replay.outline.until),
            None => (self.now(), self.now()),
        };
        let minute = |forward: bool| {
            let by = i64::try_from(MINUTE.as_millis()).unwrap_or(i64::MAX);
            Travel::To(Timestamp(at.0.saturating_add(if forward { by } else { -by })))
        };
        let travel = match command {
            Command::NextEvent => Travel::Event { forward: true, lock },
            Command::PreviousEvent => Travel::Event { forward: false, lock },
            Command::NextMinute => minute(true),
            Command::PreviousMinute => minute(false),
            Command::NextFinding => Travel::Finding { forward: true },
            Command::PreviousFinding => Travel::Finding { forward: false },
            Command::GoToTime if argument == Some(START) => Travel::Start,
            Command::GoToTime => match read_time(argument.unwrap_or_default(), end, self.settings.utc) {
                Ok(time) => Travel::At(time),
                Err(why) => {
                    self.show_failure(why);
                    return Update::redraw();
                }
            },
            _ => return Update::default(),
        };
        let Some(replay) = self.shown.replay_mut() else {
            let leads_back = !matches!(command, Command::NextEvent | Command::NextMinute | Command::NextFinding);
            return if leads_back { self.rewind(travel) } else { self.return_to_live() };
        };
        replay.playing = false;
        let effect = replay.travel(travel);
        Update { redraw: true, effects: effect.into_iter().collect() }
    }

    /// The lock whose events the keys go to: the one that is open, where its queue or its history shows.
    fn lock_to_follow(&self) -> Option<LockName> {
        use crate::tui::screen::Screen;
        matches!(self.screen(), Screen::Queue | Screen::History).then(|| self.opened().cloned()).flatten()
    }

    pub(super) fn play_or_stop(&mut self) -> Update {
        let wall = self.wall;
        let Some(replay) = self.shown.replay_mut() else { return Update::default() };
        replay.playing = !replay.playing;
        replay.played_at = wall;
        Update::redraw()
    }

    pub(super) fn change_speed(&mut self, faster: bool) -> Update {
        let Some(replay) = self.shown.replay_mut() else { return Update::default() };
        replay.speed = if faster { (replay.speed + 1).min(SPEEDS.len() - 1) } else { replay.speed.saturating_sub(1) };
        Update::redraw()
    }

    /// When a recording that plays goes on, by the clock on the wall.
    pub(super) fn plays_on_at(&self) -> Option<Timestamp> {
        let replay = self.replay().filter(|replay| replay.playing && replay.way == Way::Stands)?;
        Some(replay.played_at.plus(PLAY_INTERVAL))
    }

    /// Plays on up to where the clock on the wall has got to.
    pub(super) fn play_on(&mut self) -> Update {
        let (due, wall) = (self.plays_on_at(), self.wall);
        let Some(replay) = self.shown.replay_mut().filter(|_| due.is_some_and(|due| due <= wall)) else {
            return Update::default();
        };
        let passed = replay.speed().of(wall.since(replay.played_at));
        replay.played_at = wall;
        let effect = replay.travel(Travel::Play { until: replay.at.plus(passed) });
        Update { redraw: false, effects: effect.into_iter().collect() }
    }

    /// Shows the moment that one has got to.
    pub(super) fn arrive(&mut self, arrival: Arrival) -> Update {
        let Some(replay) = self.shown.replay_mut() else { return Update::default() };
        replay.way = Way::Stands;
        if let Some(outline) = arrival.outline {
            replay.outlined = outline.until;
            replay.outline = outline;
        }
        if !matches!(arrival.what, Arrived::Nowhere(_)) {
            replay.at = arrival.at;
        }
        let mut effects: Vec<Effect> =
            replay.then.pop_front().and_then(|travel| replay.travel(travel)).into_iter().collect();
        match arrival.what {
            Arrived::World(world) => self.show_world(*world),
            Arrived::Entries(entries) => {
                if let Some(world) = &mut replay.world {
                    world.replay(entries);
                }
            }
            Arrived::Nowhere(why) => {
                replay.playing = false;
                if replay.is_of_live() && replay.world.is_none() {
                    effects.extend(self.return_to_live().effects);
                }
                self.show_failure(why);
            }
        }
        let world = self.shown.replay_mut().and_then(|replay| replay.world.as_mut());
        if let Some((open, world)) = self.navigation.open.as_ref().zip(world) {
            world.reopen(open);
        }
        Update { redraw: true, effects }
    }

    /// Shows another world in the orders and with the filters of the one that is shown.
    fn show_world(&mut self, mut world: World) {
        world.arrange_as(self.world(), self.moment());
        if let Some(open) = &self.navigation.open {
            let lock = world.table().find(&open.path, open.name.as_deref());
            world.open(lock);
        }
        if let Some(replay) = self.shown.replay_mut() {
            replay.world = Some(world);
        }
    }
}

/// The time that somebody typed, of a recording with this end; else what to type, as a sentence.
fn read_time(text: &str, end: Timestamp, utc: bool) -> Result<Timestamp, String> {
    let time: PastTime = text.parse().map_err(|why| format!("`{text}` is no time: {why}."))?;
    time.resolve(end, utc).ok_or_else(|| format!("There was no {text} on that day."))
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
