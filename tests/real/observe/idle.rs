//! An observer of an idle ensemble asks it for a sign of life, and for nothing else.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, connection, curator, fill};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// How many heartbeats the test awaits, so that periodic requests would have been sent too.
const HEARTBEATS: u64 = 4;

/// The least time between two heartbeats.
const ASK_AFTER: Duration = Duration::from_millis(1500);

/// Returns the number of heartbeats, and of other requests by operation.
fn sent(relay: &Relay) -> (u64, HashMap<i32, u64>) {
    let mut requests = relay.requests();
    requests.remove(&op::PING);
    (requests.remove(&op::SYNC).unwrap_or_default(), requests)
}

/// Observes locks through the relay for a while, and checks that only heartbeats are sent.
async fn sends_heartbeats_alone(server: &Server, relay: &Relay) {
    let client = zk::connect(&server.connect_string()).await;
    fill(&client, 20, 3).await;
    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until_contenders(60).await;

    let (heartbeats, before) = sent(relay);
    let began = Instant::now();
    let connections = relay.accepted();
    eventually("some heartbeats", async || match sent(relay).0 - heartbeats {
        HEARTBEATS.. => Ok(()),
        few => Err(few),
    })
    .await;
    let asked = sent(relay);
    assert_eq!(asked.1, before, "requests by operation");
    let most = began.elapsed().as_millis() / ASK_AFTER.as_millis() + 2;
    assert!(u128::from(asked.0 - heartbeats) <= most, "{} heartbeats, at most {most}", asked.0 - heartbeats);
    assert!(fixture.table.is_live() && relay.accepted() == connections, "{:?}", fixture.links);
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_changes_only_heartbeats_are_sent() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    sends_heartbeats_alone(&server, &relay).await;
    assert_eq!(relay.requests()[&op::ADD_WATCH], 1, "one watch for the one root");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_outside_of_the_roots_cause_no_event() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/watched/a".to_owned(), "/other".to_owned()]).await;
    let mut fixture = ObserverFixture::with(connection(&relay.connect_string()), &["/watched"]);
    fixture.until_live().await;
    let wishes = (0..100).map(|_| (format!("/other/{}", curator()), Vec::new()));
    let other = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    zk::delete_all(&client, other).await;
    let wishes = [(format!("/watched/a/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(1).await;
    assert_eq!(relay.events(), 1, "that of the one contender");
    assert_eq!(relay.requests()[&op::ADD_WATCH], 1);
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_shot_watches_too_wait_without_a_request() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    sends_heartbeats_alone(&server, &relay).await;
}
