//! The locks and their findings, as the console and the headless commands share them, and the
//! recorder that writes into a file what they take in, where there is one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(test)]
use std::time::Duration;

#[cfg(test)]
use super::batch::SegmentBounds;
use super::batch_writer::{BatchWriter, LostBatches};
use super::beside::{WriteOutcome, WriterBeside};
use super::bounds::RecordOptions;
use super::parts::Rotation;
use super::store::StoreError;
use super::tables::GapRecord;
use super::{BatchRecorder, PlayedEntry, RecordedState, StoreEntry};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath};
use lockscope_model::diagnose::{Diagnosis, Finding, FindingChanges, Thresholds};
use lockscope_model::queue::{Change, Happening, LedBefore, LockId, LockTable};

/// The locks and their findings, live or replayed.
///
/// While the connection is cut, no look is made and the findings stay. The first look after a cut
/// starts over, because it is unknown how long an unseen problem has lasted. While the ensemble is
/// silent, the findings stay as they were when it was last heard, and go on afterwards.
#[derive(Clone, Debug)]
pub struct LiveState {
    known: RecordedState,
    /// Whether a look was due during a cut.
    was_cut_off: bool,
    /// Whether the findings are as of the last answer of a silent ensemble.
    is_silent: bool,
}

/// The result of one look for findings.
#[derive(Clone, Debug, Default)]
pub struct LookOutcome {
    /// The time of the look.
    pub at: Timestamp,
    /// Findings from before a cut that were forgotten.
    pub forgotten: Vec<Arc<Finding>>,
    /// The new findings, and those that are cleared.
    pub changes: FindingChanges,
}

impl LiveState {
    /// Creates a state in which no look was made yet.
    pub fn new(table: LockTable, thresholds: Thresholds) -> Self {
        Self::of(RecordedState::new(table, thresholds))
    }

    /// Creates a state from a moment of a recording.
    pub fn of(known: RecordedState) -> Self {
        Self { known, was_cut_off: false, is_silent: false }
    }

    /// Goes on with the end of a recording in place of this state, which is empty: see
    /// [`LockTable::resuming`]. The first look starts over, as after a cut.
    #[must_use]
    pub fn resuming(self, recorded: RecordedState, roots: &[ZnodePath]) -> Self {
        let (fresh, thresholds) = (self.known.table, *self.known.diagnosis.thresholds());
        let table = fresh.resuming(recorded.table, roots);
        if !table.is_reporting() {
            return Self::new(table, thresholds);
        }
        let known = RecordedState { table, diagnosis: recorded.diagnosis.with_thresholds(thresholds) };
        Self { known, was_cut_off: true, is_silent: false }
    }

    /// Returns the locks.
    pub fn table(&self) -> &LockTable {
        &self.known.table
    }

    /// Takes the locks that changed since the last call.
    pub fn take_touched(&mut self) -> Vec<LockId> {
        self.known.table.take_touched()
    }

