//! Clients that wait for themselves, for each other, or for a lock that never moves.

use std::time::Duration;

use lockscope_model::diagnose::{Code, Severity, Thresholds, Waits};
use tokio::time::interval;
use zookeeper_client::CreateMode;

use super::fixture::{ConsoleFixture, hasty, now};
use super::forgotten::watch;
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;

const TIMEOUT: Duration = Duration::from_secs(6);

async fn curators(server: &Server, clients: &[&str]) -> Foreign {
    let mut java = Foreign::java(&server.connect_string());
    for client in clients {
        java.connect_within(client, TIMEOUT).await;
    }
    java
}

/// CURATOR-678, Netflix's curator#75: the holding session queues again. Two lock objects and two
/// threads look alike until nothing moves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_waits_for_its_own_lock_is_noted_and_a_warning_when_nothing_moves() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), hasty()).await;
    let mut java = curators(&server, &["a"]).await;
    java.start("a", "first", "mutex", "/lock").await;
    let node = java.held("first").await;
    java.start("a", "second", "mutex", "/lock").await;
    fixture.finds_within(&[0, 3], Code::SelfBlocked, Severity::Info).await;
    let found = fixture.finds_within(&[0, 3], Code::SelfBlocked, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), Some(&*node));
    assert_eq!(Waits::of(&fixture.table).self_blocked().len(), 1);
    java.release("first").await;
    fixture.clears(Code::SelfBlocked).await;
    java.held("second").await;
}

/// Each session holds one lock and waits for the other's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_across_two_locks_is_reported_at_both_until_one_gives_up() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let mut java = curators(&server, &["a", "b"]).await;
    for (client, id, path) in [("a", "a1", "/billing"), ("b", "b1", "/orders")] {
        java.start(client, id, "mutex", path).await;
        java.held(id).await;
    }
    fixture.until_contenders(2).await;
    for (client, id, path) in [("a", "a2", "/orders"), ("b", "b2", "/billing")] {
        java.start(client, id, "mutex", path).await;
    }
    let found = fixture.finds_within(&[10], Code::Deadlock, Severity::Critical).await;
    assert!(found.summary.contains("/billing") && found.summary.contains("/orders"), "{}", found.summary);
    assert_eq!(fixture.diagnosis.findings().filter(|finding| finding.code == Code::Deadlock).count(), 2);
    java.abandon("a2").await;
    fixture.clears(Code::Deadlock).await;
    assert_eq!(fixture.raised_at_least(Severity::Warning).len(), 2);
}

/// CURATOR-335: a lease that its owner forgot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_never_moves_is_reported_while_others_wait() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), hasty()).await;
    let mut java = curators(&server, &["a", "b"]).await;
    java.start("a", "first", "semaphore", "/leases 1").await;
    java.held("first").await;
    java.start("b", "second", "semaphore", "/leases 1").await;
    let began = now();
    fixture
        .until("a stuck lease", |fixture| {
            fixture.standing(Code::StuckLease).or(fixture.standing(Code::IdleHolder)).is_some()
        })
        .await;
    fixture.assert_prompt(began, &[0, 5], "a stuck lease");
    println!("{:?}", fixture.raised_at_least(Severity::Info));
    java.release("first").await;
    java.held("second").await;
    fixture.until("its end", |fixture| fixture.diagnosis.findings().count() == 0).await;
}

/// The waiters of a single node are not in the tree; they are the sessions that watch it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_is_stuck_when_a_session_watches_it() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), hasty()).await;
    let holder = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    holder.create("/lock", b"", &zk::open(CreateMode::Ephemeral)).await.expect("it is free");
    fixture.looks_on(&[4, 0, 0]).await;
    assert_eq!(fixture.raised_at_least(Severity::Info), [""; 0], "nobody waits");
    let waiter = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    let watching = watch(&waiter, "/lock").await;
    // The client keeps working at a steady pace; otherwise the finding about heartbeats alone would
    // be raised.
    let work = async {
        let mut pace = interval(Duration::from_millis(200));
        loop {
            pace.tick().await;
            holder.get_data("/lock").await.expect("it is there");
        }
    };
    tokio::select! {
        () = work => {}
        found = fixture.finds_within(&[4, 0], Code::Stuck, Severity::Warning) => {
            assert!(found.summary.contains("1 waits"), "{}", found.summary);
        }
    }
    let blockers = Waits::of(&fixture.table);
    assert_eq!(blockers.blockers()[0].session, zk::session_of(&holder));
    drop(watching);
    holder.delete("/lock", None).await.expect("it is there");
    fixture.clears(Code::Stuck).await;
}
