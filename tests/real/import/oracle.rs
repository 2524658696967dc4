//! The logs as the judge of `record` and `watch`: while connections are cut and members are killed,
//! nothing that they call certain is false.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Client, CreateMode};

use super::fixture::{Import, Row};
use super::lives::Lives;
use super::members::{folders, settled};
use super::watched::{Comparison, is_end_true};
use crate::harness::ensemble::Ensemble;
use crate::harness::relay::Relay;
use crate::harness::wait::{PATIENCE, eventually_within};
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run_long};
use crate::observe::fixture::curator;

/// The number of writes that clients got an answer to.
const TRANSACTIONS: usize = 200_000;

/// The number of clients.
const CLIENTS: usize = 16;

/// The locks, and after how many writes the clients go on to the next one.
const LOCKS: usize = 600;
const WRITES_EACH: usize = 400;

/// How long an unreachable member keeps the clients of a fault waiting, and the pause between two
/// faults.
const OUTAGE: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_secs(5);

/// How long the recording may take to be complete and read.
const LONG: Duration = Duration::from_secs(300);

/// How long a request of a client may take before its session is given up.
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);

/// The clients, and the writes that they got an answer to.
struct Contention {
    at: String,
    written: AtomicUsize,
}

impl Contention {
    fn is_over(&self) -> bool {
        self.written.load(Ordering::Relaxed) >= TRANSACTIONS
    }

    /// Starts clients, which begin anew with another session after a failure.
    fn start(at: String) -> (Arc<Self>, Vec<JoinHandle<()>>) {
        let contention = Arc::new(Self { at, written: AtomicUsize::new(0) });
        let client = |number: usize| {
            let (contention, runtime) = (Arc::clone(&contention), Handle::current());
            spawn_blocking(move || runtime.block_on(contention.client(number)))
        };
        let clients = (0..CLIENTS).map(client).collect();
        (contention, clients)
    }

    async fn client(&self, number: usize) {
        while !self.is_over() {
            let connector = Client::connector().with_session_timeout(Duration::from_secs(1));
            let Ok(Ok(client)) = timeout(PATIENCE, connector.connect(&self.at)).await else { continue };
            while !self.is_over() {
                if !matches!(timeout(REQUEST_PATIENCE, self.turn(&client, number)).await, Ok(Ok(()))) {
                    break;
                }
            }
        }
    }

    /// Contends once, and holds or waits for a few milliseconds.
    async fn turn(&self, client: &Client, number: usize) -> Result<(), zookeeper_client::Error> {
        let lock = (self.written.load(Ordering::Relaxed) / WRITES_EACH + number % 3) % LOCKS;
        let prefix = format!("{}/{}", path(lock), curator());
        let (_, sequence) = client.create(&prefix, b"worker", &zk::open(CreateMode::EphemeralSequential)).await?;
        sleep(Duration::from_millis(fastrand::u64(1..10))).await;
        client.delete(&format!("{prefix}{sequence}"), None).await?;
        self.written.fetch_add(2, Ordering::Relaxed);
        Ok(())
    }
}

fn path(lock: usize) -> String {
    format!("/locks/{lock:03}")
}

/// Lets one fault after the other strike until the clients are done. Returns how many there were.
async fn faults(ensemble: &mut Ensemble, relays: &[Relay], contention: &Contention) -> BTreeMap<&'static str, usize> {
    let mut struck: BTreeMap<&'static str, usize> = BTreeMap::new();
    let before = Instant::now();
    while !contention.is_over() {
        sleep(QUIET).await;
        let count = struck.values().sum::<usize>();
        let fault = ["a cut", "a killed follower", "an outage", "a killed leader"][count % 4];
        match fault {
            "a cut" => relays[count % relays.len()].cut().await,
            "an outage" => {
                for relay in relays {
                    relay.refuse().await;
                }
                sleep(OUTAGE).await;
                relays.iter().for_each(Relay::heal);
            }
            fault => block_in_place(|| {
                let is_leader = fault == "a killed leader";
                let member = if is_leader { ensemble.leader() } else { ensemble.follower() };
                ensemble.stop(member);
                std::thread::sleep(OUTAGE);
                ensemble.start_again(member);
            }),
        }
        *struck.entry(fault).or_default() += 1;
        println!("{:.0?}: {} writes, {fault}", before.elapsed(), contention.written.load(Ordering::Relaxed));
    }
    struck
}

/// What the import said, compared with the transactions that happened.
#[derive(Debug, Default)]
struct Imported {
    wrong: Vec<String>,
    /// The number of contenders that are told as they were.
    right: usize,
    /// The number of those that went or acquired unseen, and are told so.
    unknown: usize,
    /// The number of those that are in the log of one member only.
    never_happened: usize,
}

impl Imported {
    fn of(import: &Import, truth: &[Row]) -> Self {
        let truth: HashMap<_, _> = truth.iter().map(|row| ((row.czxid, row.node.as_str()), row)).collect();
        let mut imported = Self::default();
        for row in &import.rows {
            match truth.get(&(row.czxid, row.node.as_str())) {
                None => imported.never_happened += 1,
                Some(truth) if *truth == row => imported.right += 1,
                Some(truth) if is_end_true(&row.end, truth) && (truth.held || !row.held) => imported.unknown += 1,
                Some(truth) => imported.wrong.push(format!("imported {row:?}\nbut {truth:?}")),
            }
        }
        imported
    }
}

