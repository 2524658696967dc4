//! What a check takes from a recording: since when locks are held, and who led before.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::incident::recording;
use super::program::{lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Checks with what a recording knows; returns the exit code and the findings.
async fn check(connect: &str, store: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let store = store.to_str().expect("a path");
    let ended = run(lockscope(&[&["check", "--connect", connect, "--store", store], more].concat())).await;
    let reported: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    (ended.code, reported["findings"].clone())
}

async fn until_history(store: &Path, lock: &str, what: impl Fn(&Value) -> bool) {
    let store = store.to_str().expect("a path");
    eventually("the recording of it", async || {
        let history = run(lockscope(&["history", lock, "--store", store])).await;
        let known = serde_json::from_str(&history.out).is_ok_and(|history| what(&history));
        if known { Ok(()) } else { Err(history) }
    })
    .await;
}

/// The tree does not tell when the lock was handed on, but a recording does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_tells_since_when_a_lock_stands() {
    let server = Server::start();
    let (at, folder) = (server.connect_string(), tempfile::tempdir().expect("a folder"));
    let store = folder.path().join("locks.db");
    let recorder = recording(&[], &at, &store).await;
    let (mut kazoo, client) = (Foreign::kazoo(&at), zk::connect(&at).await);
    kazoo.queue_up(&client, "/app/lock", &["a", "b", "c"]).await;
    kazoo.release("a").await;
    kazoo.held("b").await;
    until_history(&store, "/app/lock", |history| history["holds"].as_array().is_some_and(|holds| holds.len() == 2))
        .await;
    recorder.signal("TERM");
    recorder.ended().await.done();

    // Longer than the threshold for both, so that only the recording makes the difference.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let (code, findings) = check(&at, &store, &["--stuck-after", "5s"]).await;
    assert_eq!((code, &findings[0]["code"]), (Some(1), &"stuck".into()), "{findings}");
    let summary = findings[0]["summary"].as_str().expect("a sentence");
    assert!(summary.starts_with("stuck ") && !summary.contains("at least"), "{summary}");
    kazoo.quit().await;
}

/// nifi#2646: who led before, and does not know that its node is gone, is seen by none but those
/// who looked then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_tells_of_a_leader_that_does_not_know_of_its_end() {
    const ELECTION: &str = "/nifi/leaders/cluster-coordinator";
    let server = Server::start();
    let (at, folder) = (server.connect_string(), tempfile::tempdir().expect("a folder"));
    let store = folder.path().join("locks.db");
    let client = zk::connect(&at).await;
    let [mut first, mut second] = [Foreign::java(&at), Foreign::java(&at)];
    first.connect("first").await;
    first.start("first", "first", "latch", ELECTION).await;
    let node = first.held("first").await;
    second.connect("second").await;
    second.start("second", "second", "latch", ELECTION).await;
    let recorder = recording(&[], &at, &store).await;
    eventually("both candidates", async || {
        let children = client.list_children(ELECTION).await.unwrap_or_default();
        if children.len() == 2 { Ok(()) } else { Err(children) }
    })
    .await;
    zk::delete_all(&client, [format!("{ELECTION}/{node}")]).await;
    second.held("second").await;
    until_history(&store, ELECTION, |history| history["holds"].as_array().is_some_and(|holds| holds.len() == 2)).await;
    recorder.signal("TERM");
    recorder.ended().await.done();
    assert!(first.holds("first").await, "it says that it leads");

    let (code, findings) = check(&at, &store, &[]).await;
    assert_eq!((code, &findings[0]["code"]), (Some(1), &"two-leaders".into()), "{findings}");
    assert_eq!(findings[0]["severity"], "critical", "{findings}");
    first.quit().await;
    second.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_that_cannot_be_used_is_told_and_the_check_goes_on() {
    let server = Server::start();
    let (at, folder) = (server.connect_string(), tempfile::tempdir().expect("a folder"));
    let missing = folder.path().join("missing.db");
    let ended = run(lockscope(&["check", "--connect", &at, "--store", missing.to_str().expect("a path")])).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("nothing is taken from"), "{ended:?}");
    let alone = run(lockscope(&["check", "--root", "/a", "--store", missing.to_str().expect("a path")])).await;
    assert!(alone.stderr.contains("--root is for an ensemble"), "{alone:?}");
}
