//! A night of an ensemble of three, recorded: a failover, a lost majority, a node that its client
//! does not know of, a client that is silent for a moment, and an election without a leader. The
//! report ranks what happened by what it cost, and tells nothing twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;
use zookeeper_client::Client;

use super::incident::{recording, stop, until_recorded};
use super::program::{lockscope, run};
use crate::failures::forgotten::{curator, enqueue};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::foreign::Foreign;
use crate::harness::wait::eventually;
use crate::harness::{signal, zk};

/// The locks that are held during the outage, and how long it lasts.
const LOCKS: u32 = 6;
const OUTAGE: Duration = Duration::from_secs(12);

/// By how much the recorded bounds of the outage may differ: the members are asked at intervals.
const AROUND: Duration = Duration::from_secs(6);

/// The session timeout of the client that is silent, and for how long it is.
const TIMEOUT: Duration = Duration::from_secs(6);
const SILENT: Duration = Duration::from_secs(4);

/// How long a tenure with the silence in it lasts, and how long an election has no leader.
const TENURE_MS: u64 = 11_000;
const LEADERLESS: Duration = Duration::from_secs(10);

/// Releases nodes; a connection that is being made again is waited for.
async fn release(client: &Client, nodes: &[String]) {
    for node in nodes {
        eventually("the node deleted", async || {
            client.delete(node, None).await.or_else(|error| match error {
                zookeeper_client::Error::NoNode => Ok(()),
                error => Err(format!("{node}: {error}")),
            })
        })
        .await;
    }
}

/// A client is silent for a moment of a long tenure.
async fn blip(connect: &str, patient: &Client, store: &Path) {
    const LOCK: &str = "/blip";
    let mut holder = Foreign::kazoo(connect);
    holder.connect_within("a", TIMEOUT).await;
    holder.start("a", "first", "lock", LOCK).await;
    holder.held("first").await;
    let waiter = enqueue(patient, &format!("{LOCK}/00000000000000000000000000000000__lock__")).await;
    until_recorded(store, LOCK, Some(1_000)).await;
    signal::send(holder.pid(), "STOP");
    sleep(SILENT).await;
    signal::send(holder.pid(), "CONT");
    until_recorded(store, LOCK, Some(TENURE_MS)).await;
    holder.release("first").await;
    release(patient, &[waiter]).await;
    holder.quit().await;
}

/// Waits until the recorder has connected again.
async fn recorder_is_back(worker: &Client, lock: &str, store: &Path) {
    zk::make(worker, [lock.to_owned()]).await;
    enqueue(worker, &curator(lock, 1)).await;
    until_recorded(store, lock, None).await;
}

/// Two of three members are down while locks are held and waited for. Returns the longest that it can
/// have lasted.
async fn lost_majority(ensemble: &mut Ensemble, worker: &Client, patient: &Client, store: &Path) -> Duration {
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for lock in 0..LOCKS {
        let path = format!("/shop/{lock}");
        zk::make(worker, [path.clone()]).await;
        held.push(enqueue(worker, &curator(&path, 1)).await);
        waiting.push(enqueue(patient, &curator(&path, 2)).await);
    }
    until_recorded(store, "/shop/5", Some(1)).await;
    let began = Instant::now();
    for member in 0..MEMBERS - 1 {
        ensemble.stop(member);
    }
    sleep(OUTAGE).await;
    ensemble.start_again(0);
    release(worker, &held).await;
    let lasted = began.elapsed();
    release(patient, &waiting).await;
    ensemble.start_again(1);
    lasted
}

/// The reply to a create was lost, and the client created again.
async fn orphan(worker: &Client, store: &Path) {
    const LOCK: &str = "/orphan";
    zk::make(worker, [LOCK.to_owned()]).await;
    let nodes = [enqueue(worker, &curator(LOCK, 1)).await, enqueue(worker, &curator(LOCK, 1)).await];
    until_recorded(store, LOCK, Some(5_000)).await;
    release(worker, &nodes).await;
}

/// The only candidate withdraws, and comes back later. Returns the longest that nobody can have led.
async fn leaderless(worker: &Client, store: &Path) -> Duration {
    const LOCK: &str = "/app/leader";
    zk::make(worker, ["/app".to_owned(), LOCK.to_owned()]).await;
    let latch = format!("{LOCK}/_c_00000001-0000-4000-8000-000000000000-latch-");
    let leader = enqueue(worker, &latch).await;
    until_recorded(store, LOCK, None).await;
    let began = Instant::now();
    release(worker, &[leader]).await;
    sleep(LEADERLESS).await;
    enqueue(worker, &latch).await;
    until_recorded(store, LOCK, None).await;
    began.elapsed()
}

async fn causes(source: &[&str], folder: &Path) -> Vec<Value> {
    let file = folder.join("night.json");
    run(lockscope(&[&["report", "-o", file.to_str().expect("a path")], source].concat())).await.done();
    let trace: Value = serde_json::from_str(&fs::read_to_string(file).expect("a trace")).expect("JSON");
    trace["otherData"]["causes"].as_array().expect("causes").clone()
}

fn length(cause: &Value) -> Duration {
    let time =
        |name: &str| chrono::DateTime::parse_from_rfc3339(cause[name].as_str().expect("a time")).expect("a time");
    (time("to") - time("from")).to_std().expect("it has a length")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recorded_night() {
    let mut ensemble = Ensemble::start();
    let connect = ensemble.connect_string();
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("night.db");
    let (worker, patient) = (zk::connect(&connect).await, zk::connect(&connect).await);
    zk::make(&worker, ["/shop".to_owned(), "/blip".to_owned()]).await;
    let recorder = recording(&["--stuck-after", "5s"], &connect, &store).await;
    blip(&connect, &patient, &store).await;
    let without_leader = leaderless(&worker, &store).await;
    let killed = ensemble.kill_leader();
    ensemble.start_again(killed);
    recorder_is_back(&worker, "/after-the-failover", &store).await;
    let without_majority = lost_majority(&mut ensemble, &worker, &patient, &store).await;
    recorder_is_back(&worker, "/after-the-outage", &store).await;
    orphan(&worker, &store).await;
    stop(recorder).await;

    let found = causes(&["--store", store.to_str().expect("a path")], folder.path()).await;
    let named = |name: &str| found.iter().filter(|cause| cause["finding"] == name).collect::<Vec<_>>();
    assert_eq!(found[0]["kind"], "no-majority", "{found:#?}");
    assert_eq!(found[0]["lock_count"], LOCKS, "{found:#?}");
    let outage = length(&found[0]);
    let (least, most) = (OUTAGE.saturating_sub(AROUND), without_majority + AROUND);
    assert!((least..=most).contains(&outage), "{least:?} to {most:?}: {found:#?}");
    let [leaderless] = named("nobody-leads")[..] else { panic!("{found:#?}") };
    // The news of the end may come later than that of the beginning.
    let least = LEADERLESS.saturating_sub(Duration::from_secs(1));
    assert!((least..=without_leader).contains(&length(leaderless)), "up to {without_leader:?}: {leaderless}");
    assert_eq!(named("orphan").len(), 1, "{found:#?}");
    assert_eq!(named("silent-holder").len(), 0, "a moment explains no tenure: {found:#?}");
    let blip = found.iter().find(|cause| cause["locks"][0] == "/blip").expect("the tenure");
    assert_eq!(blip["kind"], "kept", "{blip}");
    let told: BTreeSet<_> = found.iter().map(|cause| (cause["locks"].to_string(), cause["from"].to_string())).collect();
    assert_eq!(told.len(), found.len(), "it is told twice: {found:#?}");
}
