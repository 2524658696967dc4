//! Clients that wait behind a node of their own, of which they do not know.

use lockscope_model::diagnose::{Code, Severity};
use zookeeper_client::{Client, CreateMode};

use super::fixture::Incident;
use crate::failures::forgotten::{curator, watch};
use crate::harness::zk;

async fn enqueue(client: &Client, prefix: &str, data: &str) -> String {
    let wish = [(prefix.to_owned(), data.as_bytes().to_vec())];
    zk::create_all(client, CreateMode::EphemeralSequential, wish).await.remove(0)
}

/// zk-ruby#54: the client creates a second node after a short cut. When the turn of its first one
/// has come, nobody knows of it. Two threads of one session look the same until it is idle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_queued_again_after_a_cut_holds_by_a_node_that_it_has_forgotten() {
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    let (holder, waiter) = (first.session().await, second.session().await);
    zk::make(&incident.operator, ["/_zklocking/test_lock".to_owned()]).await;
    let head = enqueue(&holder, "/_zklocking/test_lock/ex", "").await;
    let forgotten = enqueue(&waiter, "/_zklocking/test_lock/ex", "").await;
    let _before = watch(&waiter, &head).await;
    enqueue(&waiter, "/_zklocking/test_lock/ex", "").await;
    let _after = watch(&waiter, &forgotten).await;
    incident.until_listed(3).await;
    zk::delete_all(&holder, [head]).await;
    let found = incident.finds(Code::IdleHolder, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), forgotten.strip_prefix("/_zklocking/test_lock/"));
    assert!(found.summary.contains("it waits behind itself by node 2"), "{}", found.summary);
    zk::delete_all(&waiter, [forgotten]).await;
    incident.console.clears(Code::IdleHolder).await;
}

/// curator#583 (CURATOR-62), curator#726 (CURATOR-205): a selector whose thread was interrupted left
/// its node, which is first in line, and queues again behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_that_queued_again_after_an_interrupt_blocks_itself() {
    const ELECTION: &str = "/examples/leader";
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    let (interrupted, other) = (first.session().await, second.session().await);
    zk::make(&incident.operator, [ELECTION.to_owned()]).await;
    let left = enqueue(&interrupted, &curator(ELECTION, 1), "client-0").await;
    let behind = enqueue(&other, &curator(ELECTION, 2), "client-1").await;
    let _other = watch(&other, &left).await;
    enqueue(&interrupted, &curator(ELECTION, 3), "client-0").await;
    let _again = watch(&interrupted, &behind).await;
    let found = incident.finds(Code::SelfBlocked, Severity::Info).await;
    assert_eq!(found.node.as_deref(), left.strip_prefix("/examples/leader/"));
    assert!(found.remedy.contains("left the earlier node behind"), "{}", found.remedy);
    zk::delete_all(&interrupted, [left]).await;
    incident.console.clears(Code::SelfBlocked).await;
}
