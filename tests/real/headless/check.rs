//! `lockscope check`: for monitoring.

use std::time::Duration;

use serde_json::Value;
use zookeeper_client::CreateMode;

use super::program::{Ended, Running, lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::recording;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The opcode of a read.
const GET_DATA: i32 = 4;

async fn check(at: &str, more: &[&str]) -> Ended {
    run(lockscope(&[&["check", "--connect", at, "--for", "8s"], more].concat())).await
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sound_locks_pass_and_a_deadlock_fails_with_what_to_do() {
    let server = Server::start();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    for (client, path) in [("a", "/locks/billing"), ("b", "/locks/orders")] {
        kazoo.connect(client).await;
        kazoo.start(client, &format!("{client}-holds"), "lock", path).await;
        kazoo.held(&format!("{client}-holds")).await;
    }
    let sound = check(&at, &[]).await;
    let reported = json(&sound);
    assert_eq!((sound.code, &reported["passed"], &reported["locks"]), (Some(0), &true.into(), &2.into()), "{reported}");
    assert_eq!(reported["findings"], Value::Array(Vec::new()));

    kazoo.start("a", "a-waits", "lock", "/locks/orders").await;
    kazoo.start("b", "b-waits", "lock", "/locks/billing").await;
    // Two healthy processes with threads may be in a cycle for some seconds.
    let stuck = run(lockscope(&["check", "--connect", &at, "--for", "12s"])).await;
    let reported = json(&stuck);
    assert_eq!(
        (stuck.code, &reported["passed"], &reported["fail_on"]),
        (Some(1), &false.into(), &"warning".into()),
        "{reported}"
    );
    let worst = &reported["findings"][0];
    assert_eq!((&worst["code"], &worst["severity"]), (&"deadlock".into(), &"critical".into()), "{reported}");
    assert!(worst["summary"].is_string() && worst["remedy"].is_string() && worst["lock"].is_string(), "{reported}");

    let table = check(&at, &["--format", "table", "--color", "always"]).await;
    assert_eq!(table.code, Some(1), "{table:?}");
    assert!(table.out.contains("\u{1b}[31mcritical\u{1b}[0m"), "{table:?}");
    assert!(table.out.contains("critical") && table.out.contains("deadlock  /locks/"), "{table:?}");
    kazoo.quit().await;
}

/// The node of a client that is gone: no session's end deletes it, so both waiters wait forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persistent_node_that_holds_while_two_wait_is_critical() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks".to_owned(), "/locks/billing".to_owned()]).await;
    let node = "/locks/billing/_c_00000001-0000-4000-8000-000000000000-lock-".to_owned();
    zk::create_all(&client, CreateMode::PersistentSequential, [(node, Vec::new())]).await;
    let critical = &["--fail-on", "critical"];
    let alone = check(&at, critical).await;
    let reported = json(&alone);
    assert_eq!((alone.code, &reported["findings"][0]["severity"]), (Some(0), &"warning".into()), "{reported}");

    let mut java = Foreign::java(&at);
    for waiter in ["a", "b"] {
        java.connect(waiter).await;
        java.start(waiter, &format!("{waiter}-waits"), "mutex", "/locks/billing").await;
    }
    eventually("both waiters", async || {
        let children = client.list_children("/locks/billing").await.expect("it is there");
        if children.len() == 3 { Ok(()) } else { Err(children) }
    })
    .await;
    let blocked = check(&at, critical).await;
    let reported = json(&blocked);
    assert_eq!((blocked.code, &reported["passed"]), (Some(1), &false.into()), "{reported}");
    let worst = &reported["findings"][0];
    assert_eq!(
        (&worst["code"], &worst["severity"]),
        (&"persistent-contender".into(), &"critical".into()),
        "{reported}"
    );
    let line = status_line(&check(&at, &["--nagios"]).await, 2);
    assert!(line.starts_with("LOCKSCOPE CRITICAL - /locks/billing persistent-contender: "), "{line}");
    assert!(line.contains("; 1 critical") && line.contains(" | locks=1 contenders=3 waiting=2 critical=1 "), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_longer_than_the_given_time_is_reported_as_incomplete() {
    let server = Server::start();
    let at = server.connect_string();
    let reported = run(lockscope(&["check", "--connect", &at, "--for", "2s"])).await.json();
    let not_seen: Vec<&str> =
        reported["not_seen"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(not_seen.contains(&"deadlock") && not_seen.contains(&"idle-holder"), "{reported}");
    assert!(!not_seen.contains(&"persistent-contender"), "{reported}");
    assert!(!not_seen.contains(&"stuck"), "a lock that may be has a finding: {reported}");
    assert_eq!(reported["not_seen_needs_ms"]["ghost"], 11_000, "{reported}");
    let table = run(lockscope(&["check", "--connect", &at, "--for", "4s", "--format", "table"])).await.done();
    assert!(
        table.contains(
            "Could not be checked in so short a time (look longer with --for): ghost 11s, member-disagrees 11s, idle-holder 1m01s, "
        ),
        "{table}"
    );
    assert!(!table.contains("deadlock"), "{table}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_past_its_promise_is_a_warning_though_nobody_waits() {
    let server = Server::start();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    kazoo.connect("nightly").await;
    kazoo.start("nightly", "nightly", "lock", "/jobs/nightly").await;
    kazoo.held("nightly").await;
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    for (promised, code) in [("1s", 1), ("1h", 0)] {
        let text = format!("[[expect]]\npath = \"/jobs/*\"\nheld-at-most = \"{promised}\"\n");
        std::fs::write(&config, text).expect("a config file");
        let checked = check(&at, &["--config", &config.to_string_lossy()]).await;
        let reported = json(&checked);
        assert_eq!(checked.code, Some(code), "{reported}");
        let found = reported["findings"].as_array().expect("a list");
        let codes: Vec<&Value> = found.iter().map(|found| &found["code"]).collect();
        assert_eq!(codes, vec!["held-long"; usize::from(code == 1)], "{reported}");
        assert!(found.iter().all(|found| found["severity"] == "warning"), "{reported}");
    }
    kazoo.quit().await;
}

/// Returns what `check` says of locks whose waiters wait for longer than five seconds.
async fn of_long_waits(at: &str) -> (Value, String) {
    // Long enough for the waiters, and for a hold that began before to be in doubt.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let common = ["check", "--connect", at, "--stuck-after", "5s"];
    let ended = run(lockscope(&common)).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    (json(&ended), status_line(&run(lockscope(&[&common[..], &["--nagios"]].concat())).await, 1))
}

/// The tree does not tell when the lock was handed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standstill_after_one_hand_over_is_a_warning() {
    let server = Server::start();
    let at = server.connect_string();
    let (mut kazoo, client) = (Foreign::kazoo(&at), zk::connect(&at).await);
    kazoo.queue_up(&client, "/app/lock", &["a", "b", "c"]).await;
    kazoo.release("a").await;
    kazoo.held("b").await;
    let (reported, line) = of_long_waits(&at).await;
    let found = &reported["findings"];
    assert_eq!((&found[0]["code"], &found[1]), (&"may-be-stuck".into(), &Value::Null), "{reported}");
    let summary = found[0]["summary"].as_str().expect("a sentence");
    assert!(
        summary.starts_with("may be stuck, 1 waits for ") && summary.contains("; no hand-over was seen in "),
        "{summary}"
    );
    assert!(line.starts_with("LOCKSCOPE WARNING - /app/lock may-be-stuck: "), "{line}");

    kazoo.release("b").await;
    let moved = run(lockscope(&["check", "--connect", &at, "--stuck-after", "5s"])).await;
    assert_eq!((moved.code, &json(&moved)["findings"]), (Some(0), &Value::Array(Vec::new())), "{moved:?}");
    kazoo.quit().await;
}

/// Each try deletes a node, so the tree never tells how long the lock was held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standstill_beside_a_client_that_tries_again_and_again_is_a_warning() {
    let server = Server::start();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    for client in ["holder", "waiter", "trier"] {
        kazoo.connect(client).await;
    }
    kazoo.start("holder", "holder", "lock", "/app/lock").await;
    kazoo.held("holder").await;
    kazoo.start("waiter", "waiter", "lock", "/app/lock").await;
    let client = zk::connect(&at).await;
    queued(&client, "/app/lock", 2).await;
    let checked = of_long_waits(&at);
    let mut checked = std::pin::pin!(checked);
    let mut tries = 0;
    let (reported, line) = loop {
        tries += 1;
        let attempt = format!("try-{tries}");
        kazoo.start("trier", &attempt, "lock", "/app/lock").await;
        tokio::select! {
            checked = &mut checked => break checked,
            () = tokio::time::sleep(Duration::from_millis(700)) => kazoo.abandon(&attempt).await,
        }
    };
    assert!(tries > 8, "{tries}");
    assert_eq!(reported["findings"][0]["code"], "may-be-stuck", "{reported}");
    assert!(line.starts_with("LOCKSCOPE WARNING - /app/lock may-be-stuck: may be stuck, "), "{line}");
    kazoo.quit().await;
}

/// Waits until a lock has this many contenders.
async fn queued(client: &zookeeper_client::Client, lock: &str, contenders: usize) {
    eventually("all contenders", async || {
        let children = client.list_children(lock).await.unwrap_or_default();
        if children.len() == contenders { Ok(()) } else { Err(children) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_without_a_server_does_not_pass() {
    let reported = check("127.0.0.1:1", &["--timeout", "2s"]).await.refused();
    assert!(reported.contains("127.0.0.1:1 refused the connection"), "{reported}");
    let line = status_line(&check("127.0.0.1:1", &["--nagios"]).await, 3);
    assert!(line.starts_with("LOCKSCOPE UNKNOWN - ") && line.contains("refused the connection"), "{line}");
    assert!(!line.contains('|'), "nothing was measured: {line}");
}

/// Returns the one line of a plugin that ended with this code.
fn status_line(ended: &Ended, code: i32) -> String {
    assert_eq!((ended.code, ended.out.lines().count()), (Some(code), 1), "{ended:?}");
    ended.out.trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_loses_the_connection_does_not_pass() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks".to_owned()]).await;
    let wish = ("/locks/_c_00000001-0000-4000-8000-000000000000-lock-".to_owned(), Vec::new());
    zk::create_all(&client, CreateMode::EphemeralSequential, [wish]).await;
    for (more, code) in [(&["--nagios"][..], 3), (&[], 2)] {
        let ended = cut_while_it_looks(&relay, more).await;
        let said = if code == 3 { status_line(&ended, 3) } else { ended.refused() };
        assert!(said.contains("the connection was lost while the locks were read: "), "{said}");
        assert_eq!(said.starts_with("LOCKSCOPE UNKNOWN - "), code == 3, "{said}");
    }
}

/// Cuts the connection of a check for good once everything was read.
async fn cut_while_it_looks(relay: &Relay, more: &[&str]) -> Ended {
    for surveys in 1..6 {
        relay.heal();
        let at = relay.connect_string();
        let read = || relay.requests().get(&GET_DATA).copied().unwrap_or_default();
        let (before, accepted) = (read(), relay.accepted());
        let common = ["check", "--connect", &at, "--for", "6s", "--timeout", "2s"];
        let running = Running::start(lockscope(&[&common, more].concat()));
        // The servers are asked every two seconds, over separate connections.
        eventually("that the node is read, and that the servers are asked again", async || {
            let asked = relay.accepted() - accepted;
            if read() > before && asked > 8 * surveys { Ok(()) } else { Err(asked) }
        })
        .await;
        relay.refuse().await;
        let ended = running.ended().await;
        // The cut came before everything was read.
        if !format!("{ended:?}").contains("gave up after") {
            return ended;
        }
    }
    panic!("it was never cut off in time");
}

#[tokio::test]
async fn a_recording_that_ended_long_ago_says_nothing_about_the_present() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("r.db");
    recording::incident(&store);
    let judged = async |more: &[&str]| {
        let common = ["check", "--store", store.to_str().expect("text"), "--nagios", "--utc"];
        run(lockscope(&[&common, more].concat())).await
    };
    let line = status_line(&judged(&[]).await, 3);
    assert!(line.starts_with("LOCKSCOPE UNKNOWN - the recording ends "), "{line}");
    let line = status_line(&judged(&["--at", "2026-05-01T02:14:30Z"]).await, 1);
    assert!(line.starts_with("LOCKSCOPE WARNING - /app/locks/billing stuck: "), "{line}");
    assert!(line.contains("; recorded at 2026-05-01 02:14:30 UTC | locks=1 contenders=6 waiting=5 "), "{line}");
    let line = status_line(&judged(&["--at", "2026-05-01T02:14:30Z", "--fail-on", "critical"]).await, 0);
    assert!(line.starts_with("LOCKSCOPE OK - no finding at or above critical at 1 lock in 4m30s; 1 warning"), "{line}");
    let line = status_line(&judged(&["--at", "2020-01-01T00:00:00Z"]).await, 3);
    assert!(line.contains("nothing was recorded at 2020-01-01"), "{line}");
}
