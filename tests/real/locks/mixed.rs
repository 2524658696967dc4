//! One queue of this crate's locks and those of other libraries, with names that both sides
//! recognize: never two holders, the order follows the sequence, and tokens rise.

use std::time::Duration;

use futures::future::join_all;
use lockscope_lock::Access;
use zookeeper_client::Client;

use super::fault_fixture::within;
use super::inside::{self, Record};
use super::ours::{Called, Recipe};
use crate::harness::foreign::Foreign;
use crate::harness::wait::eventually;
use crate::harness::zk;

const CLIENTS: usize = 4;
const ROUNDS: usize = 60;

/// Lets one of our sessions contend in a loop, with checks. Returns the names of its nodes.
async fn turns(at: &str, recipe: Recipe, path: &str, rounds: usize) -> Vec<String> {
    let client = zk::connect(at).await;
    let reads = recipe.algorithm.access() == Some(Access::Read);
    let mut names = Vec::new();
    for _ in 0..rounds {
        let held = within("a turn", recipe.acquire(&client, path)).await.expect("the connection is sound");
        inside::pass_through(&client, path, &held, reads).await;
        names.push(held.name());
        held.release().await.expect("the connection is sound");
    }
    names
}

/// Starts sessions all at once, as soon as another client has held the lock.
async fn contend_as_clients(at: &str, recipe: Recipe, path: &str, clients: usize) -> Vec<String> {
    let witness = zk::connect(at).await;
    eventually("a foreign holder", async || {
        if inside::records(&witness, path).await.is_empty() { Err("nobody has held") } else { Ok(()) }
    })
    .await;
    join_all((0..clients).map(|_| turns(at, recipe, path, ROUNDS))).await.concat()
}

/// Asserts that the records of an exclusive lock follow the order of its queue.
fn assert_in_order(records: &[Record], expected: usize) {
    assert_eq!(records.len(), expected);
    for pair in records.windows(2) {
        assert!(pair[0].sequence() < pair[1].sequence(), "{pair:?}");
        assert!(pair[0].token < pair[1].token, "{pair:?}");
    }
}

/// Asserts that each writer comes after all before it in the queue and before all behind it.
/// Readers have no order among themselves.
fn assert_writers_in_order(records: &[Record], expected: usize) {
    assert_eq!(records.len(), expected);
    for (at, record) in records.iter().enumerate().filter(|(_, record)| !record.is_read()) {
        let (before, after) = (&records[..at], &records[at + 1..]);
        let early = before.iter().find(|other| other.sequence() > record.sequence() || other.token > record.token);
        let late = after.iter().find(|other| other.sequence() < record.sequence() || other.token < record.token);
        assert_eq!((early, late), (None, None), "{record:?}");
    }
}

/// How often the lock must pass between the sides for their queue to count as mixed.
const PASSES: usize = 20;

fn assert_mixed(records: &[Record], ours: &[String]) {
    let is_ours: Vec<bool> = records.iter().map(|record| ours.contains(&record.node)).collect();
    assert_eq!(is_ours.iter().filter(|ours| **ours).count(), ours.len());
    let passes = is_ours.windows(2).filter(|pair| pair[0] != pair[1]).count();
    println!("{passes} passes from one side to the other in {} turns", records.len());
    assert!(passes >= PASSES, "{passes} in {}", records.len());
}

