//! A recorder beside the server, and an import of the server's log afterwards, do not contradict
//! each other.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockscope_base::znode::SessionId;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;
use zookeeper_client::CreateMode;

use super::fixture::{Import, Row, files_of, milliseconds};
use super::lives::Lives;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};
use crate::observe::fixture::curator;

/// The transactions after which the clients stop.
const TRANSACTIONS: usize = 1_000;

/// How late an event may reach the recorder on a busy machine, in milliseconds.
const LATE: i64 = 3_000;

/// Starts clients that live on, and one whose session expires again and again.
pub async fn contend(server: &Server, ended: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let mut clients = Vec::new();
    for number in 0..5 {
        let (connect, data, ended) = (server.connect_string(), files_of(server), Arc::clone(ended));
        let relay = if number == 0 { Some(Relay::start(&connect).await) } else { None };
        let work = async move || {
            while !ended.load(Ordering::Relaxed) {
                let through = relay.as_ref().map_or(connect.clone(), Relay::connect_string);
                // Only the session behind the relay is to expire soon. The others live through a
                // pause of the machine.
                let timeout = Duration::from_secs(if relay.is_some() { 2 } else { 10 });
                let client = zk::connect_within(&through, timeout).await;
                for round in 0.. {
                    let prefix = format!("/locks/{}/{}", ["a", "b"][round % 2], curator());
                    let options = zk::open(CreateMode::EphemeralSequential);
                    let Ok((_, sequence)) = client.create(&prefix, b"worker", &options).await else { break };
                    sleep(Duration::from_millis(fastrand::u64(20..100))).await;
                    let is_last = ended.load(Ordering::Relaxed) || relay.is_some() && round == 2;
                    if is_last && relay.is_some() {
                        break;
                    }
                    client.delete(&format!("{prefix}{sequence}"), None).await.expect("a sound connection");
                    if is_last {
                        break;
                    }
                }
                if let Some(relay) = &relay {
                    relay.refuse().await;
                    until_gone(&data, zk::session_of(&client)).await;
                    relay.heal();
                }
            }
        };
        let runtime = Handle::current();
        clients.push(spawn_blocking(move || runtime.block_on(work())));
    }
    clients
}

/// Waits until a session has no nodes.
async fn until_gone(data: &Path, session: SessionId) {
    eventually("an expired session", async || {
        let standing = Lives::read(data).nodes.into_iter().find(|life| life.owner == session && life.went.is_none());
        standing.map_or(Ok(()), |life| Err(life.path))
    })
    .await;
}

/// Records until the clients are done. Returns the history.
async fn recorded(server: &Server) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db").to_str().expect("text").to_owned();
    let at = server.connect_string();
    let mut recorder =
        Running::start(lockscope(&["record", "--store", &store, "--connect", &at, "--server-view", "words"]));
    recorder.line().await.expect("it records");
    let history = async || {
        let ended = run(lockscope(&["history", "--store", &store, "--format", "json", "--limit", "100000"])).await;
        serde_json::from_str::<Value>(&ended.out).map_err(|_| ended.stderr)
    };
    let open = |history: &Value| {
        let rows = ["holds", "waits"].map(|name| history[name].as_array().expect("rows").clone()).concat();
        (rows.len(), rows.iter().filter(|row| row["end"] == "open").count())
    };
    let ended = Arc::new(AtomicBool::new(false));
    let clients = contend(server, &ended).await;
    eventually("many transactions", async || {
        let count = Lives::read(&files_of(server)).zxids.len();
        if count >= TRANSACTIONS { Ok(()) } else { Err(count) }
    })
    .await;
    ended.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    eventually("a recording in which all have ended", async || {
        let history = history().await?;
        if let (1.., 0) = open(&history) { Ok(()) } else { Err(format!("{:?}", open(&history))) }
    })
    .await;
    recorder.signal("TERM");
    recorder.ended().await.code.expect("it ends by itself");
    history().await.expect("a history")
}

/// Returns when the recorder saw a contender come.
fn came_at(row: &Value) -> Option<i64> {
    milliseconds(&row["enqueued_at"])
}

/// What a recorder said of each contender, compared with the logs.
pub struct Comparison {
    /// The rows that the logs contradict.
    pub wrong: Vec<String>,
    /// The numbers of rows by their ends: the recorder's, and that of the logs.
    pub compared: BTreeMap<(String, String), usize>,
}

impl Comparison {
    /// Compares a recorder's history with the rows of the logs.
    pub fn of(recorded: &Value, truth: &[Row]) -> Self {
        let truth: HashMap<_, _> = truth.iter().map(|row| ((row.lock.as_str(), row.node.as_str()), row)).collect();
        let mut found = Self { wrong: Vec::new(), compared: BTreeMap::new() };
        for name in ["holds", "waits"] {
            for row in recorded[name].as_array().expect("rows") {
                let place = (row["lock"].as_str().expect("a lock"), row["node"].as_str().expect("a node"));
                let Some(truth) = truth.get(&place) else {
                    found.wrong.push(format!("the logs have no {row}"));
                    continue;
                };
                let ends = (row["end"].as_str().expect("an end").to_owned(), truth.end.clone());
                *found.compared.entry(ends).or_default() += 1;
                if !is_true(row, name == "holds", truth) {
                    found.wrong.push(format!("{row}\nbut {truth:?}"));
                }
            }
        }
        found
    }
}

/// Returns whether an end that a recorder or `watch` named is that of the logs, as far as it is
/// certain. Whoever closes its session gives up its nodes.
pub fn is_end_true(end: &str, truth: &Row) -> bool {
    match end {
        "gone" => ["released", "left", "deleted", "closed"].contains(&truth.end.as_str()),
        "unknown" => true,
        end => end == truth.end,
    }
}

fn is_true(row: &Value, held: bool, truth: &Row) -> bool {
    let within = |after: &str, before: &str, truth: Option<i64>| match (
        milliseconds(&row[after]),
        milliseconds(&row[before]),
        truth,
    ) {
        (None, None, _) => true,
        (after, before, Some(truth)) => {
            after.is_none_or(|after| after - LATE <= truth) && before.is_none_or(|before| truth <= before)
        }
        _ => false,
    };
    is_end_true(row["end"].as_str().expect("an end"), truth)
        && (!held || truth.held)
        && came_at(row).zip(truth.enqueued_at).is_none_or(|(seen, at)| (at..=at + LATE).contains(&seen))
        && within("acquired_after", "acquired_before", truth.acquired_at)
        && within("released_after", "released_at", truth.released_at)
        && row["session"].as_str().is_none_or(|session| session == truth.session)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorder_and_the_log_do_not_contradict_each_other() {
    let server = Settings::default().tick(Duration::from_secs(2)).line("minSessionTimeout=1000").start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a", "/locks/b"].map(str::to_owned)).await;
    let recorded = recorded(&server).await;
    let import = Import::of(&[&files_of(&server)]).await;
    assert_eq!(import.rows, Lives::read(&files_of(&server)).rows(&["/locks"]));
    let Comparison { wrong, compared } = Comparison::of(&recorded, &import.rows);
    println!("{} rows in the log; said by the recorder, and by the log: {compared:?}", import.rows.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared.iter().any(|((end, _), count)| end == "expired" && *count > 0), "{compared:?}");
}
