//! The observer's cost for the ensemble, by the server's own count of packets of its session.

use std::time::Instant;

use futures::future::join_all;
use lockscope_base::znode::SessionId;
use lockscope_lock::{Algorithm, Lock};
use lockscope_model::queue::ConnectionState;
use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, curator, fill};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The heartbeats that a slow test may see besides the requests.
const HEARTBEATS: u64 = 20;

fn received(server: &Server, fixture: &ObserverFixture) -> u64 {
    server.connection_of(fixture.session()).expect("the observer's connection").received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_new_contenders_cost_one_request_deleted_ones_none_and_one_watch_covers_all() {
    const COUNT: usize = 2000;
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    // The server keeps a recursive watch in two tables and counts both.
    assert!(server.figure("zk_watch_count") <= 2);
    let start = received(&server, &fixture);

    let wishes = (0..COUNT).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let all_read = |fixture: &ObserverFixture| {
        fixture.table.contender_count() == COUNT && fixture.contenders().iter().all(|(_, czxid, _)| *czxid > 0)
    };
    fixture.until("the contenders, all read", all_read).await;
    let created = received(&server, &fixture) - start;
    println!("{created} requests for {COUNT} created contenders");
    assert!(created <= COUNT as u64 / 10, "{created} requests for {COUNT} created nodes");

    zk::delete_all(&client, nodes).await;
    fixture.until_contenders(0).await;
    let deleted = received(&server, &fixture) - start - created;
    println!("{deleted} requests for {COUNT} deleted contenders");
    assert!(deleted <= COUNT as u64 / 10, "{deleted} requests for {COUNT} deleted nodes");
    assert_eq!(fixture.how_many("deleted"), COUNT, "each deletion is reported once");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_new_contender_is_read_at_once_by_one_request() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    let start = received(&server, &fixture);
    for count in 1..=10 {
        let wishes = [(format!("/locks/a/{}", curator()), Vec::new())];
        zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
        fixture.until_contenders(count).await;
    }
    let requests = received(&server, &fixture) - start;
    assert!((10..=10 + HEARTBEATS).contains(&requests), "{requests} requests");
    assert_eq!((fixture.how_many("seen"), fixture.how_many("appeared")), (10, 0), "each was shown when it was read");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_saturated_chain_costs_sixty_requests_a_second_at_most_and_every_acquisition_is_counted() {
    const CLIENTS: usize = 20;
    const ROUNDS: usize = 150;
    let server = Server::start();
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    let (start, began) = (received(&server, &fixture), Instant::now());
    let connect = server.connect_string();
    let clients = join_all((0..CLIENTS).map(|_| zk::connect(&connect))).await;
    let contending = tokio::spawn(join_all(clients.into_iter().map(|client| async move {
        let lock = Lock::new(&client, "/locks/a", Algorithm::Chain).expect("a lock");
        for _ in 0..ROUNDS {
            let guard = lock.acquire().await.expect("acquired");
            guard.release().await.expect("released");
        }
    })));
    let all = CLIENTS * ROUNDS;
    fixture.until("every release", |fixture| fixture.how_many("deleted") >= all).await;
    let (requests, seconds) = (received(&server, &fixture) - start, began.elapsed().as_secs_f64());
    contending.await.expect("no panic");
    let (read, counted) = (fixture.how_many("seen"), fixture.table.totals().acquisitions);
    println!("{requests} requests in {seconds:.2} s, {read} of {all} nodes read, {counted} acquisitions counted");
    assert!(requests <= 60 * (began.elapsed().as_secs() + 1), "{requests} requests in {seconds:.2} s");
    assert_eq!(counted, all as u64, "who was never read is counted too");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_contenders_and_five_thousand_locks_are_read_once_each() {
    let server = Settings::default().heap_mib(1024).start();
    let client = zk::connect(&server.connect_string()).await;
    fill(&client, 5000, 4).await;
    zk::make(&client, ["/long".to_owned()]).await;
    let wishes = (0..20_000).map(|_| (format!("/long/{}", curator()), Vec::new()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;

    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(40_000).await;
    assert_eq!(fixture.table.lock_count(), 5001);
    assert_eq!(fixture.how_many("seen"), 40_000);
    let requests = received(&server, &fixture);
    println!("{requests} requests to read 5,001 locks with 40,000 contenders");
    assert!(requests <= 1_500, "{requests} requests");
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_plain_children_cost_a_handful_of_requests() {
    let server = Settings::default().heap_mib(1024).start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/plain".to_owned(), "/locks/a".to_owned()]).await;
    let wishes = (0..100_000).map(|number| (format!("/plain/item{number}"), Vec::new()));
    zk::create_all(&client, CreateMode::Persistent, wishes).await;
    let wishes = [(format!("/locks/a/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;

    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_contenders(1).await;
    let requests = received(&server, &fixture);
    println!("{requests} requests to read a tree with 100,000 plain children");
    assert!(requests <= 10 + HEARTBEATS, "{requests} requests");

    // One of the children turns out to be a lock parent.
    let wishes = [(format!("/plain/item77/{}", curator()), Vec::new())];
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(2).await;
    zk::delete_all(&client, nodes).await;
    fixture.until_contenders(1).await;
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_observer_leaves_no_session_behind() {
    let server = Server::start();
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    let session = fixture.session();
    fixture.observer.stop().await;
    until_gone(&server, session).await;

    let mut dropped = ObserverFixture::start(&server.connect_string());
    dropped.until_live().await;
    let session = dropped.session();
    drop(dropped);
    until_gone(&server, session).await;
    assert_eq!(server.figure("zk_stale_sessions_expired"), 0, "both were closed");
}

/// Waits for the end of a session and of its connection, which the server closes a little later.
async fn until_gone(server: &Server, session: SessionId) {
    eventually("the end of the session", async || match server.connection_of(session) {
        None if !server.words("dump").contains(&session.to_string()) => Ok(()),
        connection => Err(connection),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_sleeps_during_a_storm_has_the_true_state_afterwards() {
    let server = Settings::default().heap_mib(1024).start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/plain".to_owned(), "/locks/a".to_owned()]).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;
    // No change is taken while far more changes arrive than the queue holds.
    for _ in 0..2 {
        let wishes = (0..60_000).map(|number| (format!("/plain/item{number}"), Vec::new()));
        let nodes = zk::create_all(&client, CreateMode::Persistent, wishes).await;
        zk::delete_all(&client, nodes).await;
    }
    let wishes = (0..10).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(10).await;
    assert!(fixture.how_many("syncing") >= 2, "{:?}", fixture.counts);
    assert!(fixture.how_many("deleted") < 120_000, "{:?}", fixture.counts);
    let overloads = fixture.links.iter().filter(|link| matches!(link, ConnectionState::Overloaded { .. })).count();
    assert!(overloads >= 1, "it is said: {:?}", fixture.links);
    assert!(matches!(fixture.links.last(), Some(ConnectionState::Connected { .. })), "and it is over");
    fixture.observer.stop().await;
}
