//! `lockscope history` and `lockscope report` on a recording of real clients: they report what the
//! test did.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use roxmltree::Document;
use serde_json::Value;
use zookeeper_client::{Client, CreateMode};

use super::program::{Running, lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::{browser, signal, zk};

/// The session timeout of clients that are killed: long enough for a survey in between, even on a
/// slow machine. If a session ends before any survey saw that its connection was lost, the
/// recording cannot show whether it expired.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum delay of the recording behind the test's actions, on a loaded machine.
const DELAY_MS: i64 = 3_000;

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// The minimum length of a standstill; the checked length is the actual one.
const STANDSTILL_MS: u64 = 1_500;

/// What the test knows about a hold: the bounds of its beginning and end, and of the start of
/// another client's wait.
#[derive(Debug)]
struct Done {
    lock: &'static str,
    end: &'static str,
    began: (i64, i64),
    waited: (i64, i64),
    ended: (i64, i64),
}

/// Starts to record with more options, and waits until everything was read.
pub(super) async fn recording(options: &[&str], connect: &str, store: &Path) -> Running {
    let arguments = ["record", "--store", store.to_str().expect("a path"), "--connect", connect];
    let mut recorder = Running::start(lockscope(&[&arguments, options].concat()));
    let first: Value = serde_json::from_str(&recorder.line().await.expect("a line")).expect("JSON");
    assert_eq!(first["recording"], store.to_str().expect("a path"));
    eventually("the first reading", async || {
        let asked = run(lockscope(&["history", "--store", store.to_str().expect("a path")])).await;
        // Before anything was written, the command says so and fails.
        if asked.code == Some(2) {
            return Err(asked.stderr);
        }
        asked.json()["recorded_until"].as_str().map(|_| ()).ok_or_else(|| "nothing is recorded yet".to_owned())
    })
    .await;
    recorder
}

/// Waits until the recording shows a holder of the lock and, with a time, a waiter that has waited
/// this long.
pub(super) async fn until_recorded(store: &Path, lock: &str, waited_ms: Option<u64>) {
    let store = store.to_str().expect("a path");
    eventually("a hold and a wait in the recording", async || {
        let history = run(lockscope(&["history", lock, "--store", store])).await.json();
        let mut holds = history["holds"].as_array().expect("holds").iter();
        let mut waits = history["waits"].as_array().expect("waits").iter();
        let is_held = holds.any(|hold| hold["end"] == "open");
        let waits_long = |least| waits.any(|wait| wait["waited_ms"].as_u64().is_some_and(|waited| waited >= least));
        if is_held && waited_ms.is_none_or(waits_long) { Ok(()) } else { Err(history) }
    })
    .await;
}

/// Kills a holder of a library while another client waits, which then acquires.
async fn killed(mut holder: Foreign, mut waiter: Foreign, recipe: &str, (lock, store): (&'static str, &Path)) -> Done {
    holder.connect_within("a", TIMEOUT).await;
    waiter.connect_within("b", Duration::from_secs(30)).await;
    let before = now();
    holder.start("a", "first", recipe, lock).await;
    holder.held("first").await;
    let held = now();
    waiter.start("b", "second", recipe, lock).await;
    until_recorded(store, lock, Some(STANDSTILL_MS)).await;
    let killed = now();
    signal::send(holder.pid(), "KILL");
    waiter.held("second").await;
    let done = Done { lock, end: "expired", began: (before, held), waited: (held, killed), ended: (killed, now()) };
    waiter.release("second").await;
    waiter.quit().await;
    done
}

/// Kills a program that holds a built-in lock while another one waits, which then acquires.
async fn killed_program(connect: &str, (lock, store): (&'static str, &Path)) -> Done {
    let contend = || {
        let mut command =
            lockscope(&["contend", "--path", lock, "--clients", "1", "--hold", "1h", "--connect", connect]);
        command.args(["--session-timeout", "30s"]);
        Running::start(command)
    };
    let before = now();
    let holder = contend();
    until_recorded(store, lock, None).await;
    let held = now();
    let waiter = contend();
    until_recorded(store, lock, Some(STANDSTILL_MS)).await;
    let killed = now();
    holder.signal("KILL");
    drop(holder);
    until_recorded_holds(store, lock, 2).await;
    let done = Done { lock, end: "expired", began: (before, held), waited: (held, killed), ended: (killed, now()) };
    waiter.signal("TERM");
    waiter.ended().await;
    done
}

/// Waits until the recording has `count` holds of a lock.
async fn until_recorded_holds(store: &Path, lock: &str, count: u64) {
    let store = store.to_str().expect("a path");
    eventually("the holds in the recording", async || {
        let history = run(lockscope(&["history", lock, "--store", store])).await.json();
        (history["hold_count"] == count).then_some(()).ok_or(history)
    })
    .await;
}

/// Runs a slow holder and a waiter, in a queue with names of this test's own.
async fn slow(client: &Client, (lock, store): (&'static str, &Path)) -> Done {
    let prefix = format!("{lock}/_c_00000000-0000-4000-8000-000000000000-lock-");
    zk::make(client, [lock.to_owned()]).await;
    let options = zk::open(CreateMode::EphemeralSequential);
    let before = now();
    let (_, holder) = client.create(&prefix, b"slow", &options).await.expect("created");
    let held = now();
    let (_, waiter) = client.create(&prefix, b"patient", &options).await.expect("created");
    let asked = now();
    until_recorded(store, lock, Some(STANDSTILL_MS)).await;
    let before_release = now();
    client.delete(&format!("{prefix}{holder}"), None).await.expect("deleted");
    let released = now();
    client.delete(&format!("{prefix}{waiter}"), None).await.expect("deleted");
    Done { lock, end: "gone", began: (before, held), waited: (held, asked), ended: (before_release, released) }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

fn time(value: &Value) -> i64 {
    let time = value.as_str().unwrap_or_else(|| panic!("{value} is no time"));
    chrono::DateTime::parse_from_rfc3339(time).expect("RFC 3339").timestamp_millis()
}

/// Asserts that the history reports a hold as it was.
fn is_what_was_done(hold: &Value, done: &Done) {
    let within = |at: i64, (from, to): (i64, i64)| at >= from - 50 && at <= to + DELAY_MS;
    assert_eq!(hold["end"], done.end, "{hold} {done:?}");
    assert!(within(time(&hold["acquired_at"]), done.began), "{hold} {done:?}");
    assert!(within(time(&hold["released_at"]), done.ended), "{hold} {done:?}");
    let length = time(&hold["released_at"]) - time(&hold["acquired_at"]);
    assert_eq!((hold["held_at_least_ms"].as_i64(), hold["held_at_most_ms"].as_i64()), (Some(length), Some(length)));
}

/// Returns the part of a page from the beginning of an element to its end, which is XML.
fn element<'a>(page: &'a str, begins: &str, ends: &str) -> &'a str {
    let start = page.find(begins).unwrap_or_else(|| panic!("{begins} is not in {page}"));
    let length = page[start..].find(ends).expect("an end");
    &page[start..start + length + ends.len()]
}

pub(super) async fn stop(recorder: Running) {
    recorder.signal("TERM");
    let ended = recorder.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_names_the_true_holder_cause_and_length_of_each_standstill() {
    let server = Server::with_certain_expiries();
    let connect = server.connect_string();
    let folder = tempfile::tempdir().expect("a folder");
    let (store, page, trace) = (folder.path().join("r.db"), folder.path().join("r.html"), folder.path().join("r.json"));
    let recorder = recording(&[], &connect, &store).await;
    let client = zk::connect(&connect).await;
    let done = tokio::join!(
        killed(Foreign::kazoo(&connect), Foreign::kazoo(&connect), "lock", ("/kazoo", &store)),
        killed(Foreign::java_process(&connect), Foreign::java(&connect), "mutex", ("/curator", &store)),
        killed(Foreign::java_process(&connect), Foreign::java(&connect), "write-lock", ("/writelock", &store)),
        killed_program(&connect, ("/builtin", &store)),
        slow(&client, ("/own", &store)),
    );
    let done = [done.0, done.1, done.2, done.3, done.4];
    stop(recorder).await;

    let store = store.to_str().expect("a path");
    let history = run(lockscope(&["history", "--store", store])).await.json();
    let hold_of = |lock: &str| {
        let mut holds = history["holds"].as_array().expect("holds").iter();
        holds.find(|hold| hold["lock"] == lock).unwrap_or_else(|| panic!("{lock} in {history}"))
    };
    for done in &done {
        is_what_was_done(hold_of(done.lock), done);
    }
    let expired = ["history", "--store", store, "--end", "expired", "--min-hold", "1s", "--sort", "worst"];
    let expired = run(lockscope(&expired)).await.json();
    let lengths: Vec<i64> = expired["holds"]
        .as_array()
        .expect("holds")
        .iter()
        .filter_map(|hold| hold["held_at_least_ms"].as_i64())
        .collect();
    assert!(lengths.len() == done.len() - 1 && lengths.is_sorted_by(|one, next| one >= next), "{expired}");
    let top = run(lockscope(&["history", "--store", store, "--top", "hold"])).await.json();
    assert_eq!(top["top"]["locks"].as_array().expect("locks").len(), done.len(), "{top}");
    assert_eq!(top["hold_ms"]["count"], 2 * done.len(), "{top}");

    for file in [&page, &trace] {
        run(lockscope(&["report", "--store", store, "--utc", "-o", file.to_str().expect("a path")])).await.done();
    }
    let text = fs::read_to_string(&page).expect("a page");
    let table = element(&text, "<table class=\"standstills\"", "</table>");
    let table = Document::parse(table).unwrap_or_else(|error| panic!("{error} in {table}"));
    let traced: Value = serde_json::from_str(&fs::read_to_string(&trace).expect("a trace")).expect("JSON");
    for done in &done {
        let hold = hold_of(done.lock);
        let row = table.descendants().find(|row| row.attribute("data-lock") == Some(done.lock)).expect("a row");
        assert_eq!(row.attribute("data-node"), hold["node"].as_str());
        assert_eq!(row.attribute("data-end"), Some(done.end));
        assert_eq!(row.attribute("data-held-at-least-ms"), Some(&*hold["held_at_least_ms"].to_string()));
        // The standstill lasted from the arrival of the waiter until the holder was gone.
        let length: i64 = row.attribute("data-standstill-ms").and_then(|ms| ms.parse().ok()).expect("milliseconds");
        let (least, most) = (done.ended.0 - done.waited.1, done.ended.1 - done.waited.0 + DELAY_MS);
        assert!(length >= least.max(1_500) - DELAY_MS && length <= most, "{length}: {done:?}");
        assert_eq!(row.attribute("data-waiters"), Some("1"));
        let slice = traced["traceEvents"]
            .as_array()
            .expect("events")
            .iter()
            .find(|event| event["cat"] == "hold" && event["args"]["node"] == hold["node"]);
        let slice = slice.expect("a slice");
        assert_eq!(slice["dur"].as_i64(), hold["held_at_least_ms"].as_i64().map(|ms| ms * 1_000));
        assert_eq!(slice["ts"].as_i64(), Some(time(&hold["acquired_at"]) * 1_000));
        // The paragraph names the holder by the address that the server listed, or by the session.
        let begins = format!("\">{} stood for", done.lock);
        // What cost least may have no paragraph.
        if done.end == "gone" && !text.contains(&begins) {
            continue;
        }
        let paragraph = element(&text, &begins, "</p>");
        let names = ["client", "client_name", "session"].map(|name| hold[name].as_str().unwrap_or("none of these"));
        assert!(names.iter().any(|name| paragraph.contains(name)), "{names:?} is not in {paragraph}");
        let gone = ", when its node was gone: released, or deleted by another";
        let why = if done.end == "expired" { "until its session expired at " } else { gone };
        assert!(paragraph.contains(why), "{paragraph}");
        assert_eq!(text.matches(&begins).count(), 1, "it is told once: {text}");
    }
    let (light, dark) = tokio::join!(browser::open(&page, false), browser::open(&page, true));
    for opened in [&light, &dark] {
        assert_eq!(opened.messages, [""; 0]);
        assert!(opened.picture.len() > 10_000, "it shows something: {} bytes", opened.picture.len());
    }
    assert_ne!(light.picture, dark.picture);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_data_of_znodes_stay_text_in_history_page_and_trace() {
    let connect = zk::own_root("incident-hostile").await;
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("r.db");
    let recorder = recording(&[], &connect, &store).await;
    let client = zk::connect(&connect).await;
    let parent = "/<script>alert('1')<script>\"--";
    zk::make(&client, [parent.to_owned()]).await;
    let options = zk::open(CreateMode::EphemeralSequential);
    let prefix = format!("{parent}/_c_00000000-0000-4000-8000-000000000000-lock-");
    let (_, holder) = client.create(&prefix, b"'); DROP TABLE contender; --", &options).await.expect("created");
    client.create(&prefix, b"\xff\xfe\0", &options).await.expect("created");
    let path = store.to_str().expect("a path");
    // The data of a node that is gone before it was read is unknown.
    eventually("the data of both", async || {
        let history = run(lockscope(&["history", parent, "--store", path])).await.json();
        let are_known = !history["holds"][0]["data"].is_null() && !history["waits"][0]["data"].is_null();
        are_known.then_some(()).ok_or(history)
    })
    .await;
    client.delete(&format!("{prefix}{holder}"), None).await.expect("deleted");
    eventually("the second hold", async || {
        let history = run(lockscope(&["history", parent, "--store", path])).await.json();
        (history["hold_count"] == 2).then_some(()).ok_or("it is not there yet")
    })
    .await;
    stop(recorder).await;
    let history = run(lockscope(&["history", parent, "--store", path])).await.json();
    let holds = history["holds"].as_array().expect("holds");
    assert_eq!((&holds[0]["lock"], &holds[0]["data"]), (&parent.into(), &"'); DROP TABLE contender; --".into()));
    assert_eq!(holds[1]["data_encoding"], "base64");
    let table = run(lockscope(&["history", "--store", path, "--format", "table"])).await.done();
    assert!(table.contains(parent), "{table}");
    let page = folder.path().join("r.html");
    run(lockscope(&["report", "--store", path, "-o", page.to_str().expect("a path")])).await.done();
    let text = fs::read_to_string(&page).expect("a page");
    assert_eq!(mode(&page), 0o600, "what it says of clients is for those who may know it");
    fs::set_permissions(&page, Permissions::from_mode(0o666)).expect("it is ours");
    for (more, expected) in [(&[][..], 0o600), (&["--readable-by", "everyone"], 0o644)] {
        let arguments = ["report", "--store", path, "-o", page.to_str().expect("a path")];
        run(lockscope(&[&arguments, more].concat())).await.done();
        assert_eq!(mode(&page), expected);
    }
    let link = folder.path().join("link.html");
    symlink(&page, &link).expect("a link");
    let refusal = run(lockscope(&["report", "--store", path, "-o", link.to_str().expect("a path")])).await.refused();
    assert!(refusal.contains("symbolic link"), "{refusal}");
    assert!(!text.contains("<script") && text.contains("&lt;script&gt;"), "{text}");
    assert_eq!(browser::open(&page, false).await.messages, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_and_unwritable_files_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let (none, text) = (folder.path().join("none.db"), folder.path().join("text.db"));
    fs::write(&text, "no recording").expect("a file");
    for store in [&none, &text] {
        let store = store.to_str().expect("a path");
        let page = folder.path().join("r.html");
        let page = page.to_str().expect("a path");
        for arguments in [vec!["history", "--store", store], vec!["report", "--store", store, "-o", page]] {
            let refusal = run(lockscope(&arguments)).await.refused();
            assert!(refusal.contains(store), "{refusal}");
        }
    }
    assert!(!folder.path().join("r.html").exists(), "nothing was written");
    let refusal = run(lockscope(&["report", "--store", "a.db", "-o", "/none/r.html"])).await.refused();
    assert!(refusal.contains("/none/r.html") && refusal.contains("--output"), "{refusal}");
    let refusal = run(lockscope(&["history", "--store", "a.db", "--from", "14:00", "--to", "13:59"])).await.refused();
    assert!(!refusal.is_empty());
}
