//! What happened to an ensemble of three: as a recorder saw it, and as the members' logs tell it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::fixture::{Import, milliseconds};
use super::members::{contend, folders, until_written};
use crate::harness::ensemble::Ensemble;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};

/// How long two of three members are stopped.
const STOPPED: Duration = Duration::from_secs(8);

/// The times, in milliseconds, around something that the test did.
type Around = (i64, i64);

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// Starts to record.
async fn recording(connect: &str, store: &str) -> Running {
    let mut recorder = Running::start(lockscope(&["record", "--store", store, "--connect", connect]));
    recorder.line().await.expect("the first line");
    recorder
}

/// Waits until a recording has as many events of a kind.
async fn until_recorded(store: &str, what: &str, count: usize) -> Value {
    eventually("the event in the recording", async || {
        let ended = run(lockscope(&["history", "--store", store, "--format", "json"])).await;
        if ended.code != Some(0) {
            return Err(Value::from(ended.stderr));
        }
        let history = ended.json();
        let is_over = |event: &&&Value| !event["to"].is_null();
        if of(&history, what).iter().filter(is_over).count() >= count { Ok(history) } else { Err(history) }
    })
    .await
}

fn of<'a>(history: &'a Value, what: &str) -> Vec<&'a Value> {
    history["ensemble_events"].as_array().expect("events").iter().filter(|event| event["what"] == what).collect()
}

/// Asserts that something that happened around a time lies between the bounds of an event's
/// beginning or end.
fn contains(event: &Value, bounds: [&str; 2], around: Around) {
    let after = milliseconds(&event[bounds[0]]).unwrap_or(0);
    let before = milliseconds(&event[bounds[1]]).unwrap_or(i64::MAX);
    assert!(after <= around.1 && around.0 <= before, "{bounds:?} of {event} and {around:?}");
}

const BEGAN: [&str; 2] = ["began_after", "from"];
const ENDED: [&str; 2] = ["ended_after", "to"];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_majority_and_another_leader_are_told_alike_by_the_recorder_and_the_logs() {
    let mut ensemble = block_in_place(Ensemble::start);
    let (folders, at) = (folders(&ensemble), ensemble.connect_string());
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a", "/locks/b"].map(str::to_owned)).await;
    drop(client);
    let ended = Arc::new(AtomicBool::new(false));
    let clients = contend(&at, &ended);
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db").to_str().expect("a path").to_owned();
    let recorder = recording(&at, &store).await;
    until_written(&folders, 300).await;

    let stopped = now();
    block_in_place(|| {
        ensemble.stop(0);
        ensemble.stop(1);
    });
    let stopped = (stopped, now());
    sleep(STOPPED).await;
    let started = now();
    block_in_place(|| ensemble.start_again(0));
    let back = (started, now());
    block_in_place(|| ensemble.start_again(1));
    until_recorded(&store, "no-majority", 1).await;
    until_written(&folders, 300).await;

    let killed = now();
    block_in_place(|| ensemble.kill_leader());
    let leader = block_in_place(|| ensemble.leader());
    let led = (killed, now());
    until_written(&folders, 100).await;
    let history = eventually("the new leader in the recording", async || {
        let history = until_recorded(&store, "leader-changed", 1).await;
        let is_it =
            |event: &&Value| event["member"] == ensemble.address(leader) && milliseconds(&event["to"]) > Some(killed);
        if of(&history, "leader-changed").last().is_some_and(is_it) { Ok(history) } else { Err(history) }
    })
    .await;
    ended.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    recorder.signal("TERM");
    recorder.ended().await.done();

    let lost = of(&history, "no-majority");
    assert!(!lost.is_empty(), "{:#}", history["ensemble_events"]);
    contains(lost[0], BEGAN, stopped);
    contains(lost[0], ENDED, back);
    let changed = *of(&history, "leader-changed").last().expect("another leader");
    contains(changed, BEGAN, led);
    let leaders = of(&history, "leader-changed");
    let epochs: BTreeSet<_> = leaders.iter().map(|event| event["epoch"].as_u64()).collect();
    assert_eq!(epochs.len(), leaders.len(), "each is told once: {leaders:#?}");

    let paths: Vec<&Path> = folders.iter().map(std::path::PathBuf::as_path).collect();
    let imported = Import::of(&paths).await.history;
    let lost = of(&imported, "no-majority");
    assert!(!lost.is_empty(), "{:#}", imported["ensemble_events"]);
    contains(lost[0], BEGAN, stopped);
    contains(lost[0], ENDED, back);
    let same = of(&imported, "leader-changed").into_iter().find(|event| event["epoch"] == changed["epoch"]);
    contains(same.expect("the epoch of the last leader"), BEGAN, led);
}
