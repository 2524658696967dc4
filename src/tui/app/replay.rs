//! Where in a recording the screen stands, and how it gets from one moment to another.

use std::time::Duration;

use super::{App, Arrival, Arrived, Effect, Outline, RaisedFinding, RecordedGap, Travel, Update, World};
use crate::queue::LockName;
use crate::record::PastTime;
use crate::text::human::{duration, time_of_day};
use crate::tui::keymap::Command;
use crate::znode::Timestamp;

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

/// A recording that is shown.
#[derive(Debug)]
pub struct Replay {
    name: String,
    connect: String,
    at: Timestamp,
    outline: Outline,
    speed: usize,
    playing: bool,
    /// When the recording was played on the last time, by the clock on the wall.
    played_at: Timestamp,
    /// Whether a way is being gone, and which one comes after it.
    travels: bool,
    then: Option<Travel>,
}

impl Replay {
    /// A recording of that name and ensemble, before anything of it was read.
    pub fn new(name: String, connect: String, outline: Outline) -> Self {
        let at = outline.until;
        Self {
            name,
            connect,
            at,
            outline,
            speed: USUAL_SPEED,
            playing: false,
            played_at: Timestamp::default(),
            travels: false,
            then: None,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn connect(&self) -> &str {
        &self.connect
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
    pub fn gap(&self) -> Option<&RecordedGap> {
        self.outline.gaps.iter().find(|gap| gap.from <= self.at && self.at < gap.until)
    }

    /// The last finding that was raised before the moment shown, or at it.
    pub fn last_finding(&self) -> Option<&RaisedFinding> {
        self.outline.findings.iter().rfind(|finding| finding.at <= self.at)
    }

    /// Wants to go somewhere; at once, or when the way that is being gone ends.
    fn travel(&mut self, travel: Travel) -> Option<Effect> {
        if std::mem::replace(&mut self.travels, true) {
            self.then = Some(travel);
            return None;
        }
        Some(Effect::Travel { from: self.at, travel })
    }
}

impl App {
    /// The recording that is shown; `None` where the screen shows an ensemble.
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_deref()
    }

    /// Shows a recording in place of an ensemble, as of the moment that is given.
    #[must_use]
    pub fn with_replay(mut self, replay: Replay) -> Self {
        self.settings.write = false;
        self.now = replay.at;
        self.replay = Some(Box::new(replay));
        self.arrange();
        self
    }

    pub(super) fn travel_by(&mut self, command: Command, argument: Option<&str>) -> Update {
        let lock = self.lock_to_follow();
        let Some(replay) = &mut self.replay else { return Update::default() };
        let minute = |forward: bool| {
            let by = i64::try_from(MINUTE.as_millis()).unwrap_or(i64::MAX);
            Travel::To(Timestamp(replay.at.0.saturating_add(if forward { by } else { -by })))
        };
        let travel = match command {
            Command::NextEvent => Travel::Event { forward: true, lock },
            Command::PreviousEvent => Travel::Event { forward: false, lock },
            Command::NextMinute => minute(true),
            Command::PreviousMinute => minute(false),
            Command::NextFinding => Travel::Finding { forward: true },
            Command::PreviousFinding => Travel::Finding { forward: false },
            Command::GoToTime => match read_time(argument.unwrap_or_default(), replay.outline.until, self.settings.utc)
            {
                Ok(time) => Travel::To(time),
                Err(why) => {
                    self.show_failure(why);
                    return Update::redraw();
                }
            },
            _ => return Update::default(),
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
        let Some(replay) = &mut self.replay else { return Update::default() };
        replay.playing = !replay.playing;
        replay.played_at = wall;
        Update::redraw()
    }

    pub(super) fn change_speed(&mut self, faster: bool) -> Update {
        let Some(replay) = &mut self.replay else { return Update::default() };
        replay.speed = if faster { (replay.speed + 1).min(SPEEDS.len() - 1) } else { replay.speed.saturating_sub(1) };
        Update::redraw()
    }

    /// When a recording that plays goes on, by the clock on the wall.
    pub(super) fn plays_on_at(&self) -> Option<Timestamp> {
        let replay = self.replay.as_ref().filter(|replay| replay.playing && !replay.travels)?;
        Some(replay.played_at.plus(PLAY_INTERVAL))
    }

    /// Plays on up to where the clock on the wall has got to.
    pub(super) fn play_on(&mut self) -> Update {
        let (due, wall) = (self.plays_on_at(), self.wall);
        let Some(replay) = self.replay.as_mut().filter(|_| due.is_some_and(|due| due <= wall)) else {
            return Update::default();
        };
        let passed = replay.speed().of(wall.since(replay.played_at));
        replay.played_at = wall;
        let effect = replay.travel(Travel::Play { until: replay.at.plus(passed) });
        Update { redraw: false, effects: effect.into_iter().collect() }
    }

    /// Shows the moment that one has got to.
    pub(super) fn arrive(&mut self, arrival: Arrival) -> Update {
        let Some(replay) = &mut self.replay else { return Update::default() };
        replay.travels = false;
        if let Some(outline) = arrival.outline {
            replay.outline = outline;
        }
        if !matches!(arrival.what, Arrived::Nowhere(_)) {
            replay.at = arrival.at;
            self.now = arrival.at;
        }
        let effect = replay.then.take().and_then(|travel| replay.travel(travel));
        match arrival.what {
            Arrived::World(world) => self.show_world(*world),
            Arrived::Entries(entries) => self.live.replay(entries),
            Arrived::Nowhere(why) => {
                replay.playing = false;
                self.show_failure(why);
            }
        }
        if let Some(open) = &self.navigation.open {
            self.live.reopen(open);
        }
        Update { redraw: true, effects: effect.into_iter().collect() }
    }

    /// Shows another world in the orders and with the filters of the one that is shown.
    fn show_world(&mut self, world: World) {
        let before = std::mem::replace(&mut self.live, world);
        self.live.arrange_as(&before, self.now);
        if let Some(open) = &self.navigation.open {
            let lock = self.live.table().find(&open.path, open.name.as_deref());
            self.live.open(lock);
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
        return format!("not recorded from {} to {}: {}", time(gap.from), time(gap.until), gap.reason);
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
