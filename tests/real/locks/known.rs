//! Chains whose names contain only a number: a client that waited behind two others requests its
//! predecessor by name the next time.

use lockscope_lock::{Algorithm, Lock, LockOptions, Naming};
use tokio::task::JoinHandle;
use zookeeper_client::{Client, CreateMode};

use super::fault_fixture::within;
use super::fixture::delete;
use super::ours::Held;
use super::wire::{Counted, path};
use crate::harness::relay::op;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk::{self, open};

/// A lock behind a relay, and another contender.
struct Known {
    counted: Counted,
    lock: Lock,
    other: Client,
    path: String,
}

impl Known {
    async fn new(algorithm: Algorithm) -> Self {
        let (counted, other, path) =
            (Counted::new().await, zk::connect(&Server::shared().connect_string()).await, path().await);
        let options = LockOptions::default().naming(Naming::Named("red".to_owned()));
        let lock = Lock::with(&counted.client, &path, algorithm, options).expect("a good path");
        Self { counted, lock, other, path }
    }

    /// Creates a lock that has waited behind two others.
    async fn having_waited(algorithm: Algorithm) -> Self {
        let known = Self::new(algorithm).await;
        let (ahead, before) = (known.join("red_lock_").await, known.join("red_lock_").await);
        let waiting = known.wait();
        let count = if algorithm == Algorithm::ChainAhead { 2 } else { 1 };
        let watched = [op::GET_DATA].repeat(count);
        known.until_sent(&[vec![op::CREATE_WITH_STAT, op::LIST_WITH_STAT], watched].concat()).await;
        delete(&known.other, &ahead).await;
        delete(&known.other, &before).await;
        known.released(waiting).await;
        known
    }

    /// Creates a node of another contender at the end of the queue.
    async fn join(&self, prefix: &str) -> String {
        let options = open(CreateMode::EphemeralSequential);
        let made = self.other.create(&format!("{}/{prefix}", self.path), &[], &options).await;
        format!("{}/{prefix}{}", self.path, made.expect("a node").1)
    }

    fn wait(&self) -> JoinHandle<Held> {
        self.counted.relay.record();
        let lock = self.lock.clone();
        tokio::spawn(async move { Held(within("a waiter", lock.acquire()).await.expect("the connection is sound")) })
    }

    async fn until_sent(&self, requests: &[i32]) {
        eventually("the requests", async || match self.counted.requests() {
            seen if seen == requests => Ok(()),
            seen => Err(seen),
        })
        .await;
    }

    async fn released(&self, waiting: JoinHandle<Held>) {
        let held = within("the waiter", waiting).await.expect("no panic");
        held.release().await.expect("the connection is sound");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_waited_behind_two_lists_only_after_its_predecessor_goes() {
    let known = Known::having_waited(Algorithm::Chain).await;
    let before = known.join("red_lock_").await;
    let waiting = known.wait();
    known.until_sent(&[op::CREATE_WITH_STAT, op::GET_DATA]).await;
    delete(&known.other, &before).await;
    known.released(waiting).await;
    assert_eq!(
        known.counted.requests(),
        [op::CREATE_WITH_STAT, op::GET_DATA, op::LIST_WITH_STAT, op::EXISTS, op::DELETE]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_ahead_lock_lists_only_after_the_node_before_its_predecessor_goes() {
    let known = Known::having_waited(Algorithm::ChainAhead).await;
    let (ahead, before) = (known.join("red_lock_").await, known.join("red_lock_").await);
    let waiting = known.wait();
    known.until_sent(&[op::CREATE_WITH_STAT, op::GET_DATA, op::GET_DATA]).await;
    delete(&known.other, &ahead).await;
    known.until_sent(&[op::CREATE_WITH_STAT, op::GET_DATA, op::GET_DATA, op::LIST_WITH_STAT]).await;
    assert!(!waiting.is_finished());
    delete(&known.other, &before).await;
    known.released(waiting).await;
    assert_eq!(
        known.counted.requests(),
        [op::CREATE_WITH_STAT, op::GET_DATA, op::GET_DATA, op::LIST_WITH_STAT, op::EXISTS, op::DELETE]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_contenders_an_acquire_takes_one_round_trip_again() {
    let known = Known::having_waited(Algorithm::Chain).await;
    known.released(known.wait()).await;
    assert_eq!(
        known.counted.requests(),
        [op::CREATE_WITH_STAT, op::GET_DATA, op::LIST_WITH_STAT, op::EXISTS, op::DELETE]
    );
    known.released(known.wait()).await;
    assert_eq!(known.counted.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::EXISTS, op::DELETE]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn if_another_queue_or_nobody_has_the_number_before_the_listing_finds_the_predecessor() {
    for algorithm in [Algorithm::Chain, Algorithm::ChainAhead] {
        for other in ["blue_lock_", "infrared_lock_", "lock-", "red_lock_"] {
            let known = Known::having_waited(algorithm).await;
            let before = known.join("red_lock_").await;
            let between = known.join(other).await;
            if other == "red_lock_" {
                delete(&known.other, &between).await;
            }
            let waiting = known.wait();
            eventually("its watch", async || match known.counted.requests() {
                seen if seen.ends_with(&[op::LIST_WITH_STAT, op::GET_DATA])
                    || seen.ends_with(&[op::GET_DATA, op::LIST_WITH_STAT]) =>
                {
                    Ok(())
                }
                seen => Err(seen),
            })
            .await;
            assert!(!waiting.is_finished(), "{algorithm:?} {other}");
            delete(&known.other, &before).await;
            known.released(waiting).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_lists_and_sets_no_watch() {
    let known = Known::having_waited(Algorithm::Chain).await;
    let before = known.join("red_lock_").await;
    known.counted.relay.record();
    assert!(known.lock.try_acquire().await.expect("an answer").is_none());
    assert_eq!(known.counted.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::DELETE]);
    delete(&known.other, &before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_right_behind_the_head_gets_the_lock_by_the_event_each_time() {
    for algorithm in [Algorithm::Chain, Algorithm::ChainAhead] {
        let known = Known::new(algorithm).await;
        for _ in 0..3 {
            let head = known.join("red_lock_").await;
            let waiting = known.wait();
            known.until_sent(&[op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA]).await;
            delete(&known.other, &head).await;
            known.released(waiting).await;
            let sent = known.counted.requests();
            assert_eq!(
                sent,
                [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA, op::EXISTS, op::DELETE],
                "{algorithm:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_found_another_queues_number_lists_with_the_next_create() {
    for algorithm in [Algorithm::Chain, Algorithm::ChainAhead] {
        let known = Known::having_waited(algorithm).await;
        for asks_in_vain in [true, false] {
            let before = [known.join("red_lock_").await, known.join("red_lock_").await];
            let between = known.join("blue_lock_").await;
            let waiting = known.wait();
            eventually("its watches", async || match known.counted.requests() {
                seen if seen.len() >= 3 && seen.ends_with(&[op::LIST_WITH_STAT, op::GET_DATA, op::GET_DATA]) => {
                    Ok(seen)
                }
                seen if seen.ends_with(&[op::LIST_WITH_STAT, op::GET_DATA]) && seen.len() >= 3 => Ok(seen),
                seen => Err(seen),
            })
            .await;
            let sent = known.counted.requests();
            assert_eq!(
                sent.starts_with(&[op::CREATE_WITH_STAT, op::GET_DATA]),
                asks_in_vain,
                "{algorithm:?}: {sent:?}"
            );
            for node in before.into_iter().chain([between]) {
                delete(&known.other, &node).await;
            }
            known.released(waiting).await;
        }
    }
}
