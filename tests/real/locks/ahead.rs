//! The look-ahead chain: who gets the lock when the nodes before it are deleted in any order,
//! replaced or changed.

use lockscope_lock::{Algorithm, Lock, LockError};
use tokio::task::JoinHandle;
use zookeeper_client::{Client, CreateMode};

use super::fault_fixture::within;
use super::fixture::delete;
use super::ours::{Held, Recipe};
use super::wire::{Counted, path};
use crate::harness::relay::{Fault, Passed, Place, Then, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk::{self, open};

/// A look-ahead waiter behind other contenders' nodes.
struct Queue {
    /// The owner of the nodes before the waiter's.
    other: Client,
    path: String,
    /// The nodes before the waiter's, in order.
    before: Vec<String>,
    waiter: Counted,
    waiting: JoinHandle<Held>,
}

impl Queue {
    /// Creates `count` nodes and a waiter behind them. Some children of the parent are no
    /// contenders.
    async fn behind(count: usize) -> Self {
        let (other, path) = (zk::connect(&Server::shared().connect_string()).await, path().await);
        zk::make(&other, [format!("{path}/config")]).await;
        let mut before = Vec::new();
        for _ in 0..count {
            for prefix in ["_c_other-lock-", "_c_other-latch-"] {
                let options = open(CreateMode::EphemeralSequential);
                let (_, number) = other.create(&format!("{path}/{prefix}"), &[], &options).await.expect("a node");
                before.push(format!("{path}/{prefix}{number}"));
            }
        }
        before.retain(|node| node.contains("-lock-"));
        let waiter = Counted::new().await;
        let waiting = waiter.queue(Recipe::CHAIN_AHEAD, &path).await;
        let queue = Self { other, path, before, waiter, waiting };
        queue.until_sent(&[op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA, op::GET_DATA]).await;
        queue
    }

    /// Waits until the waiter has sent exactly these requests since the last `record`, and all are
    /// answered.
    async fn until_sent(&self, requests: &[i32]) {
        eventually("the waiter's requests and their replies", async || {
            let log = self.waiter.relay.recorded();
            let replies = log.iter().filter(|passed| matches!(passed, Passed::Reply { .. })).count();
            if self.waiter.requests() == requests && replies == requests.len() { Ok(()) } else { Err(log) }
        })
        .await;
        self.waiter.relay.record();
    }

    async fn delete(&self, at: usize) {
        delete(&self.other, &self.before[at]).await;
    }

    /// Creates a node under its former name again.
    async fn restore(&self, at: usize) {
        let made = self.other.create(&self.before[at], &[], &open(CreateMode::Ephemeral)).await;
        made.expect("it is gone");
    }

    fn assert_waits(&self) {
        assert!(!self.waiting.is_finished(), "{:?}", self.waiter.relay.recorded());
    }

    async fn held(self) -> (Held, Counted) {
        (within("the waiter", self.waiting).await.expect("no panic"), self.waiter)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_and_its_event_hand_the_lock_over_wherever_the_waiter_joined() {
    let queue = Queue::behind(4).await;
    // The node ahead of the predecessor gives up, and the one before it takes its place.
    queue.delete(2).await;
    queue.until_sent(&[op::LIST_WITH_STAT, op::GET_DATA]).await;
    queue.delete(0).await;
    queue.delete(1).await;
    queue.until_sent(&[op::LIST_WITH_STAT]).await;
    queue.assert_waits();
    queue.delete(3).await;
    let (held, waiter) = queue.held().await;
    assert_eq!(waiter.relay.recorded(), [Passed::Event], "nothing but the event");
    held.release().await.expect("the connection is sound");
    assert_eq!(waiter.requests(), [op::DELETE]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_watches_are_sent_before_either_is_answered() {
    let (other, path) = (zk::connect(&Server::shared().connect_string()).await, path().await);
    for _ in 0..2 {
        let options = open(CreateMode::EphemeralSequential);
        other.create(&format!("{path}/_c_other-lock-"), &[], &options).await.expect("a node");
    }
    let waiter = Counted::new().await;
    waiter.relay.record();
    waiter.relay.arm(&[Fault { place: Place::AfterRequest(3), then: Then::Stall }]);
    let lock = Recipe::CHAIN_AHEAD.lock(&waiter.client, &path);
    let waiting = tokio::spawn(async move { lock.acquire().await.map(drop) });
    eventually("both watches, and no answer", async || match waiter.requests() {
        requests if requests == [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA, op::GET_DATA] => Ok(()),
        requests => Err(requests),
    })
    .await;
    assert!(!waiter.relay.recorded().iter().any(|passed| passed.is_watch_set()));
    waiter.relay.resume();
    waiting.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_predecessor_that_gives_up_costs_one_watch_and_promotes_nobody() {
    let queue = Queue::behind(3).await;
    queue.delete(2).await;
    // The waiter already watches the node after the head, which is now the predecessor.
    queue.until_sent(&[op::LIST_WITH_STAT, op::GET_DATA]).await;
    queue.delete(1).await;
    queue.until_sent(&[op::LIST_WITH_STAT]).await;
    queue.assert_waits();
    queue.delete(0).await;
    let (held, waiter) = queue.held().await;
    assert_eq!(waiter.relay.recorded(), [Passed::Event]);
    assert_eq!((held.0.cost().requests, held.0.cost().events), (7, 3));
    held.release().await.expect("the connection is sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_head_is_waited_for_again() {
    let queue = Queue::behind(2).await;
    queue.waiter.relay.arm(&[Fault { place: Place::BeforeRequest(1), then: Then::Stall }]);
    queue.delete(0).await;
    eventually("the listing's hold-up", async || if queue.waiter.relay.stalled() { Ok(()) } else { Err(()) }).await;
    queue.restore(0).await;
    queue.waiter.relay.resume();
    queue.until_sent(&[op::LIST_WITH_STAT, op::GET_DATA]).await;
    queue.delete(1).await;
    queue.until_sent(&[op::LIST_WITH_STAT]).await;
    queue.assert_waits();
    queue.delete(0).await;
    queue.held().await.0.release().await.expect("the connection is sound");
}

/// The event of the first predecessor is on its way when the listing shows another node of the same
/// name as the head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_of_a_predecessor_replaced_before_the_listing_hands_nothing_over() {
    let queue = Queue::behind(2).await;
    queue.waiter.relay.arm(&[Fault { place: Place::BeforeRequest(1), then: Then::Stall }]);
    queue.delete(0).await;
    eventually("the listing's hold-up", async || if queue.waiter.relay.stalled() { Ok(()) } else { Err(()) }).await;
    queue.delete(1).await;
    queue.restore(1).await;
    queue.waiter.relay.resume();
    queue.until_sent(&[op::LIST_WITH_STAT, op::GET_DATA]).await;
    queue.assert_waits();
    queue.delete(1).await;
    queue.held().await.0.release().await.expect("the connection is sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_two_predecessors_go_at_once_holds_after_one_listing() {
    let queue = Queue::behind(2).await;
    queue.waiter.relay.arm(&[Fault { place: Place::BeforeRequest(1), then: Then::Stall }]);
    queue.delete(0).await;
    eventually("the listing's hold-up", async || if queue.waiter.relay.stalled() { Ok(()) } else { Err(()) }).await;
    queue.delete(1).await;
    queue.waiter.relay.resume();
    let (held, waiter) = queue.held().await;
    assert_eq!(waiter.requests(), [op::LIST_WITH_STAT]);
    assert_eq!((held.0.cost().requests, held.0.cost().events), (5, 2));
    held.release().await.expect("the connection is sound");
    assert_eq!(waiter.requests(), [op::LIST_WITH_STAT, op::DELETE], "no watch is left to remove");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_data_of_either_node_hands_nothing_over() {
    let queue = Queue::behind(2).await;
    for at in [0, 1, 0] {
        queue.other.set_data(&queue.before[at], b"__REVOKE__", None).await.expect("it is there");
        queue.until_sent(&[op::GET_DATA]).await;
        queue.assert_waits();
    }
    queue.delete(0).await;
    queue.until_sent(&[op::LIST_WITH_STAT]).await;
    queue.other.set_data(&queue.before[1], b"__REVOKE__", None).await.expect("it is there");
    queue.until_sent(&[op::GET_DATA]).await;
    queue.assert_waits();
    queue.delete(1).await;
    queue.held().await.0.release().await.expect("the connection is sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_node_is_deleted_after_its_last_listing_learns_of_it_within_seconds() {
    let queue = Queue::behind(2).await;
    queue.delete(0).await;
    queue.until_sent(&[op::LIST_WITH_STAT]).await;
    let children = queue.other.list_children(&queue.path).await.expect("it is there");
    let own = children.iter().filter(|name| name.contains("-lock-") && !name.contains("other")).collect::<Vec<_>>();
    let [own] = own[..] else { panic!("{own:?}") };
    delete(&queue.other, &format!("{}/{own}", queue.path)).await;
    queue.delete(1).await;
    let (held, _waiter) = queue.held().await;
    eventually("the loss", async || held.0.is_lost().ok_or("nothing")).await;
    assert!(matches!(held.release().await, Err(LockError::NodeDeleted { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_attempts_of_one_session_share_the_watches_of_a_node() {
    let (client, path) = (zk::connect(&Server::shared().connect_string()).await, path().await);
    let lock = Lock::new(&client, &path, Algorithm::ChainAhead).expect("a good path");
    let mut guard = lock.acquire().await.expect("it is free");
    let mut waiting = Vec::new();
    for count in 2..=8 {
        let lock = lock.clone();
        waiting.push(tokio::spawn(async move { lock.acquire().await }));
        eventually("its node", async || match client.list_children(&path).await.expect("it is there").len() {
            seen if seen == count => Ok(()),
            seen => Err(seen),
        })
        .await;
    }
    // An attempt in the middle leaves and removes its own watches, but not those of others on the
    // same nodes.
    waiting.remove(3).abort();
    for waiting in waiting {
        let sequence = guard.sequence();
        guard.release().await.expect("it was held");
        guard = within("the next", waiting).await.expect("no panic").expect("it is next");
        assert!(guard.sequence() > sequence);
    }
    guard.release().await.expect("it was held");
}