/// What `watch` said, compared with the logs.
#[derive(Debug, Default)]
struct Watched {
    wrong: Vec<String>,
    /// The numbers of lines by their event and end, and the end in the logs.
    compared: BTreeMap<(String, String), usize>,
}

impl Watched {
    fn of(lines: &[String], truth: &[Row]) -> Self {
        let truth: HashMap<_, _> = truth.iter().map(|row| ((row.lock.as_str(), row.node.as_str()), row)).collect();
        let mut watched = Self::default();
        for line in lines {
            let said: Value = serde_json::from_str(line).expect("JSON");
            let (Some(lock), Some(node), Some(event)) =
                (said["lock"].as_str(), said["node"].as_str(), said["event"].as_str())
            else {
                continue;
            };
            if event.starts_with("finding") {
                continue;
            }
            let Some(truth) = truth.get(&(lock, node)) else {
                watched.wrong.push(format!("the logs have no {line}"));
                continue;
            };
            let end = said["end"].as_str().unwrap_or_default();
            *watched.compared.entry((format!("{event} {end}"), truth.end.clone())).or_default() += 1;
            let is_true = match event {
                "acquired" => truth.held,
                "released" | "left" | "expired" => {
                    is_end_true(end, truth) && (said["may_have_expired"] != false || truth.end != "expired")
                }
                _ => true,
            };
            if !is_true || said["session"].as_str().is_some_and(|session| session != truth.session) {
                watched.wrong.push(format!("{line}but {truth:?}"));
            }
        }
        watched
    }
}

/// Waits until a recording says that all contenders have ended. Returns its history.
async fn history(store: &str) -> Value {
    eventually_within(LONG, "a recording in which all have ended", async || {
        let arguments = ["history", "--store", store, "--format", "json", "--limit", "1000000"];
        let ended = run_long(lockscope(&arguments)).await;
        let history = serde_json::from_str::<Value>(&ended.out).map_err(|_| ended.stderr)?;
        let rows = ["holds", "waits"].map(|name| history[name].as_array().expect("rows").clone()).concat();
        let open = rows.iter().filter(|row| row["end"] == "open").count();
        if open == 0 && !rows.is_empty() { Ok(history) } else { Err(format!("{open} of {} are open", rows.len())) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: cargo test --test real -- --ignored --nocapture import::"]
async fn nothing_that_record_and_watch_call_certain_is_false() {
    let mut ensemble = block_in_place(|| Ensemble::with(&["snapCount=50000"]));
    let folders = folders(&ensemble);
    let at = ensemble.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, (0..LOCKS).map(path)).await;
    drop(client);
    let mut relays = Vec::new();
    for member in 0..2 {
        relays.push(Relay::start(&ensemble.address(member)).await);
    }
    let behind = relays.iter().map(Relay::connect_string).collect::<Vec<_>>().join(",");
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db").to_str().expect("text").to_owned();
    let mut recorder = Running::start(lockscope(&["record", "--store", &store, "--connect", &behind]));
    recorder.line().await.expect("it records");
    let mut watch = Running::start(lockscope(&["watch", "--connect", &at, "--format", "json"]));
    let (contention, clients) = Contention::start(at);
    let mut lines = vec![watch.line().await.expect("it watches")];
    let struck = faults(&mut ensemble, &relays, &contention).await;
    for client in clients {
        client.await.expect("no panic");
    }
    settled(&ensemble, &folders).await;
    let store_says = history(&store).await;
    for running in [&recorder, &watch] {
        running.signal("TERM");
    }
    lines.extend(watch.lines_now());
    lines.extend(watch.ended().await.out.split_inclusive('\n').map(str::to_owned));

    let places: Vec<_> = folders.iter().map(std::path::PathBuf::as_path).collect();
    let import = Import::of(&places).await;
    let committed = Lives::committed(&places);
    let truth = committed.rows(&["/locks"]);
    let (written, happened) = (Lives::of_members(&places).zxids.len(), committed.zxids.len());
    println!("{happened} transactions, {} contenders, faults: {struck:?}", truth.len());
    println!("{} more are in the log of one member only", written - happened);
    let imported = Imported::of(&import, &truth);
    println!("import: {imported:?}, gaps: {:x?}", import.gaps());
    let Comparison { wrong, compared } = Comparison::of(&store_says, &truth);
    let gaps = store_says["gaps"].as_array().expect("gaps").len();
    println!("record: {} wrong, {gaps} gaps, ends as said and in the logs: {compared:?}", wrong.len());
    let watched = Watched::of(&lines, &truth);
    println!("watch: {} lines, {} wrong: {:?}", lines.len(), watched.wrong.len(), watched.compared);
    let all = [imported.wrong, wrong, watched.wrong].concat();
    assert!(all.is_empty(), "{} are wrong, such as:\n{}", all.len(), all[..all.len().min(20)].join("\n"));
}
