//! Troubles of the tree itself, and of watches on it.

use std::time::Duration;

use lockscope_model::diagnose::{Code, OwnerState, Severity, Thresholds};
use zookeeper_client::{Client, CreateMode};

use super::fixture::{ConsoleFixture, hasty};
use super::forgotten::{curator, enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;

async fn with_lock_parent(thresholds: Thresholds) -> (Server, ConsoleFixture, Client) {
    let server = Server::start();
    let fixture = ConsoleFixture::start(&server.connect_string(), thresholds).await;
    let client = zk::connect_within(&server.connect_string(), Duration::from_secs(6)).await;
    zk::make(&client, ["/lock".to_owned()]).await;
    (server, fixture, client)
}

/// kazoo#730, ZOOKEEPER-4706.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_whose_numbers_run_out_is_reported_until_its_parent_is_recreated() {
    let (_server, mut fixture, client) = with_lock_parent(Thresholds::default()).await;
    for (number, severity) in [("2147480000", Severity::Warning), ("-2147483648", Severity::Critical)] {
        let late = curator("/lock", 1) + number;
        client.create(&late, b"", &zk::open(CreateMode::Ephemeral)).await.expect("it is new");
        fixture.finds_within(&[0], Code::SequenceOverflow, severity).await;
    }
    for child in client.list_children("/lock").await.expect("it is there") {
        client.delete(&format!("/lock/{child}"), None).await.expect("it is there");
    }
    client.delete("/lock", None).await.expect("it is empty");
    fixture.clears(Code::SequenceOverflow).await;
}

/// Netflix's curator#307, kazoo#329: kazoo's lock parents stay forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_that_stays_empty_is_reported_until_it_is_deleted() {
    let (server, mut fixture, client) = with_lock_parent(hasty()).await;
    let mut kazoo = Foreign::kazoo(&server.connect_string());
    kazoo.connect("a").await;
    kazoo.start("a", "one", "lock", "/left").await;
    kazoo.held("one").await;
    fixture.until_contenders(1).await;
    kazoo.release("one").await;
    let found = fixture.finds_within(&[3], Code::EmptyParent, Severity::Info).await;
    assert_eq!(found.lock.path.as_str(), "/left");
    client.delete("/left", None).await.expect("it is empty");
    fixture.clears(Code::EmptyParent).await;
}

/// brooklin#747.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persistent_contender_is_reported_until_it_is_deleted() {
    let (_server, mut fixture, client) = with_lock_parent(Thresholds::default()).await;
    let prefix = curator("/lock", 1);
    let made = client.create(&prefix, b"", &zk::open(CreateMode::PersistentSequential)).await.expect("it is new");
    let node = format!("{prefix}{}", made.1);
    let found = fixture.finds_within(&[0], Code::PersistentContender, Severity::Warning).await;
    assert_eq!((found.node.as_deref(), found.severity), (node.strip_prefix("/lock/"), Severity::Warning));
    assert_eq!(fixture.owner_state(&node), OwnerState::Ownerless);
    let waiter = enqueue(&client, &curator("/lock", 2)).await;
    let _watch = watch(&client, &node).await;
    fixture.until_contenders(2).await;
    fixture.finds_within(&[0], Code::PersistentContender, Severity::Critical).await;
    client.delete(&waiter, None).await.expect("it is there");
    client.delete(&node, None).await.expect("it is there");
    fixture.clears(Code::PersistentContender).await;
}

/// kazoo#309, as far as the other nodes look like those of a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_recipes_node_among_curators_is_reported_until_it_is_moved_away() {
    let (server, mut fixture, client) = with_lock_parent(Thresholds::default()).await;
    let mut java = Foreign::java(&server.connect_string());
    java.connect("a").await;
    java.start("a", "one", "mutex", "/lock").await;
    java.held("one").await;
    let foreign = enqueue(&client, "/lock/member-").await;
    let found = fixture.finds_within(&[0, 1], Code::ForeignChild, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), foreign.strip_prefix("/lock/"));
    client.delete(&foreign, None).await.expect("it is there");
    fixture.clears(Code::ForeignChild).await;
}

/// CURATOR-107.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_on_nodes_that_never_come_back_are_reported_until_their_client_is_gone() {
    let (server, mut fixture, client) = with_lock_parent(Thresholds::default()).await;
    let holder = zk::connect(&server.connect_string()).await;
    enqueue(&holder, "/lock/x-72057594037927936-").await;
    let gone = enqueue(&holder, "/lock/x-72057594037927937-").await;
    holder.delete(&gone, None).await.expect("it is there");
    let watching = client.check_and_watch_stat(&gone).await.expect("an answer");
    let found = fixture.finds_within(&[0, 3], Code::LeakedWatch, Severity::Info).await;
    assert!(found.summary.contains("watched by 127.0.0.1:"), "{}", found.summary);
    drop((watching, client));
    fixture.clears(Code::LeakedWatch).await;
}
