//! The cost of recording, and the speed of reading a recording.
//!
//! `cargo bench --bench record -- 10000000 116` records that many changes (default: 2,000,000) at
//! that many per second (default: 5,000). 400 clients take turns at 50 locks, with Curator's node
//! names. Half of the changes are new nodes with a random id of 16 bytes, so a file needs at least
//! 8 bytes per change.
//!
//! The benchmark prints the cost of a change with and without a recorder (CPU time of this process,
//! in one run), its bytes in the file, the memory, and the time to go to a moment, to find the
//! events beside it, to rank the locks, and to report 100,000 holds.

#![expect(clippy::cast_precision_loss, reason = "figures are printed with one decimal place")]

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use lockscope::tui::app::ScreenWorld;
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_past::incident::{self, Incident};
use lockscope_past::record::history::{History, HistoryQuery, PastWindow, RankBy};
use lockscope_past::record::{Bounds, Past, Playback, ReadSegment, RecordOptions, Recorder, Store};

const LOCKS: usize = 50;
const CLIENTS: usize = 8;
/// The entries before a time that the console shows in its timeline.
const TIMELINE_ENTRIES: usize = 2_000;
/// The number of jumps.
const SEEKS: usize = 41;

/// Clients that take turns, as an observer reports them: a holder's node goes, and its client comes
/// again.
struct Turns {
    random: fastrand::Rng,
    zxid: i64,
    queues: Vec<VecDeque<(ZnodePath, usize)>>,
    numbers: Vec<i64>,
}

impl Turns {
    fn new() -> Self {
        Self {
            random: fastrand::Rng::with_seed(7),
            zxid: 1 << 32,
            queues: vec![VecDeque::default(); LOCKS],
            numbers: vec![0; LOCKS],
        }
    }

    fn come(&mut self, lock: usize, client: usize, at: Timestamp) -> Change {
        self.zxid += self.random.i64(1..4);
        let id = uuid::Builder::from_random_bytes(self.random.u128(..).to_ne_bytes()).into_uuid();
        let number = self.numbers[lock];
        self.numbers[lock] += 1;
        let path = ZnodePath::new(&format!("/locks/service-{lock}/_c_{id}-lock-{number:010}")).expect("a path");
        self.queues[lock].push_back((path.clone(), client));
        let owner = SessionId(0x0100_002b_de40_0000 + i64::try_from(lock * CLIENTS + client).expect("small"));
        let stat = ZnodeStat { data_length: 10, ..ZnodeStat::of_new(Zxid(self.zxid), at, Some(owner)) };
        let data = NodeData::keep(format!("10.0.4.{:>3}", lock * CLIENTS % 250 + client).as_bytes());
        Change::Seen { path, node: Node { stat, data } }
    }

    fn start(&mut self, at: Timestamp) -> Vec<Change> {
        let session = SessionId(1);
        let mut changes =
            vec![Change::Connection(ConnectionState::Connected { session, recursive: true }), Change::Syncing];
        for lock in 0..LOCKS {
            changes.extend((0..CLIENTS).map(|client| self.come(lock, client, at)));
        }
        changes.push(Change::Synced);
        changes
    }

    /// Returns the two changes of a hand-over.
    fn turn(&mut self, at: Timestamp) -> [Change; 2] {
        let lock = self.random.usize(..LOCKS);
        let (path, client) = self.queues[lock].pop_front().expect("a holder");
        self.zxid += self.random.i64(1..4);
        [Change::Deleted { path, zxid: None }, self.come(lock, client, at)]
    }
}

/// Returns the CPU time of this process, user and system.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("ticks");
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// Returns the resident memory of the process, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") / 1024
}

/// The number of changes and their rate.
#[derive(Clone, Copy)]
struct Load {
    changes: usize,
    per_second: usize,
}

impl Load {
    /// Returns the time of a change.
    fn at(self, change: usize) -> Timestamp {
        Timestamp(1_777_601_400_000 + i64::try_from(change * 1000 / self.per_second).expect("small"))
    }

    /// Returns whether a second ends between this change and the next one.
    fn ends_second(self, change: usize) -> bool {
        change / self.per_second != (change + 2) / self.per_second
    }
}

fn table() -> (LockTable, Diagnosis) {
    (LockTable::new([]), Diagnosis::new(Thresholds::default()))
}

/// Applies the same changes without a recorder, as a baseline.
fn unrecorded(load: Load) -> Duration {
    let (mut turns, (mut table, mut diagnosis)) = (Turns::new(), table());
    let began = cpu();
    for change in turns.start(load.at(0)) {
        table.apply(change, load.at(0));
    }
    for change in (0..load.changes).step_by(2) {
        let at = load.at(change);
        for what in turns.turn(at) {
            table.apply(what, at);
        }
        if load.ends_second(change) {
            diagnosis.examine(&table, at);
        }
    }
    cpu().saturating_sub(began)
}

