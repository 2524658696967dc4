//! `lockscope check --watch`: what it reports, and the program that it runs for findings.

use std::fs;
use std::path::Path;

use serde_json::Value;
use zookeeper_client::{Client, CreateMode};

use super::program::{Running, lockscope, run};
use crate::harness::process::await_end_of;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Starts the command with more options.
fn on_duty(at: &str, more: &[&str]) -> Running {
    Running::start(lockscope(&[&["check", "--watch", "--format", "json", "--connect", at], more].concat()))
}

/// Creates a node of a client that is gone; it is a finding at the first look. Returns its path.
async fn left_behind(client: &Client, lock: &str) -> String {
    zk::make(client, [lock.to_owned()]).await;
    let node = format!("{lock}/_c_00000000-0000-4000-8000-000000000001-lock-");
    zk::create_all(client, CreateMode::PersistentSequential, [(node, Vec::new())]).await.remove(0)
}

/// Waits for the next line, and returns its event and its lock.
async fn next(running: &mut Running) -> String {
    let line = running.line().await.expect("it goes on");
    let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
    assert_eq!((&line["code"], line["at"].is_string()), (&"persistent-contender".into(), true), "{line}");
    format!("{} {}", line["event"].as_str().expect("an event"), line["lock"].as_str().expect("a lock"))
}

/// Waits until the program has read that many findings.
async fn read(file: &Path, count: usize) -> Vec<Value> {
    eventually("the findings that the program read", async || {
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() >= count { Ok(lines) } else { Err(text) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finding_is_handed_over_once_although_the_connection_is_cut() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let relay = Relay::start(&server.connect_string()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("findings");
    let first = left_behind(&client, "/locks/first").await;
    let program = format!("sh -c 'echo noise; cat >>{}'", file.display());
    let mut running = on_duty(&relay.connect_string(), &["--on-finding", &program, "--cool-down", "0s"]);
    assert_eq!(next(&mut running).await, "finding-raised /locks/first");
    read(&file, 1).await;
    for lock in ["/locks/second", "/locks/third"] {
        relay.cut().await;
        left_behind(&client, lock).await;
        assert_eq!(next(&mut running).await, format!("finding-raised {lock}"), "and nothing of the cut");
    }
    client.delete(&first, None).await.expect("it is deleted");
    assert_eq!(next(&mut running).await, "finding-cleared /locks/first");
    let handed = read(&file, 3).await;
    let locks: Vec<&str> = handed.iter().filter_map(|finding| finding["lock"].as_str()).collect();
    assert_eq!(locks, ["/locks/first", "/locks/second", "/locks/third"]);
    let finding = &handed[0];
    assert_eq!((&finding["event"], &finding["left_out"]), (&"finding-raised".into(), &0.into()), "{finding}");
    assert!(finding["summary"].is_string() && first.ends_with(finding["node"].as_str().expect("a node")), "{finding}");
    running.signal("TERM");
    let ended = running.ended().await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.stderr.matches("noise").count(), 3, "its output is no fact: {ended:?}");
    for sentence in ["the locks are not seen any more: ", "the locks are seen again"] {
        assert!(ended.stderr.contains(sentence), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_fails_or_hangs_is_named_and_the_watch_goes_on() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (asked, child) = (folder.path().join("asked"), folder.path().join("child"));
    let script = format!(
        "if [ -e {asked} ]; then sleep 3600 & echo $! >{child}; wait; else >{asked}; exit 7; fi",
        asked = asked.display(),
        child = child.display()
    );
    let program = format!("sh -c '{script}'");
    let running = &mut on_duty(&server.connect_string(), &["--on-finding", &program, "--on-finding-timeout", "500ms"]);
    let said = async |running: &Running, part: &str| {
        eventually(part, async || Some(running.said_now()).filter(|said| said.contains(part)).ok_or("not yet")).await
    };
    let first = left_behind(&client, "/locks/a").await;
    assert_eq!(next(running).await, "finding-raised /locks/a");
    said(running, "ended with exit status 7. It was run for persistent-contender of /locks/a").await;
    left_behind(&client, "/locks/b").await;
    assert_eq!(next(running).await, "finding-raised /locks/b");
    said(running, "was killed: it ran for longer than").await;
    await_end_of(fs::read_to_string(&child).expect("it ran").trim().parse().expect("a process id"));
    // The same lock and code cool down.
    client.delete(&first, None).await.expect("it is deleted");
    assert_eq!(next(running).await, "finding-cleared /locks/a");
    left_behind(&client, "/locks/a").await;
    assert_eq!(next(running).await, "finding-raised /locks/a");
    left_behind(&client, "/locks/c").await;
    assert_eq!(next(running).await, "finding-raised /locks/c");
    let said = said(running, "persistent-contender of /locks/c").await;
    assert_eq!(said.matches("of /locks/a").count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_watch_ends_in_time_although_the_program_hangs() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    left_behind(&client, "/locks/a").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let program = format!("sh -c 'sleep 3600 & echo $! >{}; wait'", file.display());
    let running = on_duty(&server.connect_string(), &["--on-finding", &program]);
    let pid = read(&file, 1).await.remove(0);
    running.signal("TERM");
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("at the end the program still ran; it was killed"), "{ended:?}");
    await_end_of(pid.as_u64().and_then(|pid| pid.try_into().ok()).expect("a process id"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_ensembles_are_watched_and_a_program_without_the_watch_is_refused() {
    let (one, other) = (zk::own_root("duty").await, zk::own_root("duty").await);
    let folder = tempfile::tempdir().expect("a folder");
    let (config, file) = (folder.path().join("config.toml"), folder.path().join("findings"));
    fs::write(&config, format!("[context.one]\nconnect = '{one}'\n[context.other]\nconnect = '{other}'\n"))
        .expect("it is written");
    left_behind(&zk::connect(&other).await, "/orders").await;
    let program = format!("sh -c 'cat >>{}'", file.display());
    let config = config.to_str().expect("a plain path");
    let arguments = ["check", "--all-contexts", "--config", config, "--format", "json", "--on-finding", &program];
    let refused = run(lockscope(&arguments)).await.refused();
    assert!(refused.contains("--watch"), "{refused}");
    let running = Running::start(lockscope(&[&arguments[..], &["--watch"]].concat()));
    let handed = read(&file, 1).await;
    assert_eq!((&handed[0]["context"], &handed[0]["lock"]), (&"other".into(), &"/orders".into()));
    running.signal("INT");
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("\"context\":\"other\""), "{ended:?}");
}
