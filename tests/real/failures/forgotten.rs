//! Nodes whose creators do not know of them, and waiters that nothing wakes.

use std::time::Duration;

use lockscope_model::diagnose::{Code, Severity, Thresholds};
use zookeeper_client::{Client, CreateMode, OneshotWatcher};

use super::fixture::ConsoleFixture;
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::zk;

/// The session timeout of a client that sends often.
const TIMEOUT: Duration = Duration::from_secs(6);

/// Returns the beginning of a node's name in Curator's mutex.
pub fn curator(lock: &str, number: u32) -> String {
    format!("{lock}/_c_{number:08x}-0000-4000-8000-000000000000-lock-")
}

/// Creates a numbered ephemeral node. Returns its path.
pub async fn enqueue(client: &Client, prefix: &str) -> String {
    let made = client.create(prefix, b"", &zk::open(CreateMode::EphemeralSequential)).await;
    format!("{prefix}{}", made.expect("the parent is there").1)
}

/// Watches a node as locks do.
pub async fn watch(client: &Client, node: &str) -> OneshotWatcher {
    client.get_and_watch_data(node).await.expect("the node is there").2
}

/// Starts a server with a lock parent, and a session that holds the lock.
async fn held(lock: &str) -> (Server, Client, String) {
    let server = Server::start();
    let holder = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    zk::make(&holder, [lock.to_owned()]).await;
    let head = enqueue(&holder, &curator(lock, 1)).await;
    (server, holder, head)
}

/// go-zookeeper#229: the create succeeded but its reply was lost, and the client created again with
/// the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_two_nodes_with_one_id_is_an_orphan() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let client = zk::connect(&relay.connect_string()).await;
    zk::make(&client, ["/lock".to_owned()]).await;
    relay.arm(&[Fault { place: Place::AfterRequest(1), then: Then::Cut }]);
    let options = zk::open(CreateMode::EphemeralSequential);
    let lost = fixture.during(client.create(&curator("/lock", 1), b"", &options)).await;
    assert!(lost.is_err(), "{lost:?}");
    let other = zk::connect(&server.connect_string()).await;
    let names = other.list_children("/lock").await.expect("it is there");
    let [orphan] = &names[..] else { panic!("{names:?}") };
    let orphan = format!("/lock/{orphan}");
    let second = enqueue(&client, &curator("/lock", 1)).await;
    let _watch = watch(&client, &orphan).await;
    fixture.until_contenders(2).await;
    let found = fixture.finds_within(&[0, 0], Code::Orphan, Severity::Critical).await;
    assert_eq!(found.node.as_deref(), orphan.strip_prefix("/lock/"));
    assert!(!fixture.suspicions(&orphan).is_empty());
    other.delete(&orphan, None).await.expect("it is there");
    fixture.clears(Code::Orphan).await;
    assert!(fixture.suspicions(&second).is_empty());
}

/// CURATOR-79, kazoo#732, kazoo#760: the thread of a node was interrupted, or its clean-up failed,
/// and the session queues again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_session_queued_again_is_suspect() {
    let (server, _holder, head) = held("/lock").await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let client = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    let forgotten = enqueue(&client, &curator("/lock", 2)).await;
    enqueue(&client, &curator("/lock", 3)).await;
    let _watch = watch(&client, &forgotten).await;
    let found = fixture.finds_within(&[1, 5], Code::OrphanSuspected, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), forgotten.strip_prefix("/lock/"));
    assert_eq!(fixture.suspicions(&forgotten).len(), 2, "{:?}", fixture.suspicions(&forgotten));
    let _remembered = watch(&client, &head).await;
    fixture.clears(Code::OrphanSuspected).await;
}

/// zk-ruby's zk#49, kazoo#170: a waiter gave up but left its node, or lost its wake-up. It does not
/// notice when its turn comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_without_a_watch_is_found_and_again_when_its_turn_has_come() {
    let (server, holder, head) = held("/lock").await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let client = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    let lost = enqueue(&client, &curator("/lock", 2)).await;
    let next = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    enqueue(&next, &curator("/lock", 3)).await;
    let _watch = watch(&next, &lost).await;
    let found = fixture.finds_within(&[1, 5], Code::LostWakeUp, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), lost.strip_prefix("/lock/"));
    holder.delete(&head, None).await.expect("it is there");
    let found = fixture.finds_within(&[0, 2, 0], Code::LostWakeUp, Severity::Critical).await;
    assert!(found.summary.contains("it is the turn of"), "{}", found.summary);
    client.delete(&lost, None).await.expect("it is there");
    fixture.clears(Code::LostWakeUp).await;
    assert_eq!(fixture.diagnosis.findings().count(), 0);
}

/// A waiter in a herd watches the parent, and servers list no watches on children, so no claim is
/// possible.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_watches_the_parent_raises_no_finding() {
    let (server, _holder, _) = held("/lock").await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let client = zk::connect_within(&server.connect_string(), TIMEOUT).await;
    enqueue(&client, &curator("/lock", 2)).await;
    let _watch = client.list_and_watch_children("/lock").await.expect("it is there").1;
    // The views that a finding about a missing watch would need, and one more.
    fixture.looks_on(&[1, 5, 0]).await;
    assert_eq!(fixture.raised_at_least(Severity::Info), [""; 0]);
}
