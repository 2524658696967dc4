//! Moving through a recording, and playing it.

use std::time::Duration;

use super::{App, Arrival, Arrived, Replay, Screen, Travel, Update, World};
use crate::tui::keymap::Command;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockName;
use lockscope_past::record::PastTime;

/// The argument that means the start of the recording, in place of a time.
pub(super) const START: &str = "start";

const MINUTE: Duration = Duration::from_secs(60);

impl App {
    /// The number of events after the shown moment of the past, and whether there may be more. The
    /// count is taken from the live timeline, which keeps only the last events, and none from
    /// before the start of the console.
    pub fn events_since(&self) -> (usize, bool) {
        let (timeline, at) = (self.live.timeline(), self.now());
        let before = timeline.partition_point(|entry| entry.at() <= at);
        let is_from_before = self.live.lately().begun().is_none_or(|begun| at < begun);
        (timeline.len() - before, before == 0 && (is_from_before || timeline.first() > 0))
    }

    pub(super) fn travel_by(&mut self, command: Command, argument: Option<&str>) -> Update {
        let lock = self.lock_to_follow();
        let (at, end) = match self.replay() {
            Some(replay) => (replay.at(), replay.outline().until),
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
        Update { redraw: true, effects: replay.stop_and_travel(travel).into_iter().collect() }
    }

    /// The lock whose events the keys step through: the open lock on Queue and History; `None` on
    /// other screens, where the keys step through all events.
    fn lock_to_follow(&self) -> Option<LockName> {
        matches!(self.screen(), Screen::Queue | Screen::History).then(|| self.opened().cloned()).flatten()
    }

    /// Carries out a playback command.
    pub(super) fn change_playing(&mut self, command: Command) -> Update {
        let wall = self.wall;
        let Some(replay) = self.shown.replay_mut() else { return Update::default() };
        match command {
            Command::PlayFaster => replay.change_speed(true),
            Command::PlaySlower => replay.change_speed(false),
            _ => replay.play_or_stop(wall),
        }
        Update::redraw()
    }

    /// Shows the moment at which a move through the recording has arrived.
    pub(super) fn arrive(&mut self, Arrival { at, what, outline }: Arrival) -> Update {
        let Some(replay) = self.shown.replay_mut() else { return Update::default() };
        let effect = replay.arrive((!matches!(what, Arrived::Nowhere(_))).then_some(at), outline);
        let mut update = Update { redraw: true, effects: effect.into_iter().collect() };
        match what {
            Arrived::World(world) => self.show_world(*world),
            Arrived::Entries(entries) => {
                if let Some(world) = replay.world_mut() {
                    world.replay(entries);
                }
            }
            Arrived::Nowhere(why) => {
                if replay.stop() {
                    update.append(self.return_to_live());
                }
                self.show_failure(why);
            }
        }
        let world = self.shown.replay_mut().and_then(Replay::world_mut);
        if let Some((open, world)) = self.navigation.open.as_ref().zip(world) {
            world.reopen(open);
        }
        update
    }

    /// Shows another state with the orders and filters of the current one.
    fn show_world(&mut self, mut world: World) {
        world.arrange_as(self.world(), self.moment());
        if let Some(open) = self.opened() {
            let lock = world.table().find(&open.path, open.name.as_deref());
            world.open(lock);
        }
        if let Some(replay) = self.shown.replay_mut() {
            replay.show(world);
        }
    }
}

/// Parses a typed time, for a recording that ends at `end`. The error is a sentence that says what
/// is wrong.
fn read_time(text: &str, end: Timestamp, utc: bool) -> Result<Timestamp, String> {
    let time: PastTime = text.parse().map_err(|why| format!("`{text}` is not a time: {why}."))?;
    time.resolve(end, utc).ok_or_else(|| format!("There was no {text} on that day."))
}
