//! A recorder that is killed and started again later, and the import of the server's log into its
//! recording.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::fixture::{Row, files_of, milliseconds};
use super::lives::Lives;
use super::watched::contend;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, Running, lockscope, run};

/// The transactions of each part: while the recorder runs, while it does not, and again.
const TRANSACTIONS: usize = 250;

/// How late an event may reach the recorder on a busy machine, in milliseconds.
const LATE: i64 = 3_000;

async fn start(server: &Server, store: &str) -> Running {
    let at = server.connect_string();
    let mut recorder =
        Running::start(lockscope(&["record", "--store", store, "--connect", &at, "--server-view", "words"]));
    recorder.line().await.expect("it records");
    recorder
}

/// Waits until the log has this many more transactions.
async fn more(server: &Server) {
    let count = || Lives::read(&files_of(server)).zxids.len();
    let before = count();
    eventually("more transactions", async || {
        let now = count();
        if now >= before + TRANSACTIONS { Ok(()) } else { Err(now) }
    })
    .await;
}

async fn history(store: &str) -> Result<Value, String> {
    let ended = run(lockscope(&["history", "--store", store, "--format", "json", "--limit", "100000"])).await;
    serde_json::from_str(&ended.out).map_err(|_| ended.stderr)
}

/// Returns the rows, each with whether it held.
fn rows(history: &Value) -> Vec<(&Value, bool)> {
    let of = |name: &str, held| history[name].as_array().expect("rows").iter().map(move |row| (row, held));
    of("holds", true).chain(of("waits", false)).collect()
}

/// Waits until the recorder has rows, and none of them is still open.
async fn until_all_ended(store: &str) {
    eventually("a recording in which all have ended", async || {
        let history = history(store).await?;
        let open = rows(&history).into_iter().filter(|(row, _)| row["end"] == "open").count();
        if open == 0 { Ok(()) } else { Err(open.to_string()) }
    })
    .await;
}

/// Records with a gap in which clients go on. With `imports` the log is imported within the gap, too.
async fn recorded_with_a_gap(server: &Server, store: &str, imports: bool) {
    let ended = Arc::new(AtomicBool::new(false));
    let clients = contend(server, &ended).await;
    more(server).await;
    let recorder = start(server, store).await;
    more(server).await;
    recorder.signal("KILL");
    recorder.ended().await;
    more(server).await;
    if imports {
        let merged = import(server, store).await.json()["merged"].clone();
        assert!(merged["rows_added"].as_u64().is_some_and(|added| added > 0), "{merged}");
        more(server).await;
    }
    let recorder = start(server, store).await;
    more(server).await;
    ended.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    until_all_ended(store).await;
    recorder.signal("TERM");
    recorder.ended().await.code.expect("it ends by itself");
}

async fn import(server: &Server, store: &str) -> Ended {
    let files = files_of(server);
    run(lockscope(&["import", files.to_str().expect("text"), "--store", store, "--format", "json"])).await
}

/// Returns each client's address, by the transaction that created its node.
fn addresses(history: &Value) -> HashMap<i64, String> {
    let address = |row: &Value| Some((row["czxid"].as_i64()?, row["client"].as_str()?.to_owned()));
    rows(history).into_iter().filter_map(|(row, _)| address(row)).collect()
}

/// Returns what is wrong with a row: its times may be the recorder's.
fn wrong(row: &Row, truth: &Row) -> bool {
    let is_near = |seen: Option<i64>, at: Option<i64>| match (seen, at) {
        (Some(seen), Some(at)) => (at..=at + LATE).contains(&seen),
        (seen, at) => seen == at,
    };
    let same = |row: &Row| {
        (
            row.czxid,
            row.lock.clone(),
            row.node.clone(),
            row.session.clone(),
            row.held,
            row.end.clone(),
            row.deleted_by.clone(),
        )
    };
    same(row) != same(truth)
        || !is_near(row.enqueued_at, truth.enqueued_at)
        || !is_near(row.acquired_at, truth.acquired_at)
        || !is_near(row.released_at, truth.released_at)
}

fn time(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms).expect("a time").to_rfc3339()
}

