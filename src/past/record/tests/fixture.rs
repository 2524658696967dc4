//! A console on an in-memory ensemble that is recorded, and that remembers what it showed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::fixture::TableFixture;
use crate::record::batch::SegmentBounds;
use crate::record::{Bounds, Past, Playback, PlaybackStep, RecordOptions, RecordedState, Recorder, Rotation};
use crate::testing::{connected, deleted};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_model::report::json::to_string;
use lockscope_model::report::{ReportedEnsemble, Snapshot};
use lockscope_model::server_view::{
    Absence, AbsenceReason, Connection, Expiry, ListedSession, Listing, MemberExtras, MemberProgress, MemberView,
    ServerMode, ServerView, WatchTotals, WatchedPath,
};

pub const CONNECT: &str = "zk1:2181,zk2:2181/prod";

/// Keeps everything, with the data of the nodes.
pub const ALL: RecordOptions =
    RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };

/// Many segments of few entries.
pub const SMALL: SegmentBounds = SegmentBounds { entries: 20, bytes: 64 << 10, age: Duration::from_secs(300) };

pub struct ConsoleFixture {
    pub ensemble: TableFixture,
    pub diagnosis: Diagnosis,
    pub recorder: Option<Recorder>,
    pub options: RecordOptions,
    pub segments: SegmentBounds,
    /// When the recorder begins another file.
    pub rotation: Option<Rotation>,
    pub path: PathBuf,
    /// What the console showed, with the times.
    pub shown: Vec<(Timestamp, String)>,
    /// What the console showed since the file was last written.
    pub unwritten: Vec<(Timestamp, String)>,
    _folder: TempDir,
}

impl ConsoleFixture {
    pub fn new(options: RecordOptions, segments: SegmentBounds) -> Self {
        Self::in_parts(options, segments, None)
    }

    pub fn in_parts(options: RecordOptions, segments: SegmentBounds, rotation: Option<Rotation>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        let mut fixture = Self {
            ensemble: TableFixture::new(),
            diagnosis: Diagnosis::new(Thresholds::default()),
            recorder: None,
            options,
            segments,
            rotation,
            path,
            shown: Vec::new(),
            unwritten: Vec::new(),
            _folder: folder,
        };
        fixture.start();
        fixture
    }

    /// Starts a console: it knows nothing, and reads everything.
    pub fn start(&mut self) {
        self.ensemble.table = LockTable::new([]);
        self.diagnosis = Diagnosis::new(Thresholds::default());
        let recorder = match self.rotation {
            Some(rotation) => {
                Recorder::start_in_parts(&self.path, CONNECT, self.options, rotation, self.ensemble.now).unwrap()
            }
            None => Recorder::start(&self.path, CONNECT, self.options).unwrap(),
        };
        self.recorder = Some(recorder.with_segments(self.segments));
        self.read_everything();
    }

    pub fn apply(&mut self, change: Change) {
        self.ensemble.now.0 += 3;
        let (now, table) = (self.ensemble.now, &mut self.ensemble.table);
        self.recorder.as_mut().unwrap().batches().apply(change, now, table, &self.diagnosis);
    }

    pub fn delete(&mut self, at: &ZnodePath) {
        self.ensemble.tree.remove(at);
        self.apply(deleted(at));
    }

    pub fn examine(&mut self) {
        let (now, table) = (self.ensemble.now, &self.ensemble.table);
        self.recorder.as_mut().unwrap().batches().examine(now, table, &mut self.diagnosis);
    }

    pub fn flush(&mut self) {
        let (now, table) = (self.ensemble.now, &self.ensemble.table);
        let recorder = self.recorder.as_mut().unwrap();
        recorder.flush(now, table);
        if recorder.trouble().is_none() {
            self.shown.append(&mut self.unwritten);
        }
    }

    /// Loses the connection: nothing is seen until [`read_everything`](Self::read_everything).
    pub fn cut(&mut self) {
        self.apply(Change::Heard { at: self.ensemble.now });
        self.apply(Change::Connection(ConnectionState::Lost { reason: "the network is down".to_owned() }));
        let connecting = ConnectionState::Connecting { attempt: 2, reason: None, next_try: Some(self.ensemble.now) };
        self.apply(Change::Connection(connecting));
    }

    pub fn read_everything(&mut self) {
        [connected()].into_iter().chain(self.ensemble.walk()).for_each(|change| self.apply(change));
    }

    /// Kills the recorder: unwritten entries are lost.
    pub fn kill(&mut self) {
        self.recorder = None;
        self.unwritten.clear();
    }

    /// Stops the recorder properly.
    pub fn stop(&mut self) {
        let recorder = self.recorder.take().unwrap();
        recorder.stop(&self.ensemble.table, self.ensemble.now).unwrap();
        self.shown.append(&mut self.unwritten);
    }

    /// Remembers what is shown now.
    pub fn remember(&mut self) {
        let at = self.ensemble.now;
        let shown = json(&self.ensemble.table, &self.diagnosis, at);
        self.unwritten.push((at, shown));
        self.ensemble.now.0 += 1;
    }

