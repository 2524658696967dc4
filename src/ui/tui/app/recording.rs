//! Records the live changes, so that the user can go back in time.

use super::{App, Effect, Recorded, Replay, Screen, Shown, Travel, Update};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockTable;
use lockscope_past::record::{Batch, BatchRecorder, LostBatches};

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
    pub(super) fn is_written_here(&self) -> bool {
        self.in_memory && self.batches.is_some()
    }

    /// Moves the beginning back.
    pub(super) fn begins(&mut self, since: Timestamp) {
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
    fn written(&mut self, Recorded { since, trouble, lost }: Recorded, now: Timestamp) -> Option<String> {
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

    pub(super) fn recorded(&mut self, recorded: Recorded) -> Update {
        let Some(recording) = &mut self.recording else { return Update::default() };
        let news = recording.written(recorded, self.wall);
        let redraw = news.is_some();
        if let Some(trouble) = news {
            self.show_failure(format!("The past cannot be written at the moment; lockscope tries again: {trouble}."));
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
