//! The servers' reports about themselves in `snapshot` and `watch`.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::program::{Running, lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;

async fn snapshot(at: &str, more: &[&str]) -> Value {
    let arguments = [&["snapshot", "--connect", at, "--format", "json"], more].concat();
    run(lockscope(&arguments)).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contender_shows_its_client_its_liveness_and_its_watch() {
    let server = Server::start();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    let (first, second) = (kazoo.connect("a").await, kazoo.connect("b").await);
    kazoo.start("a", "one", "lock", "/locks/billing").await;
    kazoo.held("one").await;
    kazoo.start("b", "two", "lock", "/locks/billing").await;
    let shot = eventually("the waiter watches", async || {
        let shot = snapshot(&at, &[]).await;
        let watches = &shot["locks"][0]["contenders"][1]["watches"];
        if watches == "predecessor" { Ok(shot) } else { Err(shot) }
    })
    .await;
    let contenders = shot["locks"][0]["contenders"].as_array().expect("contenders");
    for (contender, session) in contenders.iter().zip([first, second]) {
        assert_eq!(contender["liveness"], "live", "{contender}");
        assert_eq!(contender["session"], session.to_string());
        let client = contender["client"].as_str().expect("it is known");
        let of_session = |line: &&str| line.contains(&format!("sid={session},"));
        assert!(server.words("cons").lines().find(of_session).is_some_and(|line| line.contains(client)), "{contender}");
        assert!(contender["session_timeout_ms"].as_u64().is_some_and(|timeout| timeout > 0), "{contender}");
    }
    let reported = &shot["ensemble"]["servers"][0];
    assert_eq!(
        (&reported["view"], &reported["mode"], &reported["error"]),
        (&"words".into(), &"standalone".into(), &Value::Null)
    );
    let untold = snapshot(&at, &["--server-view", "off"]).await;
    assert_eq!(untold["ensemble"]["servers"][0]["view"], "none");
    assert_eq!(untold["locks"][0]["contenders"][0]["liveness"], "unknown");
    kazoo.quit().await;
}

/// In Curator, a read under one's own write has the number of the write, and contenders that queued
/// in between watch the write.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_behind_a_write_with_its_own_read_waits_for_the_write() {
    let server = Server::start();
    let at = server.connect_string();
    let (holder, waiter) = (zk::connect(&at).await, zk::connect(&at).await);
    zk::make(&holder, ["/rw".to_owned()]).await;
    let name = |mode: &str| format!("/rw/_c_{}-__{mode}__", uuid::Uuid::new_v4());
    let numbered = async |client, mode: &str| {
        let wish = [(name(mode), Vec::new())];
        zk::create_all(client, zookeeper_client::CreateMode::EphemeralSequential, wish).await.remove(0)
    };
    let write = numbered(&holder, "WRIT").await;
    numbered(&waiter, "WRIT").await;
    let (_, number) = write.rsplit_once("__").expect("a number");
    let read = [(format!("{}{number}", name("READ")), Vec::new())];
    zk::create_all(&holder, zookeeper_client::CreateMode::Ephemeral, read).await;
    let _watching = waiter.get_and_watch_data(&write).await.expect("it is there");
    let shot = snapshot(&at, &[]).await;
    let contenders = shot["locks"][0]["contenders"].as_array().expect("contenders");
    let states: Vec<&Value> = contenders.iter().map(|contender| &contender["state"]).collect();
    assert_eq!(states, ["holds", "holds", "waits"]);
    assert_eq!(contenders[2]["waits_for"], serde_json::json!([write.trim_start_matches("/rw/")]));
    assert_eq!(contenders[2]["watches"], "predecessor");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_named_with_the_setting_to_change_and_nothing_is_claimed() {
    let server = Settings::default().line("4lw.commands.whitelist=srvr,conf").start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks".to_owned()]).await;
    let wish = [("/locks/_c_d83b7d22-9b4b-4ccf-973c-09c524b9be5d-lock-".to_owned(), Vec::new())];
    zk::create_all(&client, zookeeper_client::CreateMode::EphemeralSequential, wish).await;
    let shot = snapshot(&server.connect_string(), &["--server-view", "words"]).await;
    let reported = &shot["ensemble"]["servers"][0];
    assert!(reported["error"].as_str().is_some_and(|error| error.contains("4lw.commands.whitelist")), "{reported}");
    let contender = &shot["locks"][0]["contenders"][0];
    assert_eq!((&contender["liveness"], &contender["client"]), (&"unknown".into(), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_is_reported_as_expired_and_not_as_released() {
    let server = Server::with_certain_expiries();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    // On a busy machine the servers are asked every few seconds only, and must be between the kill
    // and the expiry.
    kazoo.connect_within("a", Duration::from_secs(15)).await;
    kazoo.start("a", "one", "lock", "/locks/billing").await;
    kazoo.held("one").await;
    let mut watching = Running::start(lockscope(&["watch", "--connect", &at, "--format", "json"]));
    let mut lines = Vec::new();
    let reported = timeout(PATIENCE, async {
        loop {
            let line: Value = serde_json::from_str(&watching.line().await.expect("it goes on")).expect("JSON");
            match line["event"].as_str() {
                Some("lock-found") => drop(std::mem::replace(&mut kazoo, Foreign::kazoo(&at))),
                Some("expired") => return line,
                Some("released" | "left") => panic!("{line} after {lines:?}"),
                _ => {}
            }
            lines.push(line);
        }
    });
    let reported = reported.await.expect("it is printed in time");
    assert_eq!(reported["lock"], "/locks/billing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnected_client_is_still_named_by_its_data_and_last_address() {
    let server = Server::with_certain_expiries();
    let at = server.connect_string();
    let relay = Relay::start(&at).await;
    let waiter = zk::connect(&at).await;
    let client = zk::connect_within(&relay.connect_string(), Duration::from_secs(24)).await;
    let session = zk::session_of(&client).to_string();
    zk::make(&waiter, ["/locks/billing".to_owned()]).await;
    let node = |id: u32| format!("/locks/billing/_c_{id:08x}-9b4b-4ccf-973c-09c524b9be5d-lock-");
    let mode = zookeeper_client::CreateMode::EphemeralSequential;
    zk::create_all(&client, mode, [(node(1), b"worker-3".to_vec())]).await;
    zk::create_all(&waiter, mode, [(node(2), b"worker-4".to_vec())]).await;
    let address = eventually("the holder's address", async || {
        let shot = snapshot(&at, &[]).await;
        shot["locks"][0]["contenders"][0]["client"].as_str().map(str::to_owned).ok_or(shot)
    })
    .await;

    let mut watching = Running::start(lockscope(&["watch", "--connect", &at, "--format", "json"]));
    zk::make(&waiter, ["/probe".to_owned()]).await;
    let mut at_the_start = Vec::new();
    eventually("an event that names the client's address", async || {
        zk::create_all(&client, mode, [("/probe/lock-".to_owned(), Vec::new())]).await;
        let lines: Vec<Value> =
            watching.lines_now().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let is_named = |line: &Value| line["event"] == "enqueued" && line["client"] == address.as_str();
        let is_initial = |line: &&Value| line["initial"] == true && line["session"] == session.as_str();
        at_the_start.extend(lines.iter().filter(is_initial).map(|line| line["client"].clone()));
        if lines.iter().any(is_named) { Ok(()) } else { Err(lines) }
    })
    .await;
    let is_named = !at_the_start.is_empty() && at_the_start.iter().all(|client| *client == address.as_str());
    assert!(is_named, "who was there already has an address, too: {at_the_start:?}");
    relay.refuse().await;

    let next = timeout(PATIENCE, async {
        let mut reported = Vec::new();
        while reported.last().is_none_or(|line: &Value| line["event"] != "expired") {
            let line: Value = serde_json::from_str(&watching.line().await.expect("it goes on")).expect("JSON");
            if line["lock"] == "/locks/billing" && line["session"] == session.as_str() && line["initial"] != true {
                reported.push(line);
            }
        }
        reported
    });
    let reported = next.await.expect("it expires in time");
    let raised = reported.iter().find(|line| line["code"] == "expiring-holder").expect("it was raised before");
    for line in [raised, &reported[reported.len() - 1]] {
        assert_eq!((&line["client_name"], &line["client"]), (&"worker-3".into(), &Value::Null), "{line}");
        assert_eq!(line["was_client"], address.as_str(), "{line}");
        assert!(line["client_last_seen_at"].is_string(), "{line}");
    }
    let summary = raised["summary"].as_str().expect("a sentence");
    assert!(summary.starts_with(&format!("worker-3 (was {address} until ")), "{summary}");
}
