//! Tests of the harness: a relay cuts, refuses, stalls, counts and rewrites.

use zookeeper_client::{AddWatchMode, Client, Error, SessionState};

use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

async fn relayed() -> (Relay, Client) {
    let relay = Relay::start(&Server::shared().connect_string()).await;
    let client = zk::connect(&relay.connect_string()).await;
    (relay, client)
}

async fn reads(client: &Client) {
    eventually("a read", async || client.get_data("/").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_connection_comes_back_with_its_session() {
    let (relay, client) = relayed().await;
    let session = client.session_id();
    let mut states = client.state_watcher();
    for cuts in 1..=3 {
        relay.cut().await;
        reads(&client).await;
        assert_eq!(relay.accepted(), cuts + 1);
    }
    assert_eq!(states.state(), SessionState::SyncConnected);
    assert_eq!(client.session_id(), session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_passes_while_the_relay_refuses() {
    let (relay, client) = relayed().await;
    relay.refuse().await;
    assert_eq!(relay.live(), 0);
    let refused = Client::connector().with_fail_eagerly().connect(&relay.connect_string()).await;
    assert!(refused.is_err());
    relay.heal();
    reads(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_packets_pass_later() {
    let (relay, client) = relayed().await;
    let (up, down) = relay.bytes();
    relay.pause();
    let read = client.get_data("/");
    eventually("the request at the relay", async || match relay.requests().get(&op::GET_DATA) {
        Some(1) => Ok(()),
        seen => Err(seen.copied()),
    })
    .await;
    assert_eq!(relay.bytes(), (up, down));
    relay.resume();
    read.await.expect("it passed");
    let after = relay.bytes();
    assert!(after.0 > up && after.1 > down);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_counted_by_operation() {
    let (relay, client) = relayed().await;
    for _ in 0..5 {
        client.get_data("/").await.expect("the root can be read");
    }
    client.get_children("/").await.expect("the root can be listed");
    let mut requests = relay.requests();
    requests.remove(&op::PING);
    assert_eq!(requests.remove(&op::GET_DATA), Some(5));
    assert_eq!(requests.into_values().sum::<u64>(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_rewritten_to_an_unknown_one_is_unimplemented_as_on_an_old_server() {
    let (relay, client) = relayed().await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    let refused = client.watch("/", AddWatchMode::PersistentRecursive).await;
    assert_eq!(refused.err(), Some(Error::Unimplemented));
    assert_eq!(relay.requests().get(&op::ADD_WATCH), Some(&1));
    // A real server closes the connection with that answer, as old servers do; the session
    // continues.
    eventually("another connection", async || {
        reads(&client).await;
        if relay.accepted() == 2 { Ok(()) } else { Err(relay.accepted()) }
    })
    .await;
}
