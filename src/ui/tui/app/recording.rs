//! What the console takes down of what it sees, so that it can go back to it.

use super::{App, Effect, Recorded, Replay, Screen, Shown, Travel, Update};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockTable;
use lockscope_past::record::{Batch, BatchRecorder, LostBatches};

/// More than this is not held while the disk keeps somebody waiting, in bytes that are not compressed.
const MAX_UNTAKEN: u64 = 16 << 20;

/// The past of the ensemble that is shown, as far as it is known.
#[derive(Debug)]
pub struct Recording {
    /// What takes down what is seen; `None` where another program records into the file.
    batches: Option<BatchRecorder>,
    /// The first moment that one can go back to; `None` as long as there is none.
    since: Option<Timestamp>,
    /// Up to when everything was given away to be written.
    taken_until: Timestamp,
    /// Whether batches are being written.
    is_written: bool,
    /// Why nothing is written at the moment.
    trouble: Option<String>,
}

impl Recording {
    /// What is taken down by `batches` from now on; without, by another program.
    pub fn new(batches: Option<BatchRecorder>, since: Option<Timestamp>, now: Timestamp) -> Self {
        Self { batches, since, taken_until: now, is_written: false, trouble: None }
    }

    /// The first moment that one can go back to; `None` as long as there is none.
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// What has to be told what the table takes in.
    pub(super) fn recorder(&mut self) -> Option<&mut BatchRecorder> {
        self.batches.as_mut()
    }

    /// Whether something waits to be written.
    pub(super) fn has_more(&self) -> bool {
        self.batches.as_ref().is_some_and(|batches| batches.untaken_bytes() > 0)
    }

    /// Gives away what was taken down, to be written, unless something is being written.
    fn write(&mut self, now: Timestamp, table: &LockTable) -> Option<Effect> {
        let batches = self.batches.as_mut()?;
        if self.is_written {
            if batches.untaken_bytes() > MAX_UNTAKEN {
                batches.lost(self.taken_until, now, "what happened could not be written in time", None);
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

    /// What was given away is written, or is not. Gives why not, where that is news.
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
    /// Keeps the past of what it shows.
    #[must_use]
    pub fn with_recording(self, recording: Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// The past of what is shown; `None` where nothing of it is kept.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The last of what was taken down; empty where nothing is to be written.
    pub fn end_recording(&mut self) -> Vec<Batch> {
        let batches = self.recording.as_mut().and_then(Recording::recorder);
        batches.map(|batches| batches.end(self.wall, self.live.table())).unwrap_or_default()
    }

    /// Has written what was taken down, unless something is being written.
    pub(super) fn record(&mut self) -> Option<Effect> {
        self.recording.as_mut()?.write(self.wall, self.live.table())
    }

    pub(super) fn recorded(&mut self, recorded: Recorded) -> Update {
        let Some(recording) = &mut self.recording else { return Update::default() };
        let news = recording.written(recorded, self.wall);
        let redraw = news.is_some();
        if let Some(trouble) = news {
            self.show_failure(format!("The past is not written at the moment, and tried again: {trouble}."));
        }
        let effect = self.shown.replay_mut().and_then(Replay::go_where_it_waits_to_go);
        Update { redraw, effects: effect.into_iter().collect() }
    }

    /// Shows the past in place of what is live, which goes on behind it.
    pub(super) fn rewind(&mut self, travel: Travel) -> Update {
        if self.recording.is_none() {
            let why = "Nothing of the past is kept: start lockscope with --past-memory 64MiB, or with --store FILE.";
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

    /// Back from the past to what is live; of a file, to its end.
    pub(super) fn return_to_live(&mut self) -> Update {
        match self.shown.replay_mut() {
            None => {
                self.refuse(self.settings.bindings.fill(
                    "This is live already: {previous-event} goes to the event before, {minute-back} a minute back.",
                ))
            }
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
