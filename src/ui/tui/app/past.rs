//! The past of the shown ensemble: recording it, going back to it, and completing it.
//!
//! [`Recording`] hands the live changes over for writing, one write at a time. The user goes back
//! to a moment, moves on by events, minutes and findings, or plays the recording; the live state is
//! still updated meanwhile. Moments before the start of the console come from the transaction logs
//! of a server on this machine, if the user asks for them. The recording also tells who led an
//! election before it was watched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    App, Arrival, Arrived, Effect, RecordedSize, Replay, Screen, ScreenWorld, Shown, TakeIn, TakenIn, Travel, Update,
};
use crate::tui::keymap::Command;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::zk::servers;
use lockscope_model::diagnose::Code;
use lockscope_model::queue::{ConnectionState, ElectionRecord, LedBefore, LockName, LockTable};
use lockscope_model::text::human::{count, date_and_time};
use lockscope_past::record::{Batch, BatchRecorder, LostBatches, PastTime};

/// Maximum size of the batches held in memory while an earlier write is not finished, in
/// uncompressed bytes.
const MAX_UNTAKEN: u64 = 16 << 20;

/// The recording of the shown ensemble.
#[derive(Debug)]
pub struct Recording {
    /// Records the changes; `None` when another program records into the file.
    batches: Option<BatchRecorder>,
    /// The earliest moment that can be replayed; `None` when there is none yet.
    since: Option<Timestamp>,
    /// Everything up to this time was handed over for writing.
    taken_until: Timestamp,
    /// Whether the recording is in memory.
    in_memory: bool,
    /// Whether a write is in progress.
    is_written: bool,
    /// Why writing fails at the moment.
    trouble: Option<String>,
}

impl Recording {
    /// A recording from now on by `batches`; without them, by another program.
    pub fn new(batches: Option<BatchRecorder>, since: Option<Timestamp>, now: Timestamp) -> Self {
        Self { batches, since, taken_until: now, in_memory: false, is_written: false, trouble: None }
    }

    /// Says that the recording is in memory.
    #[must_use]
    pub fn in_memory(self) -> Self {
        Self { in_memory: true, ..self }
    }

    /// The earliest moment that can be replayed; `None` when there is none yet.
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Whether this console writes the recording, into memory.
    fn is_written_here(&self) -> bool {
        self.in_memory && self.batches.is_some()
    }

    /// Moves the beginning back.
    fn begins(&mut self, since: Timestamp) {
        self.since = Some(self.since.map_or(since, |before| before.min(since)));
    }

    /// The recorder, which must see every change that the table applies.
    pub(super) fn recorder(&mut self) -> Option<&mut BatchRecorder> {
        self.batches.as_mut()
    }

    /// Whether recorded changes wait to be written.
    pub(super) fn has_more(&self) -> bool {
        self.batches.as_ref().is_some_and(|batches| batches.untaken_bytes() > 0)
    }

    /// Hands the recorded batches over for writing, unless a write is in progress. If too many
    /// bytes wait meanwhile, drops them and records a gap.
    fn write(&mut self, now: Timestamp, table: &LockTable) -> Option<Effect> {
        let batches = self.batches.as_mut()?;
        if self.is_written {
            if batches.untaken_bytes() > MAX_UNTAKEN {
                batches.lost(self.taken_until, now, "events could not be written in time", None);
            }
            return None;
        }
        let taken = batches.take_batches(now, table);
        if taken.is_empty() {
            return None;
        }
        (self.is_written, self.taken_until) = (true, now);
        Some(Effect::Record(taken))
    }

    /// Handles the result of a write. Returns why the write failed, if this reason is new.
    fn written(&mut self, RecordedSize { since, trouble, lost }: RecordedSize, now: Timestamp) -> Option<String> {
        (self.is_written, self.since) = (false, since);
        let news = trouble.clone().filter(|_| trouble != self.trouble);
        self.trouble = trouble;
        if let Some((LostBatches { from, reason, tables }, batches)) = lost.zip(self.recorder()) {
            batches.lost(from, now, &reason, tables);
        }
        news
    }
}

