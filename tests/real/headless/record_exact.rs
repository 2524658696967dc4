//! A recording of random contention on a real server, with cuts, expiries and restarts, shows what
//! a console showed at the time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::observe::Observer;
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, WatchersWanted};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, LockTable};
use lockscope_model::report::{ReportedEnsemble, Snapshot, json};
use lockscope_past::record::{Bounds, Past, Playback, PlaybackStep, RecordOptions, Recorder};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio::time::{Instant, interval, sleep, timeout};
use zookeeper_client::{Acls, CreateMode};

use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;
use crate::observe::fixture::{connection, curator, observing};

/// The number of compared times.
const MOMENTS: usize = 1_000;

/// The number of consoles that record one after the other.
const RUNS: usize = 4;

const OPTIONS: RecordOptions =
    RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };

/// The state shown at a time.
type Shown = (Timestamp, String);

/// Returns the locks as a console shows them, without what a recording leaves out: the servers' own
/// figures.
fn shown(connect: &str, table: &LockTable, diagnosis: &Diagnosis, at: Timestamp) -> String {
    let ensemble = ReportedEnsemble::new(connect, table.session()).with_view(table.view());
    let snapshot = json::to_string(&Snapshot::new(&ensemble, table, at).with_diagnosis(diagnosis)).expect("JSON");
    let mut shown: serde_json::Value = serde_json::from_str(&snapshot).expect("JSON");
    for server in shown["ensemble"]["servers"].as_array_mut().expect("servers") {
        server.as_object_mut().expect("a server").remove("health");
    }
    shown.to_string()
}

/// Starts sessions that contend until told to stop. One of the sessions expires again and again.
async fn contend(server: &Server, ended: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let setup = zk::connect(&server.connect_string()).await;
    let locks = ["/locks", "/locks/a", "/locks/b", "/locks/c"].map(str::to_owned);
    zk::make(&setup, locks).await;
    let mut clients = Vec::new();
    for number in 0..6 {
        let (connect, ended) = (server.connect_string(), Arc::clone(ended));
        let relay = if number == 0 { Some(Relay::start(&connect).await) } else { None };
        let work = async move || {
            while !ended.load(Ordering::Relaxed) {
                let through = relay.as_ref().map_or(connect.clone(), Relay::connect_string);
                let client = zk::connect(&through).await;
                for _ in 0..fastrand::u32(5..200) {
                    let prefix = format!("/locks/{}/{}", fastrand::choice(["a", "b", "c"]).unwrap_or("a"), curator());
                    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
                    let Ok((_, number)) = client.create(&prefix, b"worker", &options).await else { break };
                    sleep(Duration::from_micros(fastrand::u64(..6_000))).await;
                    let node = format!("{prefix}{:010}", number.into_i64());
                    if relay.is_none() && client.delete(&node, None).await.is_err() || ended.load(Ordering::Relaxed) {
                        break;
                    }
                }
                if let Some(relay) = &relay {
                    relay.expire().await;
                }
            }
        };
        let runtime = Handle::current();
        clients.push(spawn_blocking(move || runtime.block_on(work())));
    }
    clients
}

/// Runs a recorded console whose connection is sometimes cut. Keeps what it shows until `until`
/// states are kept.
async fn console(server: &Server, store: &Path, kept: &mut Vec<Shown>, until: usize) {
    let relay = Relay::start(&server.connect_string()).await;
    let mut observer = Observer::start(observing(connection(&relay.connect_string())));
    let mut surveyor = Surveyor::start(SurveyOptions::new(connection(&server.connect_string()))).expect("a surveyor");
    surveyor.ask_for_watchers(WatchersWanted::Now);
    let mut table = LockTable::new([]);
    let mut diagnosis =
        Diagnosis::new(Thresholds { settled_after: Duration::from_millis(300), ..Thresholds::default() });
    let mut recorder = Recorder::start(store, "zk1:2181", OPTIONS).expect("a recorder");
    let mut pending: Option<Shown> = None;
    let (mut looks, mut flushes) = (interval(Duration::from_millis(150)), interval(Duration::from_millis(100)));
    let mut cut_at = Instant::now() + Duration::from_millis(700);
    while kept.len() < until {
        let mut took = |changes: Vec<Change>, recorder: &mut Recorder, table: &mut LockTable, diagnosis: &Diagnosis| {
            for change in changes {
                let (at, _) = recorder.batches().apply(change, now(), table, diagnosis);
                // A kept state is valid for its whole millisecond only if nothing else came in it.
                kept.extend(pending.take_if(|(before, _)| *before < at));
                pending = fastrand::u32(..4).eq(&0).then(|| (at, shown("zk1:2181", table, diagnosis, at)));
            }
        };
        tokio::select! {
            batch = observer.next() => {
                let changes = batch.expect("it goes on").into_iter().map(|observed| observed.change).collect();
                took(changes, &mut recorder, &mut table, &diagnosis);
            }
            Some(view) = surveyor.next() => took(vec![Change::Surveyed { view }], &mut recorder, &mut table, &diagnosis),
            _ = looks.tick() => {
                let (at, _) = recorder.batches().examine(now(), &table, &mut diagnosis);
                kept.extend(pending.take_if(|(before, _)| *before < at));
                pending = Some((at, shown("zk1:2181", &table, &diagnosis, at)));
            }
            _ = flushes.tick() => {
                block_in_place(|| recorder.flush(now(), &table));
                assert_eq!(recorder.trouble(), None);
                if Instant::now() > cut_at {
                    relay.cut().await;
                    cut_at = Instant::now() + Duration::from_millis(fastrand::u64(500..3_000));
                }
            }
        }
    }
    block_in_place(|| recorder.stop(&table, now())).expect("it is written");
    observer.stop().await;
    surveyor.stop().await;
}

/// Plays the whole recording. Returns the states at these times.
fn played(store: &Path, moments: &[Shown]) -> Vec<String> {
    let mut playback = Playback::start_or_next(Past::open(store).expect("a recording"), Timestamp(0))
        .expect("it is read")
        .expect("it is not empty");
    let mut played = Vec::new();
    loop {
        let next = playback.next_at().expect("it is read");
        while let Some((at, _)) = moments.get(played.len()).filter(|(at, _)| next.is_none_or(|next| *at < next)) {
            played.push(shown("zk1:2181", &playback.state().table, &playback.state().diagnosis, *at));
        }
        match playback.step().expect("it is read") {
            Some(PlaybackStep::Damaged { segment, damage }) => panic!("{damage}: {segment:?}"),
            Some(_) => {}
            None => return played,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_shows_what_a_console_showed_at_a_thousand_times() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let ended = Arc::new(AtomicBool::new(false));
    let clients = contend(&server, &ended).await;
    let mut kept = Vec::new();
    for run in 1..=RUNS {
        timeout(PATIENCE * 2, console(&server, &store, &mut kept, MOMENTS * run / RUNS))
            .await
            .expect("moments in time");
    }
    ended.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("it ends");
    }
    assert!(kept.len() >= MOMENTS);
    for ((at, expected), played) in kept.iter().zip(played(&store, &kept)) {
        assert!(*expected == played, "at {at:?} was shown\n{expected}\nand is recorded\n{played}");
    }
    for (at, expected) in kept.iter().step_by(MOMENTS / 20) {
        let playback = Playback::start(Past::open(&store).expect("a recording"), *at).expect("it is read");
        let playback = playback.expect("it was recorded");
        let recorded = shown("zk1:2181", &playback.state().table, &playback.state().diagnosis, *at);
        assert!(*expected == recorded, "at {at:?} was shown\n{expected}\nand is recorded\n{recorded}");
    }
}