async fn mixed_with(mut foreign: Foreign, at: &str, recipe: &str, ours: Recipe) {
    let client = zk::connect(at).await;
    inside::prepare(&client, "/lock").await;
    foreign.churn_checked("theirs", recipe, "/lock", CLIENTS, ROUNDS).await;
    let ours = contend_as_clients(at, ours, "/lock", CLIENTS).await;
    assert_eq!(foreign.churned("theirs").await, CLIENTS * ROUNDS);
    let records = inside::records(&client, "/lock").await;
    assert_in_order(&records, 2 * CLIENTS * ROUNDS);
    assert_mixed(&records, &ours);
    assert!(client.list_children("/lock").await.expect("it is there").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_and_curators_mutex_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::java(&at), &at, "mutex", Recipe::CHAIN.called(Called::AsCurators)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_ahead_and_curators_mutex_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::java(&at), &at, "mutex", Recipe::CHAIN_AHEAD.called(Called::AsCurators)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_and_kazoos_lock_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::kazoo(&at), &at, "lock", Recipe::CHAIN.called(Called::AsKazoos)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_ahead_and_kazoos_lock_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::kazoo(&at), &at, "lock", Recipe::CHAIN_AHEAD.called(Called::AsKazoos)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_and_javas_write_lock_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::java(&at), &at, "write-lock", Recipe::CHAIN.called(Called::AsWriteLocks)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_ahead_and_javas_write_lock_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    mixed_with(Foreign::java(&at), &at, "write-lock", Recipe::CHAIN_AHEAD.called(Called::AsWriteLocks)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_chain_and_curators_readers_and_writers_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    let client = zk::connect(&at).await;
    inside::prepare(&client, "/lock").await;
    let mut foreign = Foreign::java(&at);
    foreign.churn_checked("readers", "read", "/lock", 2, ROUNDS).await;
    foreign.churn_checked("writers", "write", "/lock", 2, ROUNDS).await;
    let (reads, writes) = (Recipe::shared_chain(Access::Read), Recipe::shared_chain(Access::Write));
    let (ours, more) =
        futures::join!(contend_as_clients(&at, reads, "/lock", 2), contend_as_clients(&at, writes, "/lock", 2));
    foreign.churned("readers").await;
    foreign.churned("writers").await;
    let records = inside::records(&client, "/lock").await;
    assert_writers_in_order(&records, 8 * ROUNDS);
    assert_mixed(&records, &[ours, more].concat());
}

// kazoo's readers take no part: kazoo's `ReadLock` (2.8.0) looks for its own name among the
// writers' names and never finds it. A reader that lists the queue when a writer is behind it waits
// for that writer, and the writer waits for the reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_chain_and_kazoos_writers_stand_in_one_queue() {
    let at = zk::own_root("mixed").await;
    let client = zk::connect(&at).await;
    inside::prepare(&client, "/lock").await;
    let mut foreign = Foreign::kazoo(&at);
    foreign.churn_checked("writers", "write", "/lock", 2, ROUNDS).await;
    let [reads, writes] =
        [Access::Read, Access::Write].map(|access| Recipe::shared_chain(access).called(Called::AsKazoos));
    let (ours, more) =
        futures::join!(contend_as_clients(&at, reads, "/lock", 2), contend_as_clients(&at, writes, "/lock", 2));
    foreign.churned("writers").await;
    let records = inside::records(&client, "/lock").await;
    assert_writers_in_order(&records, 6 * ROUNDS);
    assert_mixed(&records, &[ours, more].concat());
}

/// kazoo's readers wait for our writer and hold together, and our next writer waits for them. The
/// writer comes once they hold; if it came earlier, it would block them forever (see above).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kazoos_readers_and_our_writers_exclude_each_other() {
    let at = zk::own_root("mixed").await;
    let client = zk::connect(&at).await;
    let [read, write] =
        [Access::Read, Access::Write].map(|access| Recipe::shared_chain(access).called(Called::AsKazoos));
    let mut foreign = Foreign::kazoo(&at);
    for round in 0..5 {
        let path = format!("/lock-{round}");
        let writer = write.acquire(&client, &path).await.expect("nobody holds");
        for reader in ["first", "second"] {
            let client = format!("{reader}-{round}");
            foreign.connect(&client).await;
            foreign.start(&client, &client, "read", &path).await;
        }
        queued(&client, &path, 3).await;
        for reader in ["first", "second"] {
            assert!(!foreign.holds(&format!("{reader}-{round}")).await);
        }
        writer.release().await.expect("the connection is sound");
        for reader in ["first", "second"] {
            foreign.held(&format!("{reader}-{round}")).await;
        }
        assert!(write.try_acquire(&client, &path).await.expect("it answers").is_none());
        let together = read.try_acquire(&client, &path).await.expect("it answers").expect("readers share");
        together.release().await.expect("the connection is sound");

        let mut next = Box::pin(write.acquire(&client, &path));
        let waits = tokio::time::timeout(Duration::from_millis(1), &mut next).await;
        assert!(waits.is_err(), "a writer among readers");
        for reader in ["first", "second"] {
            foreign.release(&format!("{reader}-{round}")).await;
        }
        within("a writer", next).await.expect("the readers have left").release().await.expect("sound");
    }
}

async fn queued(client: &Client, path: &str, count: usize) {
    eventually("the contenders' nodes", async || match client.list_children(path).await {
        Ok(names) if names.len() == count => Ok(()),
        other => Err(other),
    })
    .await;
}
