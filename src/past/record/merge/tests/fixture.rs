//! An ensemble that a recorder watches, with gaps, and that a log has the whole time.

use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::record::batch::SegmentBounds;
use crate::record::merge::{LogCoverage, MergeError, MergeTarget, Merged};
use crate::record::tables::RowSource;
use crate::record::tests::fixture::{ALL, ConsoleFixture};
use crate::record::{BatchRecorder, BatchWriter, Past, Playback, PlaybackStep};
use crate::testing::{connected, deleted, lost};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath, Zxid};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, Deleter, LockTable};

/// The log of the ensemble, as an import records it.
struct LogFixture {
    path: PathBuf,
    writer: BatchWriter,
    batches: BatchRecorder,
    table: LockTable,
    diagnosis: Diagnosis,
}

pub struct MergeFixture {
    pub watched: ConsoleFixture,
    log: Option<LogFixture>,
    /// Whether the recorder sees what happens.
    is_watching: bool,
    zxid: i64,
    folder: TempDir,
}

impl MergeFixture {
    /// Begins with a log and a recorder.
    pub fn new(segments: SegmentBounds) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let watched = ConsoleFixture::new(ALL, segments);
        let mut fixture = Self { watched, log: None, is_watching: true, zxid: 1_000_000, folder };
        let began = std::mem::replace(&mut fixture.watched.ensemble.now, Timestamp(999_000));
        fixture.begin_log(segments);
        fixture.watched.ensemble.now = began;
        fixture
    }

    /// Begins the log with what stands now.
    fn begin_log(&mut self, segments: SegmentBounds) {
        let path = self.folder.path().join("log.db");
        let mut writer = BatchWriter::create(&path, ALL).unwrap();
        let mut batches = writer.recorder_of("/logs", RowSource::Log).unwrap();
        batches.set_segment_bounds(segments);
        let (table, diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
        self.log = Some(LogFixture { path, writer, batches, table, diagnosis });
        self.log_reads();
    }

    fn log_reads(&mut self) {
        let walk = self.watched.ensemble.walk();
        [connected()].into_iter().chain(walk).for_each(|change| self.logs(change));
    }

    fn logs(&mut self, change: Change) {
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.batches.apply(change, now, &mut log.table, &log.diagnosis);
        }
    }

    pub fn now(&self) -> Timestamp {
        self.watched.ensemble.now
    }

    pub fn pass(&mut self, ms: i64) {
        self.watched.ensemble.now.0 += ms;
    }

    /// Creates a contender.
    pub fn comes(&mut self, prefix: &str, session: i64) -> ZnodePath {
        let path = self.watched.ensemble.put_numbered(prefix, session);
        let change = self.watched.ensemble.observed(&path);
        self.logs(change.clone());
        self.sees(change);
        path
    }

    /// Deletes a contender, by its own session.
    pub fn goes(&mut self, path: &ZnodePath) {
        self.zxid += 1;
        let gone = self.watched.ensemble.tree.remove(path).expect("it stands");
        let by = Deleter::Session(gone.stat.ephemeral_owner.unwrap_or(SessionId(0)));
        self.logs(Change::DeletedBy { path: path.clone(), zxid: Zxid(self.zxid), by });
        self.sees(deleted(path));
    }

    fn sees(&mut self, change: Change) {
        if self.is_watching {
            self.watched.apply(change);
        } else {
            self.pass(3);
        }
    }

    /// The recorder loses its connection.
    pub fn cut(&mut self) {
        if self.is_watching {
            self.watched.cut();
            self.is_watching = false;
        }
    }

    /// The recorder connects and reads everything again.
    pub fn reconnect(&mut self) {
        if !self.is_watching && self.watched.recorder.is_some() {
            self.watched.read_everything();
            self.is_watching = true;
        }
    }

    /// The recorder is killed.
    pub fn kill(&mut self) {
        self.watched.kill();
        self.is_watching = false;
    }

    /// The recorder starts again.
    pub fn start(&mut self) {
        if self.watched.recorder.is_none() {
            self.watched.start();
            self.is_watching = true;
        }
    }

    pub fn flush(&mut self) {
        if self.watched.recorder.is_some() {
            self.watched.flush();
        }
    }

    /// Transactions are missing from the log, until [`log_goes_on`](Self::log_goes_on).
    pub fn log_misses(&mut self) {
        self.logs(lost());
    }

    pub fn log_goes_on(&mut self) {
        self.log_reads();
    }

    /// Looks for findings in the log, and writes it.
    pub fn examine_log(&mut self) {
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.batches.examine(now, &log.table, &mut log.diagnosis);
            let batches = log.batches.take_batches(now, &log.table);
            assert!(log.writer.write_batches(batches, now).is_none());
        }
    }

    /// Returns the nodes that hold, according to the log.
    pub fn holders(&self) -> Vec<String> {
        holders(&self.log.as_ref().expect("a log").table)
    }

    /// Ends the log here. Returns its recording.
    pub fn end_log(&mut self) -> PathBuf {
        let now = self.now();
        let mut log = self.log.take().expect("a log");
        let batches = log.batches.end(now, &log.table);
        log.writer.finish_alone(batches, now).unwrap();
        log.path
    }

    /// Stops the recorder, if it runs.
    pub fn stop(&mut self) {
        if self.watched.recorder.is_some() {
            self.watched.stop();
            self.is_watching = false;
        }
        // The usual name of the ensemble has a chroot.
        self.sql().execute("UPDATE run SET connect = 'zk1:2181'", []).unwrap();
    }

    pub fn sql(&self) -> Connection {
        Connection::open(&self.watched.path).unwrap()
    }

    /// Completes the recording. `stops` is polled.
    pub fn try_merge(&self, log: &std::path::Path, stops: &dyn Fn() -> bool) -> Result<Merged, MergeError> {
        let covered = LogCoverage {
            time: TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) },
            roots: &[ZnodePath::root()],
            zxids: (Zxid(0), Zxid(i64::MAX)),
            missing: Vec::new(),
        };
        MergeTarget::open(&self.watched.path)?.complete(log, &covered, stops)
    }

    pub fn merge(&self, log: &std::path::Path) -> Merged {
        self.try_merge(log, &|| false).unwrap()
    }

    /// Returns the rows, in the order of their ids: when it came, acquired and ended, how, and where
    /// the row is from. Times are relative to `from`.
    pub fn rows(&self, from: Timestamp) -> Vec<String> {
        let sql = self.sql();
        let mut query = sql
            .prepare(
                "SELECT substr(node, -2) || ' ' || (enqueued_at - ?1) || ' '
                    || ifnull(iif(acquired_after = acquired_before, acquired_before - ?1, (acquired_after - ?1) || '..' || (acquired_before - ?1)), '-')
                    || ' ' || ifnull(iif(ended_after = ended_before, ended_before - ?1, (ended_after - ?1) || '..' || (ended_before - ?1)), '-')
                    || ' ' || ending || ' ' || ifnull(source, 'watched') FROM contender ORDER BY id",
            )
            .unwrap();
        query.query_map([from.0], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Returns the gaps relative to `from`.
    pub fn gaps(&self, from: Timestamp) -> Vec<(i64, Option<i64>)> {
        let sql = self.sql();
        let mut query = sql.prepare("SELECT began_at - ?1, ended_at - ?1 FROM gap ORDER BY began_at").unwrap();
        query.query_map([from.0], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Returns the nodes that hold at a moment, according to the recording; `None` if nothing was
    /// recorded then.
    pub fn holders_at(&self, at: Timestamp) -> Option<Vec<String>> {
        let playback = Playback::start(Past::open(&self.watched.path).unwrap(), at).unwrap()?;
        playback.state().table.is_live().then(|| holders(&playback.state().table))
    }

    /// Plays everything. Returns the gaps between segments, and the seams.
    pub fn played_gaps(&self) -> (Vec<(i64, i64)>, usize) {
        let mut playback = Playback::start_or_next(self.watched.past(), Timestamp(0)).unwrap().unwrap();
        let (mut gaps, mut seams) = (Vec::new(), 0);
        while let Some(step) = playback.step().unwrap() {
            match step {
                PlaybackStep::Gap { from, until } if from == until => seams += 1,
                PlaybackStep::Gap { from, until } => gaps.push((from.0, until.0)),
                PlaybackStep::Damaged { segment, damage } => panic!("{damage} in {segment:?}"),
                PlaybackStep::Entry { .. } => {}
            }
        }
        (gaps, seams)
    }
}

/// Returns the nodes that hold.
fn holders(table: &LockTable) -> Vec<String> {
    use lockscope_model::queue::ContenderState;
    let mut holders: Vec<String> = table
        .locks()
        .flat_map(|lock| {
            let held = lock.rows(0..lock.len()).filter(|row| row.state == ContenderState::Holds);
            held.map(move |row| format!("{}/{}", lock.path(), row.contender.node))
        })
        .collect();
    holders.sort();
    holders
}
