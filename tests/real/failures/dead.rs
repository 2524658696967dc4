//! Holders whose processes are dead, frozen or idle.

use std::time::Duration;

use lockscope_model::diagnose::{Code, OwnerState, Severity, Thresholds};
use zookeeper_client::Client;

use super::fixture::{ConsoleFixture, hasty};
use super::forgotten::{curator, enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::signal;
use crate::harness::zk;

const TIMEOUT: Duration = Duration::from_secs(6);
/// A silent session counts as expiring only in the last third of its timeout, less a second; some
/// surveys must fall into that time.
const SURVEYED_TIMEOUT: Duration = Duration::from_secs(18);

fn signal(process: &Foreign, name: &str) {
    signal::send(process.pid(), name);
}

/// Lets kazoo hold in one process and wait in another.
async fn kazoo_holds_and_waits(server: &Server, timeout: Duration) -> (Foreign, Foreign, String) {
    let (mut holder, mut waiter) = (Foreign::kazoo(&server.connect_string()), Foreign::kazoo(&server.connect_string()));
    holder.connect_within("a", timeout).await;
    waiter.connect_within("b", timeout).await;
    holder.start("a", "first", "lock", "/lock").await;
    let node = holder.held("first").await;
    waiter.start("b", "second", "lock", "/lock").await;
    (holder, waiter, node)
}

/// CURATOR-396, jubatus#497: after a kill, the lock is held until the session expires. Deleting the
/// node earlier would be wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_holder_is_reported_with_its_countdown_until_its_session_expires() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let (holder, mut waiter, node) = kazoo_holds_and_waits(&server, TIMEOUT).await;
    fixture.until_contenders(2).await;
    let path = format!("/lock/{node}");
    fixture.until("a live owner", |fixture| fixture.owner_state(&path) == OwnerState::Live).await;
    assert!(fixture.suspicions(&path).is_empty());
    signal(&holder, "KILL");
    let found = fixture.finds_within(&[0, 0], Code::ExpiringHolder, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), Some(&*node));
    assert!(found.summary.contains("expires in "), "{}", found.summary);
    assert_eq!(fixture.owner_state(&path), OwnerState::Expiring);
    fixture.until_contenders(1).await;
    fixture.clears(Code::ExpiringHolder).await;
    waiter.held("second").await;
    assert_eq!(fixture.raised_at_least(Severity::Warning).len(), 1);
}

/// Curator's tech note 10: a paused process outlives its session and does not know that another
/// client holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_holder_that_lost_its_lock_is_reported_until_it_knows() {
    let server = Server::with_certain_expiries();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let (mut holder, mut waiter, _) = kazoo_holds_and_waits(&server, SURVEYED_TIMEOUT).await;
    fixture.until_contenders(2).await;
    signal(&holder, "STOP");
    fixture.until_contenders(1).await;
    let found = fixture.finds_within(&[0], Code::HeadChangedByExpiry, Severity::Info).await;
    assert!(found.summary.contains("first") && found.remedy.contains("fencing tokens"), "{found:?}");
    fixture.during(waiter.held("second")).await;
    waiter.release("second").await;
    fixture.until_contenders(0).await;
    waiter.start("b", "third", "lock", "/lock").await;
    fixture.until_contenders(1).await;
    fixture.surveys(2).await;
    assert!(fixture.standing(Code::HeadChangedByExpiry).is_some(), "it is still paused");
    signal(&holder, "CONT");
    assert!(holder.holds("first").await, "it believes so");
    // With its new session, the client queues under its name.
    holder.start("a", "first", "lock", "/lock").await;
    fixture.until_contenders(2).await;
    fixture.clears(Code::HeadChangedByExpiry).await;
    assert_eq!(fixture.raised.iter().filter(|found| found.code == Code::HeadChangedByExpiry).count(), 1);
    // The silence of the client was reported before its session expired.
    let warned = fixture.raised.iter().filter(|found| found.severity >= Severity::Warning).map(|found| found.code);
    assert_eq!(warned.collect::<Vec<_>>(), [Code::SilentHolder]);
}

/// CURATOR-498, -604, -696: the host continues with a newer session while the node of the older one
/// ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_an_ending_session_is_reported_when_its_host_has_a_new_session() {
    let server = Server::start();
    let connect = server.connect_string();
    let mut fixture = ConsoleFixture::start(&connect, Thresholds::default()).await;
    // The sessions of one process have one timeout.
    let timeout = Duration::from_secs(12);
    let detached = Client::connector().with_session_timeout(timeout).with_detached();
    let holder = detached.connect(&connect).await.expect("a session");
    zk::make(&holder, ["/lock".to_owned()]).await;
    let head = enqueue(&holder, &curator("/lock", 1)).await;
    let waiter = zk::connect_within(&connect, TIMEOUT).await;
    enqueue(&waiter, &curator("/lock", 2)).await;
    let _watch = watch(&waiter, &head).await;
    fixture.until_contenders(2).await;
    let holders = fixture.viewed;
    fixture.until("a view of the holder", |fixture| fixture.viewed > holders).await;
    drop(holder);
    fixture.finds_within(&[0, 0], Code::ExpiringHolder, Severity::Warning).await;
    let newer = zk::connect_within(&connect, timeout).await;
    let found = fixture.finds_within(&[0, 0], Code::AdoptedNode, Severity::Info).await;
    assert!(found.summary.contains(&zk::session_of(&newer).to_string()), "{}", found.summary);
    fixture.until_contenders(1).await;
    fixture.clears(Code::AdoptedNode).await;
}

/// accumulo#3138: a process that sends only heartbeats.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_sends_only_heartbeats_is_reported_until_it_works_again() {
    let server = Server::start();
    let mut fixture = ConsoleFixture::start(&server.connect_string(), hasty()).await;
    let mut java = Foreign::java(&server.connect_string());
    for client in ["a", "b"] {
        java.connect_within(client, TIMEOUT).await;
    }
    java.start("a", "first", "mutex", "/lock").await;
    let node = java.held("first").await;
    java.start("b", "second", "mutex", "/lock").await;
    let found = fixture.finds_within(&[0, 5], Code::IdleHolder, Severity::Info).await;
    assert_eq!(found.node.as_deref(), Some(&*node));
    java.release("first").await;
    fixture.clears(Code::IdleHolder).await;
}