    /// Learns who led elections before they were watched.
    pub fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.known.table.learn_leaders(found);
    }

    /// Names the client of a session ([`LockTable::give_name`]).
    pub fn give_name(&mut self, session: SessionId, name: &str) -> bool {
        self.known.table.give_name(session, name)
    }

    /// Returns the findings of the locks.
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.known.diagnosis
    }

    /// Returns the locks and their findings when nothing is followed any more.
    pub fn into_parts(self) -> (LockTable, Diagnosis) {
        (self.known.table, self.known.diagnosis)
    }

    /// Takes in one entry of a recording.
    pub fn play(&mut self, at: Timestamp, entry: StoreEntry<'_>) -> PlayedEntry {
        self.known.play(at, entry)
    }

    /// Takes in a change. Returns its time, which is not before that of the last recorded entry,
    /// and the events that it means.
    pub fn apply(
        &mut self,
        change: Change,
        now: Timestamp,
        recorder: Option<&mut BatchRecorder>,
    ) -> (Timestamp, Vec<Happening>) {
        let RecordedState { table, diagnosis } = &mut self.known;
        let mutes = matches!(change, Change::Muted { .. });
        let (at, happenings) = match recorder {
            Some(recorder) => recorder.apply(change, now, table, diagnosis),
            None => (now, table.apply(change, now)),
        };
        if mutes {
            diagnosis.mute(table.mutes(), at);
        }
        (at, happenings)
    }

    /// Looks for findings; returns `None` while the locks are not seen. The cost grows with the
    /// number of contenders.
    pub fn diagnose(&mut self, now: Timestamp, mut recorder: Option<&mut BatchRecorder>) -> Option<LookOutcome> {
        let RecordedState { table, diagnosis } = &mut self.known;
        if !table.is_in_step() {
            self.was_cut_off = true;
            return None;
        }
        // One look brings the findings to the time at which the ensemble was last heard.
        if std::mem::replace(&mut self.is_silent, !table.is_live()) && !table.is_live() {
            return None;
        }
        let mut forgotten = Vec::new();
        if std::mem::take(&mut self.was_cut_off) {
            forgotten = match &mut recorder {
                Some(recorder) => recorder.forget_findings(now, table, diagnosis),
                None => diagnosis.start_over(),
            };
        }
        let (at, changes) = match recorder {
            Some(recorder) => recorder.examine(now, table, diagnosis),
            None => (now, diagnosis.examine(table, now)),
        };
        Some(LookOutcome { at, forgotten, changes })
    }
}

/// The most bytes that wait for the thread that writes. Then the recorder waits, too.
const MAX_WAITING: u64 = 32 << 20;

/// Records what a table takes in, into a file.
///
/// The owner of the table applies changes through [`batches`](Self::batches), and calls
/// [`flush_beside`](Self::flush_beside) once a second.
#[derive(Debug)]
pub struct Recorder {
    batches: BatchRecorder,
    writer: WriterBeside,
    path: PathBuf,
    /// What became of the batches that were written last.
    outcome: WriteOutcome,
    /// What was given up since the start: the time from and until which, and the first reason.
    lost: Option<(TimeRange, String)>,
}

impl Recorder {
    /// Begins or continues a recording of one ensemble, given by its servers and chroot. Blocks the
    /// thread during disk access.
    pub fn start(path: &Path, connect: &str, options: RecordOptions) -> Result<Self, StoreError> {
        Self::of_writer(BatchWriter::create(path, options)?, connect)
    }

    /// Begins or continues a recording like [`start`](Self::start), in a file for each period: see
    /// [`parts_of`](super::parts_of).
    pub fn start_in_parts(
        path: &Path,
        connect: &str,
        options: RecordOptions,
        rotation: Rotation,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        Self::of_writer(BatchWriter::create_in_parts(path, options, rotation, now)?, connect)
    }

    fn of_writer(mut writer: BatchWriter, connect: &str) -> Result<Self, StoreError> {
        let (batches, path) = (writer.recorder(connect)?, writer.path().to_owned());
        Ok(Self { batches, writer: WriterBeside::start(writer), path, outcome: WriteOutcome::default(), lost: None })
    }

    /// Sets when segments end.
    #[cfg(test)]
    pub(super) fn with_segments(mut self, segment_bounds: SegmentBounds) -> Self {
        self.batches.set_segment_bounds(segment_bounds);
        self
    }

