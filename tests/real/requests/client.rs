//! Behaviour of the real client alone, which a simulated client need not have.

use std::time::Duration;

use futures::StreamExt;
use lockscope_requests::Requests;
use tokio::time::timeout;
use zookeeper_client::{Client, CreateMode, Error, EventType, SessionState};

use super::cases::Servers;
use super::real::RealServers;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_dropped_closes_its_session() {
    let server = zk::own_root("dropped").await;
    let (client, other) = (zk::connect(&server).await, zk::connect(&server).await);
    client.create("/own", b"", &zk::open(CreateMode::Ephemeral)).await.expect("it is created");
    zk::make(&client, ["/node".to_owned()]).await;
    let mut states = Requests::states(&client);
    let (.., own) = client.watch_data("/own").await.expect("it is there");
    let (.., data) = client.watch_data("/node").await.expect("it is there");
    let (.., children) = client.watch_children("/node").await.expect("it is there");
    let mut events = client.watch_recursively("/node").await.expect("the server knows it");
    drop(client);
    assert_eq!(states.changed().await, SessionState::Closed);
    // The server deletes the client's ephemeral nodes before it closes the connection.
    assert_eq!(own.await.event_type, EventType::NodeDeleted);
    let last = events.next().await.expect("the end of the session");
    for event in [data.await, children.await, last] {
        assert_eq!((event.event_type, event.session_state), (EventType::Session, SessionState::Closed));
    }
    assert_eq!(events.next().await, None);
    eventually("the end of the session", async || match other.check_stat("/own").await {
        Ok(None) => Ok(()),
        other => Err(other),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_connection_that_breaks_at_once_leaves_the_state_connected_until_the_session_ends() {
    const TIMEOUT: Duration = Duration::from_secs(4);
    let relay = Relay::start(&Server::shared().connect_string()).await;
    let client = zk::connect_within(&relay.connect_string(), TIMEOUT).await;
    let mut states = Requests::states(&client);
    // The reply to the first heartbeat takes longer than this test takes to close the port.
    relay.delay(TIMEOUT / 20);
    relay.cut().await;
    assert_eq!(states.changed().await, SessionState::Disconnected);
    assert_eq!(states.changed().await, SessionState::SyncConnected);
    drop(relay);
    let mut waiting = Box::pin(Client::check_stat(&client, "/"));
    timeout(TIMEOUT, &mut waiting).await.expect_err("there is no connection");
    assert_eq!(states.peek(), SessionState::SyncConnected);
    // The servers have ended the session already.
    assert_eq!(states.changed().await, SessionState::Expired);
    assert_eq!(waiting.await, Err(Error::SessionExpired));
}

/// Watches `count` paths of 200 bytes, breaks the connection, and returns the state in which the
/// client ends up.
async fn reconnect_with_watches(count: usize) -> SessionState {
    const TIMEOUT: Duration = Duration::from_secs(2);
    let mut servers = RealServers::start(TIMEOUT).await;
    let client = servers.client();
    let paths: Vec<String> = (0..count).map(|number| format!("/{number:0199}")).collect();
    let replies: Vec<_> = paths.iter().map(|path| client.watch_stat(path)).collect();
    let mut watches = Vec::new();
    for reply in replies {
        watches.push(reply.await.expect("it is connected").1);
    }
    servers.cut().await;
    servers.heal().await;
    let mut states = client.states();
    // A request is answered once the client has a lasting connection.
    let _ = client.sync("/").await;
    states.state()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_128_kib_of_watched_paths_end_the_session_at_a_reconnect() {
    // The client asks for the watches with two requests that have the same number, and takes the
    // second reply for an error.
    assert_eq!(reconnect_with_watches(600).await, SessionState::SyncConnected);
    assert_eq!(reconnect_with_watches(700).await, SessionState::Expired);
}
