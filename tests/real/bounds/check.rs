//! `lockscope check` finds within three seconds what a first look and two views can prove.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use zookeeper_client::Client;

use super::silent::{TIMEOUT, kazoo_holds_and_waits};
use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::{signal, zk};
use crate::headless::program::{lockscope, run};

/// Returns the codes of the findings at a lock.
fn codes<'a>(reported: &'a Value, lock: &str) -> Vec<&'a str> {
    let findings = reported["findings"].as_array().expect("a list");
    findings.iter().filter(|found| found["lock"] == lock).filter_map(|found| found["code"].as_str()).collect()
}

/// Creates a lock that one client holds and another waits for.
async fn held_and_awaited(holder: &Client, waiter: &Client, lock: &str) {
    zk::make(holder, [lock.to_owned()]).await;
    enqueue(holder, &curator(lock, 1)).await;
    enqueue(waiter, &curator(lock, 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_seconds_suffice_to_find_troubles_that_existed_before() {
    let server = Server::start();
    let at = server.connect_string();
    let (kazoo, _waiter, node) = kazoo_holds_and_waits(&server, "/silent").await;
    let [a, b] = [zk::connect(&at).await, zk::connect(&at).await];
    held_and_awaited(&a, &b, "/stuck").await;
    zk::make(&a, ["/billing".to_owned(), "/orders".to_owned()]).await;
    for (number, client, lock) in [(1, &a, "/billing"), (2, &b, "/orders"), (3, &b, "/billing"), (4, &a, "/orders")] {
        enqueue(client, &curator(lock, number)).await;
    }
    zk::make(&a, ["/orphan".to_owned(), "/handed-on".to_owned()]).await;
    let orphan = enqueue(&a, &curator("/orphan", 7)).await;
    enqueue(&a, &curator("/orphan", 7)).await;
    let _watch = watch(&a, &orphan).await;
    let detached = Client::connector().with_session_timeout(Duration::from_secs(40)).with_detached();
    let gone = detached.connect(&at).await.expect("a session");
    held_and_awaited(&gone, &b, "/expiring").await;
    let earlier = enqueue(&a, &curator("/handed-on", 3)).await;
    enqueue(&b, &curator("/handed-on", 4)).await;
    enqueue(&a, &curator("/handed-on", 5)).await;
    signal::send(kazoo.pid(), "STOP");
    drop(gone);
    let session = kazoo_session(&server, &node).await;
    // Silence needs time: it must pass since the server last heard from the client.
    let mut heard = (None, Instant::now());
    eventually("a client that was not heard for half of its timeout", async || {
        let received = server.connections().into_iter().find(|one| one.session == session).map(|one| one.received);
        if received != heard.0 {
            heard = (received, Instant::now());
        }
        let silent = heard.1.elapsed();
        if received.is_some() && silent > TIMEOUT / 2 { Ok(()) } else { Err((received, silent)) }
    })
    .await;
    // Nothing shows when that lock was handed on.
    a.delete(&earlier, None).await.expect("it is there");

    let arguments = ["check", "--connect", &at, "--for", "3s", "--stuck-after", "8s"];
    let ended = run(lockscope(&arguments)).await;
    let reported: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    assert_eq!(ended.code, Some(1), "{reported}");
    for (lock, code) in [
        ("/stuck", "stuck"),
        ("/billing", "deadlock"),
        ("/orders", "deadlock"),
        ("/orphan", "orphan"),
        ("/expiring", "expiring-holder"),
        ("/silent", "silent-holder"),
    ] {
        assert!(codes(&reported, lock).contains(&code), "no {code} at {lock}: {reported}");
    }
    assert_eq!(codes(&reported, "/handed-on"), ["may-be-stuck"], "{reported}");

    let shot = run(lockscope(&["snapshot", "--connect", &at, "--stuck-after", "8s"])).await.json();
    let lock = shot["locks"].as_array().expect("a list").iter().find(|lock| lock["path"] == "/stuck").expect("a lock");
    assert_eq!(lock["findings"][0]["code"], "stuck", "{lock}");
    assert!(lock["contenders"][0]["held_at_least_ms"].as_u64().is_some_and(|held| held > 11_000), "{lock}");
    let table =
        run(lockscope(&["snapshot", "--connect", &at, "--stuck-after", "8s", "--format", "table"])).await.done();
    let line = table.lines().find(|line| line.starts_with("/stuck ")).expect("a line");
    assert!(line.ends_with("stuck"), "{table}");
    signal::send(kazoo.pid(), "CONT");
}

/// Returns the session that owns a node.
async fn kazoo_session(server: &Server, node: &str) -> lockscope_base::znode::SessionId {
    let client = zk::connect(&server.connect_string()).await;
    let stat = client.check_stat(node).await.expect("a connection").expect("it is there");
    lockscope_base::znode::SessionId(stat.ephemeral_owner)
}