    /// Sets how long to wait for another program that has the file locked.
    #[cfg(test)]
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        let mut writer = self.writer.end().expect("it runs");
        writer.wait_at_most(time);
        self.writer = WriterBeside::start(writer);
    }

    /// Returns the recorder that records what the table takes in. It waits for no disk.
    pub fn batches(&mut self) -> &mut BatchRecorder {
        &mut self.batches
    }

    /// Returns the gap since an earlier run in the same file, before anything is recorded.
    pub fn left_gap(&self) -> Option<GapRecord> {
        self.batches.left_gap()
    }

    /// Lets a thread write what was recorded since the last call. Must be called once a second, even
    /// when nothing happens: that is recorded too. While the thread is busy with the batches of an
    /// earlier call, nothing is handed over, up to 32 MiB of entries; beyond that the call waits for
    /// the disk. Entries that cannot be written are kept and retried with growing pauses, until there
    /// are too many of them.
    pub fn flush_beside(&mut self, now: Timestamp, table: &LockTable) {
        if self.writer.is_busy() {
            let Some(outcome) = self.writer.outcome(self.batches.untaken_bytes() > MAX_WAITING) else { return };
            self.takes(outcome, now);
        }
        self.writer.write(self.batches.take_batches(now, table), now);
    }

    /// Writes what was recorded since the last call, and waits for the disk. Otherwise like
    /// [`flush_beside`](Self::flush_beside).
    pub fn flush(&mut self, now: Timestamp, table: &LockTable) {
        self.settles(now);
        self.flush_beside(now, table);
        self.settles(now);
    }

    /// Waits for the thread.
    fn settles(&mut self, now: Timestamp) {
        if self.writer.is_busy()
            && let Some(outcome) = self.writer.outcome(true)
        {
            self.takes(outcome, now);
        }
    }

    /// Takes in what became of batches.
    fn takes(&mut self, mut outcome: WriteOutcome, now: Timestamp) {
        if let Some(LostBatches { from, reason, tables }) = outcome.lost.take() {
            self.batches.lost(from, now, &reason, tables);
            // What goes with a file is told by the writer, which knows whether it is lost.
            if outcome.file_news.is_none() {
                self.lost.get_or_insert((TimeRange { from, to: now }, reason)).0.to = now;
            }
        }
        if outcome.is_part_over {
            self.batches.begin_part();
        }
        self.outcome = outcome;
    }

    /// Returns the reason why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.outcome.trouble.as_deref()
    }

    /// Returns what became of the file in the last round, if it was moved, removed or written by
    /// others, as a sentence.
    pub fn file_news(&self) -> Option<&str> {
        self.outcome.file_news.as_deref()
    }

    /// Returns how often that happened.
    pub fn files_gone(&self) -> u64 {
        self.outcome.files_gone
    }

    /// Ends the thread. Returns the writer.
    fn take_writer(&mut self, now: Timestamp) -> Result<BatchWriter, StoreError> {
        self.settles(now);
        self.writer.end().ok_or_else(|| {
            let error = io::Error::other("the thread that writes has failed").into();
            StoreError::File { path: self.path.clone(), error }
        })
    }

    /// Continues with another table, as after a new connection with other settings. Blocks the
    /// thread during disk access.
    pub fn start_over(&mut self, connect: &str, table: &LockTable, now: Timestamp) -> Result<(), StoreError> {
        let mut writer = self.take_writer(now)?;
        writer.finish(self.batches.end(now, table), now)?;
        writer.write_batches(Vec::new(), now);
        self.batches.start_over(connect, writer.tables()?);
        self.writer = WriterBeside::start(writer);
        Ok(())
    }

    /// Writes everything and ends the recording. Fails when that takes longer than two seconds, or
    /// when something could not be written since the start. Blocks the thread meanwhile.
    pub fn stop(mut self, table: &LockTable, now: Timestamp) -> Result<RecordingEnd, StoreError> {
        let mut writer = self.take_writer(now)?;
        writer.finish(self.batches.end(now, table), now)?;
        if let Some((time, reason)) = self.lost {
            return Err(StoreError::Lost { path: writer.path().to_owned(), time, reason });
        }
        Ok(RecordingEnd { file_news: writer.file_news().map(str::to_owned), has_lost: writer.has_lost() })
    }
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingEnd {
    /// What became of the file in the last round, if it went, as a sentence.
    pub file_news: Option<String>,
    /// Whether a part of what was recorded is in no file any more, because a file went.
    pub has_lost: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::TableFixture;
    use crate::record::Recorder;
    use crate::record::tests::fixture::{ALL, CONNECT};
    use crate::testing::{connected, lost, reading};
    use lockscope_model::queue::ConnectionState;

    fn codes(found: &[Arc<Finding>]) -> Vec<&'static str> {
        found.iter().map(|finding| finding.code.id()).collect()
    }

    /// Returns the results of looks before, during and after a cut, for a node that nobody will
    /// ever release.
    fn looks_around_a_cut(mut recorder: Option<&mut BatchRecorder>) -> Vec<String> {
        let mut fixture = TableFixture::new();
        let node = "/c/_c_00000000-0000-4000-8000-000000000001-lock-0000000000";
        fixture.create_plain(node, None);
        let (everything, now) = (fixture.walk(), fixture.now);
        let mut live = LiveState::new(fixture.table, Thresholds::default());
        let mut said = Vec::new();
        let mut look = |live: &mut LiveState, recorder: Option<&mut BatchRecorder>| {
            said.push(match live.diagnose(now, recorder) {
                Some(looked) => {
                    format!("forgot {:?}, raised {:?}", codes(&looked.forgotten), codes(&looked.changes.raised))
                }
                None => format!("unseen, {} stand", live.diagnosis().findings().len()),
            });
        };
        look(&mut live, recorder.as_deref_mut());
        live.apply(lost(), now, recorder.as_deref_mut());
        look(&mut live, recorder.as_deref_mut());
        for change in reading(everything) {
            live.apply(change, now, recorder.as_deref_mut());
        }
        look(&mut live, recorder);
        said
    }

    #[test]
    fn findings_are_as_of_the_last_answer_of_a_silent_ensemble_and_go_on_afterwards() {
        let mut fixture = TableFixture::new();
        fixture.create("/a/_c_c3d2e1f0-0000-4000-8000-000000000001-lock-", 1);
        fixture.create("/a/_c_c3d2e1f0-0000-4000-8000-000000000002-lock-", 2);
        let begin = fixture.now;
        let mut live = LiveState::new(fixture.table, Thresholds::default());
        let later = |seconds| begin.plus(Duration::from_secs(seconds));
        let look = |live: &mut LiveState, seconds| {
            live.diagnose(later(seconds), None).map(|looked| codes(&looked.changes.raised))
        };
        let text = |live: &LiveState| live.diagnosis().findings().next().map(|finding| finding.summary.clone());
        look(&mut live, 99);
        assert_eq!(look(&mut live, 100), Some(vec!["stuck"]));
        let said = text(&live);
        assert_eq!(look(&mut live, 103), Some(vec![]));
        assert_ne!(text(&live), said, "the text counts");
        for change in
            [Change::Heard { at: later(100) }, Change::Connection(ConnectionState::Silent { since: later(100) })]
        {
            live.apply(change, later(103), None);
        }
        assert_eq!((look(&mut live, 104), look(&mut live, 130)), (Some(vec![]), None));
        assert_eq!(text(&live), said, "as of the last answer");
        live.apply(connected(), later(131), None);
        assert_eq!(look(&mut live, 132), Some(vec![]), "nothing is raised anew");
    }

    #[test]
    fn findings_stay_during_a_cut_and_start_over_after_it_recorded_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::start(&folder.path().join("locks.db"), CONNECT, ALL).unwrap();
        let expected = [
            r#"forgot [], raised ["persistent-contender"]"#,
            "unseen, 1 stand",
            r#"forgot ["persistent-contender"], raised ["persistent-contender"]"#,
        ];
        assert_eq!(looks_around_a_cut(None), expected);
        assert_eq!(looks_around_a_cut(Some(recorder.batches())), expected);
    }
}