/// Returns the nodes that hold a lock at a moment, according to `snapshot`.
async fn holders(store: &str, at: i64, lock: &str) -> Vec<String> {
    let at = time(at);
    let shown = run(lockscope(&["snapshot", "--store", store, "--at", &at, "--format", "json"])).await.json();
    let locks = shown["locks"].as_array().expect("locks");
    let contenders = locks.iter().filter(|found| found["path"] == lock).flat_map(|found| {
        found["contenders"].as_array().expect("contenders").iter().filter(|contender| contender["state"] == "holds")
    });
    contenders.map(|contender| contender["node"].as_str().expect("a node").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_completes_the_recording_of_a_recorder_that_was_killed() {
    completes(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorder_and_an_import_go_on_with_a_completed_recording() {
    completes(true).await;
}

async fn completes(imports: bool) {
    let server = Settings::default().tick(Duration::from_secs(2)).line("minSessionTimeout=1000").start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a", "/locks/b"].map(str::to_owned)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db").to_str().expect("text").to_owned();
    recorded_with_a_gap(&server, &store, imports).await;
    let before = history(&store).await.expect("a history");
    let gaps: Vec<(i64, i64)> = before["gaps"]
        .as_array()
        .expect("gaps")
        .iter()
        .filter_map(|gap| Some((milliseconds(&gap["from"])?, milliseconds(&gap["to"])?)))
        .collect();
    let (from, to) = gaps.iter().copied().max_by_key(|(from, to)| to - from).expect("a gap");

    let told = import(&server, &store).await.json()["merged"].clone();
    println!("{told}, the longest of {} gaps was {} ms", gaps.len(), to - from);
    let after = history(&store).await.expect("a history");
    assert_eq!(after["gaps"], Value::Array(Vec::new()));
    let truth = Lives::read(&files_of(&server)).rows(&["/locks"]);
    let all = rows(&after);
    assert_eq!(all.len(), truth.len());
    let rows: HashMap<i64, (Row, &Value)> = all
        .into_iter()
        .map(|(row, held)| (row["czxid"].as_i64().expect("a read node"), (Row::read(row, held), row)))
        .collect();
    assert_eq!(rows.len(), truth.len());
    let wrong: Vec<String> = truth
        .iter()
        .filter(|truth| {
            rows.get(&truth.czxid).is_none_or(|(row, shown)| wrong(row, truth) || shown["source"] == "watched")
        })
        .map(|truth| format!("{:?}\nbut {truth:?}", rows.get(&truth.czxid)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), truth.len(), wrong.join("\n"));
    let by_source = |source: &str| rows.values().filter(|(_, row)| row["source"] == source).count();
    assert_eq!(told["rows_both"], by_source("both"));
    assert!(imports || told["rows_added"] == by_source("log"), "an earlier import added the others");
    assert!(by_source("both") > 0 && by_source("log") > 0, "{told}");
    assert!(told["clock_ms"].as_i64().is_some_and(|ms| ms.abs() < LATE), "{told}");

    let (known, kept) = (addresses(&before), addresses(&after));
    assert!(!known.is_empty());
    for (czxid, address) in &known {
        assert_eq!(kept.get(czxid), Some(address));
    }

    let within = truth.iter().filter_map(|row| Some((row, row.acquired_at?, row.released_at?)));
    let within = within.filter(|(_, acquired, released)| from < *acquired && *released < to && released - acquired > 1);
    let mut looked = 0;
    for (row, acquired, released) in within.step_by(10) {
        assert_eq!(holders(&store, acquired.midpoint(released), &row.lock).await, [&*row.node], "{row:?}");
        looked += 1;
    }
    assert!(looked > 2, "{looked}");

    let part = folder.path().join("part.db").to_str().expect("text").to_owned();
    run(lockscope(&["cut", "--store", &store, "--from", &time(from - 500), "--to", &time(to + 500), "-o", &part]))
        .await
        .done();
    assert_eq!(history(&part).await.expect("a history")["gaps"], Value::Array(Vec::new()));

    let checked = run(lockscope(&["check", "--store", &store])).await;
    assert!(matches!(checked.code, Some(0 | 1)), "{checked:?}");
    let page = folder.path().join("report.html");
    run(lockscope(&["report", "--store", &store, "-o", page.to_str().expect("text")])).await.done();
    let watched = run(lockscope(&["watch", "--store", &store, "--format", "json"])).await.done();
    assert!(!watched.contains("\"event\":\"gap\""));

    let again = import(&server, &store).await.json()["merged"].clone();
    assert_eq!((&again["rows_added"], &again["gaps_filled"]), (&0.into(), &0.into()), "{again}");
    assert_eq!(history(&store).await.expect("a history"), after);
}
