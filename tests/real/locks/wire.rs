//! The cost of locks, counted by a relay.

use std::time::Duration;

use futures::future::join_all;
use lockscope_lock::Access;
use zookeeper_client::Client;

use super::fault_fixture::within;
use super::ours::{Held, Recipe};
use crate::harness::relay::{Fault, Passed, Place, Relay, Then, op, round_trips};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

const EACH_WAY: Duration = Duration::from_millis(20);

/// A client behind a relay of its own.
pub struct Counted {
    pub relay: Relay,
    pub client: Client,
}

impl Counted {
    pub async fn new() -> Self {
        let relay = Relay::start(&Server::shared().connect_string()).await;
        let client = zk::connect(&relay.connect_string()).await;
        Self { relay, client }
    }

    /// Starts to contend. Returns once the client waits.
    pub async fn queue(&self, recipe: Recipe, path: &str) -> tokio::task::JoinHandle<Held> {
        self.relay.record();
        let (client, path) = (self.client.clone(), path.to_owned());
        let waiter = tokio::spawn(async move {
            within("a waiter", recipe.acquire(&client, &path)).await.expect("the connection is sound")
        });
        eventually("a waiter", async || match self.relay.recorded() {
            log if log.iter().any(|passed| passed.is_watch_set()) => Ok(()),
            log => Err(log),
        })
        .await;
        waiter
    }

    pub fn requests(&self) -> Vec<i32> {
        self.relay.recorded().into_iter().filter_map(Passed::request).collect()
    }

    pub fn events(&self) -> usize {
        self.relay.recorded().into_iter().filter(|passed| *passed == Passed::Event).count()
    }
}

/// Returns the path of a lock whose parents exist.
pub async fn path() -> String {
    let server = Server::shared().connect_string();
    zk::own_root("cost").await.split_off(server.len())
}

