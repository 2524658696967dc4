//! The connection is cut, the server dies, or the session expires: afterwards the table equals a
//! fresh reading.

use std::time::Duration;

use lockscope_base::time::now;
use lockscope_live::zk::ConnectOptions;
use lockscope_model::queue::ConnectionState;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Client, CreateMode, SessionState};

use super::fixture::{ObserverFixture, connection, curator, path};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Lets contenders come and go until stopped.
async fn churn(connect: String, stop: CancellationToken) {
    let client = zk::connect(&connect).await;
    let mut turn = 0_usize;
    let mut standing: Vec<String> = Vec::new();
    while !stop.is_cancelled() {
        turn += 1;
        let queue = format!("/locks/q{}", turn % 5);
        let wishes = (0..3).map(|_| (format!("{queue}/{}", curator()), Vec::new()));
        standing.extend(zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await);
        if client.create("/locks/lock", b"", &zk::open(CreateMode::Ephemeral)).await.is_err() {
            zk::delete_all(&client, ["/locks/lock".to_owned()]).await;
        }
        let leaving = standing.len().saturating_sub(40);
        zk::delete_all(&client, standing.drain(..leaving)).await;
    }
    // The contenders live as long as the session.
    stop_with(client).await;
}

async fn stop_with(client: Client) {
    let mut states = client.state_watcher();
    while !matches!(states.changed().await, SessionState::Expired | SessionState::Closed) {}
    drop(client);
}

async fn fresh(connect: &str) -> Vec<(String, i64, String)> {
    let mut fixture = ObserverFixture::start(connect);
    fixture.until_live().await;
    let contenders = fixture.contenders();
    fixture.observer.stop().await;
    contenders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_many_cuts_the_table_has_the_true_state() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let maker = zk::connect(&server.connect_string()).await;
    zk::make(&maker, (0..5).map(|queue| format!("/locks/q{queue}"))).await;
    let stop = CancellationToken::new();
    let churning = tokio::spawn(churn(server.connect_string(), stop.clone()));

    let mut fixture = ObserverFixture::start(&relay.connect_string());
    for round in 0..8 {
        fixture.until_live().await;
        let seen = fixture.how_many("seen") + 20;
        fixture.until("some changes", |fixture| fixture.how_many("seen") >= seen).await;
        relay.cut().await;
        let syncs = fixture.how_many("syncing");
        fixture.until("another reading", |fixture| fixture.how_many("syncing") > syncs).await;
        assert!(fixture.links.iter().any(|link| matches!(link, ConnectionState::Lost { .. })), "round {round}");
    }
    stop.cancel();
    // The tree is at rest once two successive readings are the same.
    let truth = eventually("a tree that stands still", async || {
        let (first, second) = (fresh(&server.connect_string()).await, fresh(&server.connect_string()).await);
        if first == second { Ok(first) } else { Err(()) }
    })
    .await;
    assert!(!truth.is_empty());
    fixture.until("the same contenders", |fixture| fixture.table.is_live() && fixture.contenders() == truth).await;
    churning.abort();
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_server_is_followed_again_and_the_reason_is_reported_meanwhile() {
    let mut server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let wishes = (0..5).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(5).await;

    server.stop();
    fixture
        .until("the reason", |fixture| match fixture.links.last() {
            Some(ConnectionState::Lost { reason } | ConnectionState::Connecting { reason: Some(reason), .. }) => {
                reason.contains("refused the connection")
            }
            _ => false,
        })
        .await;
    assert!(!fixture.table.is_live());
    server.restart();
    fixture.until_live().await;
    let wishes = [(format!("/locks/a/{}", curator()), Vec::new())];
    let other = zk::connect(&server.connect_string()).await;
    zk::create_all(&other, CreateMode::EphemeralSequential, wishes).await;
    let truth = fresh(&server.connect_string()).await;
    fixture.until("the same contenders", |fixture| fixture.table.is_live() && fixture.contenders() == truth).await;
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_session_is_followed_by_a_new_one() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let short = ConnectOptions { session_timeout: Duration::from_secs(1), ..connection(&relay.connect_string()) };
    let mut fixture = ObserverFixture::with(short, &["/"]);
    fixture.until_live().await;
    let first = fixture.session();

    relay.refuse().await;
    fixture
        .until("a new attempt", |fixture| matches!(fixture.links.last(), Some(ConnectionState::Connecting { .. })))
        .await;
    relay.heal();
    let wishes = [(format!("/locks/a/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(1).await;
    assert_ne!(fixture.session(), first);
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_created_and_deleted_under_observation_is_grouped_correctly() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/s/locks".to_owned()]).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    let queue = [(format!("/s/locks/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, queue).await;
    fixture.until_contenders(1).await;
    assert!(fixture.table.find(&path("/s/locks"), None).is_some());

    zk::make(&client, ["/s/leases".to_owned()]).await;
    let semaphore = |fixture: &ObserverFixture| fixture.table.find(&path("/s"), None).is_some();
    fixture.until("the semaphore", semaphore).await;
    assert_eq!(fixture.contenders(), fresh(&server.connect_string()).await);
    zk::delete_all(&client, ["/s/leases".to_owned()]).await;
    fixture.until("the mutex", |fixture| fixture.table.find(&path("/s/locks"), None).is_some()).await;
    assert_eq!(fixture.contenders(), fresh(&server.connect_string()).await);
    fixture.observer.stop().await;
}

/// Only the relay knows when the server fell silent. The observer must not claim to have seen
/// anything later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_of_a_silent_server_is_dated_by_its_last_sign_of_life() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    // The client library gives up after two fifths of it.
    let timeout = Duration::from_secs(20);
    let options = ConnectOptions { session_timeout: timeout, ..connection(&relay.connect_string()) };
    let mut fixture = ObserverFixture::with(options, &[]);
    fixture.until_live().await;
    let read = fixture.table.last_true().expect("it was read");
    // Only answers to heartbeats are left as signs of life.
    let heartbeats = || relay.requests().get(&op::SYNC).copied().unwrap_or_default();
    let before = heartbeats();
    eventually("heartbeats", async || if heartbeats() >= before + 2 { Ok(()) } else { Err(heartbeats()) }).await;
    relay.pause();
    let silent = now();
    let is_silent = |fixture: &ObserverFixture| matches!(fixture.links.last(), Some(ConnectionState::Silent { .. }));
    fixture.until("the word that nothing is heard", is_silent).await;
    let said = now();
    assert!(said <= silent.plus(Duration::from_secs(4)), "{said:?} {silent:?}");
    assert!(!fixture.table.is_live());
    fixture
        .until("that the silence is noticed", |fixture| {
            matches!(fixture.links.last(), Some(ConnectionState::Lost { .. }))
        })
        .await;
    let noticed = now();
    let shown = fixture.table.last_true().expect("it was read");
    println!(
        "noticed {:?} after the silence began; shown as of {} ms before it",
        noticed.since(silent),
        silent.0 - shown.0
    );
    assert!(noticed > silent.plus(timeout / 5), "{noticed:?} {silent:?}");
    // Packets that have passed the relay may arrive a moment later. The observer asks 1.5 s after
    // the previous answer.
    assert!(shown <= silent.plus(timeout / 20), "{shown:?} {silent:?}");
    assert!(silent.since(shown) <= Duration::from_secs(2), "{shown:?} {silent:?}");
    assert!(shown > read, "heartbeats count");
}