fn recorded(path: &Path, load: Load) -> Duration {
    let (mut turns, (mut table, mut diagnosis)) = (Turns::new(), table());
    let options = RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };
    let mut recorder = Recorder::start(path, "zk1:2181", options).expect("a file");
    let began = cpu();
    for change in turns.start(load.at(0)) {
        recorder.batches().apply(change, load.at(0), &mut table, &diagnosis);
    }
    for change in (0..load.changes).step_by(2) {
        let at = load.at(change);
        for what in turns.turn(at) {
            recorder.batches().apply(what, at, &mut table, &diagnosis);
        }
        if load.ends_second(change) {
            recorder.batches().examine(at, &table, &mut diagnosis);
            recorder.flush(at, &table);
        }
        if change == 100_000 || change + 2 >= load.changes {
            println!("memory after {} changes: {} MB", change + 2, memory());
        }
    }
    recorder.stop(&table, load.at(load.changes)).expect("it is written");
    assert_eq!(recorder_trouble(path), None);
    cpu().saturating_sub(began)
}

/// Returns why the file cannot be read, if so.
fn recorder_trouble(path: &Path) -> Option<String> {
    Past::open(path).err().map(|error| error.to_string())
}

/// Returns the bytes of the stream: entries and keyframes.
fn stream(path: &Path) -> (u64, u64) {
    let connection = rusqlite::Connection::open(path).expect("a file");
    let sum = |query: &str| connection.query_row(query, [], |row| row.get::<_, u64>(0)).expect("a sum");
    (sum("SELECT sum(length(entries)) FROM chunk"), sum("SELECT sum(length(state)) FROM keyframe"))
}

fn median(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}

/// Jumps to several times, each in a newly opened recording, and from there to the neighbouring
/// events.
fn seek(path: &Path, load: Load) {
    let mut random = fastrand::Rng::with_seed(3);
    let (mut seeks, mut reads, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SEEKS {
        let moment = load.at(random.usize(..load.changes));
        let past = Past::open(path).expect("a file");
        let began = Instant::now();
        let playback = Playback::start(past, moment).expect("it can be read").expect("recorded");
        seeks.push(began.elapsed());
        let mut past = playback.into_parts().1;
        let began = Instant::now();
        let info = past.segment_at(moment).expect("it can be read").expect("recorded");
        let segment = ReadSegment::read(&mut past, info).expect("it can be read");
        reads.push(began.elapsed());
        for forward in [false, true, false] {
            let began = Instant::now();
            let Some(beside) = segment.event_beside(moment, forward, None) else { continue };
            let (state, entries) = segment.state_before(beside, TIMELINE_ENTRIES);
            let mut world = ScreenWorld::replayed(state);
            world.replay(entries);
            steps.push(began.elapsed());
        }
    }
    for (what, times) in
        [("to a moment", seeks), ("to read all events of its segment", reads), ("to the previous or next event", steps)]
    {
        let (median, longest) = median(times);
        println!("{what}: median {median:.1?}, longest {longest:.1?}");
    }
}

fn history(path: &Path, load: Load) {
    let mut store = Store::open(path).expect("a file");
    let query = HistoryQuery { rank_by: Some(RankBy::Wait), limit: 100, ..HistoryQuery::default() };
    let began = Instant::now();
    let history = History::read(&mut store, &query).expect("it can be read");
    println!("history of {} holds: {:.1?}", history.hold_count, began.elapsed());
    // As many changes as 100,000 holds have.
    let to = load.at(load.changes.min(200_000));
    let began = Instant::now();
    let window = PastWindow::read(&mut store, None, Some(to)).expect("it can be read").expect("recorded");
    let incident = Incident::new(&window);
    let (page, trace) = (incident::html(&incident, true), incident::trace(&incident).expect("JSON"));
    let took = began.elapsed();
    println!(
        "report of {} holds: {took:.1?}, page {} bytes, trace {} bytes",
        window.contenders.len(),
        page.len(),
        trace.len()
    );
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let load = Load { changes: numbers.next().unwrap_or(2_000_000), per_second: numbers.next().unwrap_or(5_000) };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("locks.db");
    let (without, with) = (unrecorded(load), recorded(&path, load));
    let micros = |cpu: Duration| cpu.as_secs_f64() * 1e6 / load.changes as f64;
    println!("CPU a change: {:.2} us without a recorder, {:.2} us with one", micros(without), micros(with));
    println!(
        "a recorder takes {:.1} % of a core more at {} changes a second",
        (micros(with) - micros(without)) * load.per_second as f64 / 1e4,
        load.per_second
    );
    let (entries, keyframes) = stream(&path);
    let each = |bytes: u64| bytes as f64 / load.changes as f64;
    println!(
        "bytes a change: {:.1}, which are {:.1} of entries and {:.1} of keyframes",
        each(entries + keyframes),
        each(entries),
        each(keyframes)
    );
    println!("the file: {} MB", std::fs::metadata(&path).expect("a file").len() >> 20);
    seek(&path, load);
    history(&path, load);
}