/// The queues that are joined by a create and a listing.
const QUEUES: [Recipe; 7] = [
    Recipe::CHAIN,
    Recipe::CHAIN_AHEAD,
    Recipe::HERD,
    Recipe::shared_chain(Access::Read),
    Recipe::shared_chain(Access::Write),
    Recipe::shared_herd(Access::Read),
    Recipe::shared_herd(Access::Write),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uncontended_queue_costs_a_create_and_a_listing_and_a_delete() {
    for recipe in QUEUES {
        let (counted, path) = (Counted::new().await, path().await);
        counted.relay.record();
        let held = recipe.acquire(&counted.client, &path).await.expect("nobody holds");
        assert_eq!(counted.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT], "{recipe:?}");
        assert_eq!((held.0.cost().requests, held.0.cost().events), (2, 0), "{recipe:?}");
        counted.relay.record();
        held.release().await.expect("the connection is sound");
        assert_eq!(counted.requests(), [op::DELETE], "{recipe:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listing_is_sent_before_the_create_is_answered() {
    for recipe in QUEUES {
        let (counted, path) = (Counted::new().await, path().await);
        counted.relay.record();
        counted.relay.arm(&[Fault { place: Place::AfterRequest(1), then: Then::Stall }]);
        let (acquired, ()) = tokio::join!(recipe.acquire(&counted.client, &path), async {
            eventually("both requests, and no answer", async || match counted.requests() {
                requests if requests == [op::CREATE_WITH_STAT, op::LIST_WITH_STAT] => Ok(()),
                requests => Err(requests),
            })
            .await;
            assert!(!counted.relay.recorded().iter().any(|passed| matches!(passed, Passed::Reply { .. })));
            eventually("the answer's hold-up", async || if counted.relay.stalled() { Ok(()) } else { Err(()) }).await;
            counted.relay.resume();
        });
        acquired.expect("nobody holds").release().await.expect("the connection is sound");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_milliseconds_each_way_make_one_round_trip_of_an_acquire_and_one_of_a_release() {
    let (counted, path) = (Counted::new().await, path().await);
    counted.relay.delay(EACH_WAY);
    // A busy machine may separate two requests that were sent together; it cannot join two that
    // were not.
    let mut fewest = usize::MAX;
    for _ in 0..10 {
        counted.relay.record();
        let held = Recipe::CHAIN.acquire(&counted.client, &path).await.expect("nobody holds");
        fewest = fewest.min(round_trips(&counted.relay.recorded()));
        counted.relay.record();
        held.release().await.expect("the connection is sound");
        assert_eq!(round_trips(&counted.relay.recorded()), 1);
    }
    assert_eq!(fewest, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_is_handed_to_the_next_in_line_by_a_deletion_and_its_event() {
    let (holder, waiter, path) = (Counted::new().await, Counted::new().await, path().await);
    for each in [&holder, &waiter] {
        each.relay.delay(EACH_WAY);
    }
    let held = Recipe::CHAIN.acquire(&holder.client, &path).await.expect("nobody holds");
    let task = waiter.queue(Recipe::CHAIN, &path).await;
    assert_eq!(waiter.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA]);

    holder.relay.record();
    waiter.relay.record();
    held.release().await.expect("the connection is sound");
    let next = task.await.expect("no panic");
    assert_eq!(holder.requests(), [op::DELETE]);
    assert_eq!(waiter.relay.recorded(), [Passed::Event], "nothing but the event");
    assert_eq!((next.0.cost().requests, next.0.cost().events), (3, 1));
    next.release().await.expect("the connection is sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_behind_a_waiter_lists_once_more() {
    let (a, b, c, path) = (Counted::new().await, Counted::new().await, Counted::new().await, path().await);
    let held = Recipe::CHAIN.acquire(&a.client, &path).await.expect("nobody holds");
    let second = b.queue(Recipe::CHAIN, &path).await;
    let third = c.queue(Recipe::CHAIN, &path).await;
    assert_eq!(c.requests(), [op::CREATE_WITH_STAT, op::LIST_WITH_STAT, op::GET_DATA]);
    c.relay.record();
    held.release().await.expect("the connection is sound");
    let second = second.await.expect("no panic");
    assert_eq!(c.relay.recorded(), [], "the end of somebody further on is none of its business");
    second.release().await.expect("the connection is sound");
    let third = third.await.expect("no panic");
    assert_eq!(c.requests(), [op::LIST_WITH_STAT]);
    assert_eq!(c.events(), 1);
    third.release().await.expect("the connection is sound");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_loses_its_predecessor_in_mid_queue_lists_and_watches_the_next_one() {
    let (a, b, c, path) = (Counted::new().await, Counted::new().await, Counted::new().await, path().await);
    let held = Recipe::CHAIN.acquire(&a.client, &path).await.expect("nobody holds");
    let second = b.queue(Recipe::CHAIN, &path).await;
    let third = c.queue(Recipe::CHAIN, &path).await;
    c.relay.record();
    second.abort();
    eventually("the next watch", async || match c.relay.recorded() {
        log if log.iter().any(|passed| passed.is_watch_set()) => Ok(()),
        log => Err(log),
    })
    .await;
    assert_eq!((c.requests(), c.events()), (vec![op::LIST_WITH_STAT, op::GET_DATA], 1));
    // The predecessor is now the head, so its deletion hands the lock over.
    c.relay.record();
    held.release().await.expect("the connection is sound");
    let third = third.await.expect("no panic");
    assert_eq!(c.relay.recorded(), [Passed::Event]);
    third.release().await.expect("the connection is sound");
}

/// Waits until each waiter of a herd has got an event for each later arrival, and watches again.
async fn all_have_looked(queue: &[Counted]) {
    eventually("the herd", async || {
        for (waiter, behind) in queue.iter().rev().zip(0..) {
            let log = waiter.relay.recorded();
            let watches = log.iter().filter(|passed| passed.is_watch_set()).count();
            if waiter.events() != behind || watches != behind + 1 {
                return Err(log);
            }
        }
        Ok(())
    })
    .await;
}

/// Returns the watch events that a release causes among `waiters` waiters.
async fn events_of_a_release(recipe: Recipe, waiters: usize) -> usize {
    let (holder, path) = (Counted::new().await, path().await);
    let held = recipe.acquire(&holder.client, &path).await.expect("nobody holds");
    let waiting = join_all((0..waiters).map(|_| Counted::new())).await;
    let mut tasks = Vec::new();
    for (at, waiter) in waiting.iter().enumerate() {
        tasks.push(waiter.queue(recipe, &path).await);
        if recipe == Recipe::HERD {
            all_have_looked(&waiting[..=at]).await;
        }
    }
    let before: u64 = waiting.iter().map(|waiter| waiter.relay.events()).sum();
    // The first client holds until all events have been counted.
    let first = tasks.remove(0);
    held.release().await.expect("the connection is sound");
    let next = first.await.expect("no panic");
    let events = async || waiting.iter().map(|waiter| waiter.relay.events()).sum::<u64>() - before;
    let expected = match recipe {
        Recipe::HERD => waiters as u64,
        Recipe::CHAIN_AHEAD => 2,
        _ => 1,
    };
    eventually("the events", async || match events().await {
        seen if seen >= expected => Ok(()),
        seen => Err(seen),
    })
    .await;
    let seen = events().await;
    for task in &tasks {
        task.abort();
    }
    next.release().await.expect("the connection is sound");
    usize::try_from(seen).expect("few")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_wakes_one_waiter_of_a_chain_two_that_look_ahead_and_all_of_a_herd() {
    for waiters in [2, 8] {
        assert_eq!(events_of_a_release(Recipe::CHAIN, waiters).await, 1);
        assert_eq!(events_of_a_release(Recipe::CHAIN_AHEAD, waiters).await, 2);
        assert_eq!(events_of_a_release(Recipe::HERD, waiters).await, waiters);
    }
}