    /// Reports a survey whose connections, last responses and request counts depend on `number`.
    pub fn survey(&mut self, number: u32) {
        let at = self.ensemble.now;
        if number.is_multiple_of(3) {
            return self.survey_in_vain(at);
        }
        let sessions = (1..6).filter(|session| !(number + session).is_multiple_of(5));
        let view = ServerView {
            at,
            members: vec![MemberView {
                mode: Some(if number.is_multiple_of(2) { ServerMode::Standalone } else { ServerMode::Leader }),
                extras: MemberExtras {
                    progress: Some(MemberProgress { asked_at: at, zxid: Some(Zxid(i64::from(number / 20_000) << 32)) }),
                    elections: Some(u64::from(number)),
                    ..MemberExtras::default()
                },
                counted_at: Some(at),
                version: Some("3.8.0-5a02a05".to_owned()),
                answered_at: Some(at),
                connections: Some(Listing::new(
                    sessions.clone().map(|id| connection(id, number, at)).collect(),
                    true,
                    at,
                )),
                sessions: Some(Listing::new(sessions.map(|id| listed(id, number, at)).collect(), true, at)),
                watched: Some(Listing::new(self.watched(number), true, at)),
                watch_totals: Some(WatchTotals { connections: 1, paths: 1, watches: 3 }),
                ..MemberView::unasked("zk1:2181".to_owned())
            }],
            members_known: true,
            voters: Some(1),
            own_session: Some(SessionId(77)),
            ..ServerView::default()
        };
        self.apply(Change::Surveyed { view: Arc::new(view) });
    }

    /// Reports a survey that no server answered.
    fn survey_in_vain(&mut self, at: Timestamp) {
        let absence = Some(Absence { asked_at: at, why: AbsenceReason::Refused });
        let member = MemberView {
            error: Some("zk1:2181 refused the connection".to_owned()),
            extras: MemberExtras { absence, ..MemberExtras::default() },
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        let view = ServerView { at, members: vec![member], voters: Some(1), ..ServerView::default() };
        self.apply(Change::Surveyed { view: Arc::new(view) });
    }

    fn watched(&self, number: u32) -> Vec<WatchedPath> {
        let paths: Vec<&ZnodePath> = self.ensemble.tree.keys().collect();
        let nth = |place: u32| paths.get((number + place) as usize % paths.len().max(1));
        let watched = (0..3).filter_map(nth).map(|path| ((*path).clone(), vec![SessionId(i64::from(number % 6))]));
        let watched: std::collections::BTreeMap<_, _> = watched.collect();
        watched.into_iter().map(|(path, sessions)| WatchedPath { path, sessions: sessions.into() }).collect()
    }

    pub fn past(&self) -> Past {
        Past::open(&self.path).unwrap()
    }

    /// Returns what the recording shows of a moment; `None` if nothing was recorded.
    pub fn recorded(&self, at: Timestamp) -> Option<String> {
        let playback = Playback::start(self.past(), at).unwrap()?;
        let RecordedState { table, diagnosis } = playback.state();
        Some(json(table, diagnosis, at))
    }

    /// Plays everything from the beginning, and returns what was shown at each of the remembered
    /// moments.
    pub fn played(&self) -> Vec<(Timestamp, String)> {
        let mut moments = self.shown.iter().map(|(at, _)| *at).peekable();
        let mut played = Vec::new();
        let mut playback = Playback::start_or_next(self.past(), Timestamp(0)).unwrap().unwrap();
        loop {
            let next = playback.next_at().unwrap();
            while let Some(at) = moments.next_if(|at| next.is_none_or(|next| *at < next)) {
                played.push((at, json(&playback.state().table, &playback.state().diagnosis, at)));
            }
            match playback.step().unwrap() {
                Some(PlaybackStep::Damaged { segment, damage }) => panic!("{damage} in {segment:?}"),
                Some(_) => {}
                None => return played,
            }
        }
    }
}

pub fn json(table: &LockTable, diagnosis: &Diagnosis, at: Timestamp) -> String {
    let ensemble = ReportedEnsemble::new(CONNECT, table.session()).with_view(table.view());
    to_string(&Snapshot::new(&ensemble, table, at).with_diagnosis(diagnosis)).unwrap()
}

fn connection(id: u32, number: u32, at: Timestamp) -> Connection {
    Connection {
        session: SessionId(id.into()),
        client: format!("10.0.0.{id}:{}", 4_000 + number % 3),
        timeout_ms: Some(30_000),
        established: Some(Timestamp(at.0 - 3_600_000)),
        last_operation: None,
        last_cxid: Some((number / 7).into()),
        last_zxid: None,
        last_response: None,
        last_heard: Some(Timestamp(at.0 - i64::from(number % 40) * 1_000)),
        received: u64::from(number) * 3,
        sent: number.into(),
    }
}

fn listed(id: u32, number: u32, at: Timestamp) -> ListedSession {
    let expires_at = (!number.is_multiple_of(3)).then_some(Timestamp(at.0 + i64::from(number % 20) * 1_000));
    ListedSession { id: SessionId(id.into()), expiry: Expiry::Monotonic { millis: 0 }, expires_at }
}