impl App {
    /// Records the live changes into `recording`.
    #[must_use]
    pub fn with_recording(self, recording: Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// The recording of the live changes; `None` when nothing is recorded.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Ends the recording and returns the last batches; none when nothing is left to write.
    pub fn end_recording(&mut self) -> Vec<Batch> {
        let batches = self.recording.as_mut().and_then(Recording::recorder);
        batches.map(|batches| batches.end(self.wall, self.live.table())).unwrap_or_default()
    }

    /// Asks for a write of the recorded batches, unless a write is in progress.
    pub(super) fn record(&mut self) -> Option<Effect> {
        self.recording.as_mut()?.write(self.wall, self.live.table())
    }

    pub(super) fn recorded(&mut self, recorded: RecordedSize) -> Update {
        let Some(recording) = &mut self.recording else { return Update::default() };
        let news = recording.written(recorded, self.wall);
        let redraw = news.is_some();
        if let Some(trouble) = news {
            self.show_failure(format!("{trouble}."));
        }
        let effect = self.shown.replay_mut().and_then(Replay::go_where_it_waits_to_go);
        Update { redraw, effects: effect.into_iter().collect() }
    }

    /// Shows the past instead of the live state, which is still updated.
    pub(super) fn rewind(&mut self, travel: Travel) -> Update {
        if self.recording.is_none() {
            let why = "The past is not kept: start lockscope with --past-memory 64MiB, or with --store FILE.";
            return self.refuse(why.to_owned());
        }
        let at = self.now();
        self.shown = Shown::Live;
        self.deletions.open = None;
        let is_of_now = matches!(self.screen(), Screen::Contend | Screen::Audit | Screen::Node | Screen::Comparison);
        if is_of_now {
            self.go(Screen::Locks);
        }
        let written = self.record();
        let waits = self.recording.as_ref().is_some_and(|recording| recording.is_written);
        let mut replay = Replay::of_live(at);
        let effect = replay.set_out(travel, waits);
        self.shown = Shown::Past(Box::new(replay));
        Update { redraw: true, effects: written.into_iter().chain(effect).collect() }
    }

    /// Returns from the past to the live state. In a file, goes to its end.
    pub(super) fn return_to_live(&mut self) -> Update {
        match self.shown.replay_mut() {
            None => self.refuse(self.settings.bindings.fill(
                "This is live already: {previous-event} goes to the previous event, {minute-back} a minute back.",
            )),
            Some(replay) if replay.is_of_live() => {
                self.shown = Shown::Live;
                Update::effect(Effect::ForgetPast)
            }
            Some(replay) => {
                let end = replay.outline().until;
                let effect = replay.travel(Travel::To(end));
                Update { redraw: true, effects: effect.into_iter().collect() }
            }
        }
    }
}

/// The argument that means the start of the recording, in place of a time.
pub const START: &str = "start";

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
    fn show_world(&mut self, mut world: ScreenWorld) {
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

/// The state of the import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastImport {
    /// The folders of the servers on this machine.
    found: Vec<PathBuf>,
    /// Whether an import is under way.
    reads: bool,
    /// Whether the past was taken in.
    is_done: bool,
}

impl App {
    pub(super) fn server_files_found(&mut self, found: Vec<PathBuf>) -> Update {
        self.past_import.found = found;
        self.offer_import();
        Update::redraw()
    }

    /// Says in the footer of the Timeline that the past can be taken in.
    pub(super) fn offer_import(&mut self) {
        let PastImport { found, reads, is_done } = &*self.past_import;
        let can = !*reads
            && !*is_done
            && self.shown.is_live()
            && self.recording.as_ref().is_some_and(Recording::is_written_here);
        if can && self.screen() == Screen::Timeline && !found.is_empty() && self.footer.notice.is_none() {
            let text = format!("`:import` takes in the past from {}.", folder_names(found));
            self.show_notice(text);
        }
    }

    /// Asks to take the past in from these files, or from those that were found.
    pub(super) fn import_past(&mut self, named: Option<&str>) -> Update {
        let folders = named.map_or_else(|| self.past_import.found.clone(), |named| vec![PathBuf::from(named)]);
        let session = match self.live.table().connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let until = self
            .recording
            .as_ref()
            .filter(|recording| recording.is_written_here())
            .map(|recording| recording.since().unwrap_or(self.wall));
        let (Some(session), Some(until)) = (session, until) else {
            let why = if until.is_none() {
                "The past can be taken in only where this console keeps it in memory: see `lockscope import`."
            } else {
                "There is no session: the past can be taken in once the console is connected."
            };
            return self.refuse(why.to_owned());
        };
        if let Some(why) = self.why_no_import(&folders) {
            return self.refuse(why.to_owned());
        }
        let wish = TakeIn { folders: folders.clone(), session, until, leaderless: self.leaderless().collect() };
        self.past_import.reads = true;
        self.show_notice(format!("The past is taken in from {}…", folder_names(&folders)));
        Update { redraw: true, effects: vec![Effect::TakeIn(Box::new(wish))] }
    }

    fn why_no_import(&self, folders: &[PathBuf]) -> Option<&'static str> {
        if self.past_import.reads {
            Some("The past is being taken in already.")
        } else if self.past_import.is_done {
            Some("The past was taken in already.")
        } else if servers(&self.settings.connect).is_ok_and(|(_, chroot)| chroot.is_some()) {
            Some("Below a chroot the past cannot be taken in here: use `lockscope import --root`.")
        } else if folders.is_empty() {
            Some(
                "No server on this machine names a folder that can be read: name it, as in `:import /var/lib/zookeeper`.",
            )
        } else {
            None
        }
    }

    pub(super) fn past_taken_in(&mut self, taken: Result<TakenIn, String>) -> Update {
        self.past_import.reads = false;
        match taken {
            Ok(TakenIn { since, transactions, leaders }) => {
                self.past_import.is_done = true;
                self.live.learn_leaders(leaders);
                if let Some(recording) = &mut self.recording {
                    recording.begins(since);
                }
                let begins = date_and_time(since, self.settings.utc);
                let transactions = count(transactions);
                self.show_notice(format!(
                    "The past begins at {begins}: {transactions} transactions were read. `:at start` goes there."
                ));
            }
            Err(why) => self.show_failure(format!("The past was not taken in: {}.", why.trim_end_matches('.'))),
        }
        Update::redraw()
    }
}

/// Returns the names of folders as a part of a sentence.
pub fn folder_names(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| Path::display(folder).to_string()).collect::<Vec<_>>().join(", ")
}

/// The most elections that are asked for in all.
const MAX_ASKED: usize = 1_000;

/// The elections that were asked for.
#[derive(Clone, Debug, Default)]
pub struct LastLeaders {
    asked: BTreeSet<ZnodePath>,
}

impl App {
    /// Asks who led elections that nobody leads and whose last leader was not seen.
    pub(super) fn ask_for_last_leaders(&mut self) -> Option<Effect> {
        self.recording.as_ref()?;
        let asked = &self.last_leaders.asked;
        let wanted: Vec<ZnodePath> = self
            .leaderless()
            .filter(|path| !asked.contains(path))
            .take(MAX_ASKED.saturating_sub(asked.len()))
            .collect();
        if wanted.is_empty() {
            return None;
        }
        self.last_leaders.asked.extend(wanted.iter().cloned());
        Some(Effect::FindLastLeaders(wanted))
    }

    /// Returns the elections that nobody leads and whose last leader was not seen.
    fn leaderless(&self) -> impl Iterator<Item = ZnodePath> {
        let (table, diagnosis) = (self.live.table(), self.live.diagnosis());
        let found = diagnosis.findings().filter(|finding| finding.code == Code::NobodyLeads);
        let locks = found.filter_map(|finding| table.lock(finding.lock.id));
        let unseen =
            locks.filter(|lock| table.elections().record(lock).and_then(ElectionRecord::last_tenure).is_none());
        unseen.map(|lock| lock.path().clone()).take(MAX_ASKED)
    }

    pub(super) fn last_leaders_found(&mut self, found: Vec<LedBefore>) -> Update {
        self.live.learn_leaders(found);
        Update::redraw()
    }
}
