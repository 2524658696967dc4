//! The cost of locks, by the requests that pass a relay and by the locks' own counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lockscope_lock::{Access, Algorithm, Cost, CostCounter, Guard, Lock, LockError, LockOptions, Naming};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::fixture::{LEASES, LockFixture, Relayed, SHORT_WAIT, Waiting, got, held, lock, wait_for};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

const DELETE: i32 = 2;
const GET_DATA: i32 = op::GET_DATA;
const LIST: i32 = op::LIST_WITH_STAT;
const CREATE: i32 = 15;
const REMOVE_WATCHES: i32 = 18;

/// A client whose requests are counted by a relay.
struct Counted {
    relay: Relay,
    fixture: LockFixture,
    lock: Lock,
    session: String,
}

impl Counted {
    async fn new(algorithm: Algorithm) -> Self {
        let fixture = LockFixture::new().await;
        let Relayed { relay, client } = Relayed::new(&fixture, Duration::from_secs(30)).await;
        let session = format!("0x{:x}", client.session_id().0);
        let lock = lock(&client, algorithm);
        fixture.make_parents(algorithm).await;
        Self { relay, fixture, lock, session }
    }

    /// Creates such a client where another client holds and one waits already.
    async fn behind_two(algorithm: Algorithm) -> (Self, Guard, Waiting) {
        let counted = Self::new(algorithm).await;
        let [head, middle] = counted.fixture.locks(algorithm).await;
        let head = held(&head).await;
        let middle = wait_for(&middle);
        counted.fixture.until_nodes(2).await;
        (counted, head, middle)
    }

    /// Waits until the session has `count` watches on the server. A request under way sets no watch
    /// if the node goes first.
    async fn watches(&self, count: usize) {
        eventually("its watches", async || {
            let words = Server::shared().words("wchc");
            let own = words.lines().skip_while(|line| *line != self.session).skip(1);
            let watched = own.take_while(|line| line.starts_with('\t')).count();
            if watched == count { Ok(()) } else { Err(words) }
        })
        .await;
    }

    /// Waits until exactly these operations have been sent since `before`.
    async fn sends(&self, before: &BTreeMap<i32, u64>, cost: Cost, expected: &[(i32, u64)]) {
        eventually("its requests", async || match self.since(before, cost).await {
            seen if seen == expected => Ok(()),
            seen => Err(seen),
        })
        .await;
    }

    fn sent(&self) -> BTreeMap<i32, u64> {
        self.relay.requests().into_iter().filter(|(code, _)| !op::is_housekeeping(*code)).collect()
    }

    /// Returns the operations sent since `before`. The lock's own count must be the same.
    async fn since(&self, before: &BTreeMap<i32, u64>, cost: Cost) -> Vec<(i32, u64)> {
        let count = |before: &BTreeMap<i32, u64>| {
            let sent = self.sent();
            let new = sent.into_iter().map(|(code, now)| (code, now - before.get(&code).copied().unwrap_or_default()));
            new.filter(|(_, new)| *new > 0).collect::<Vec<_>>()
        };
        eventually("as many requests as were counted", async || {
            let sent = count(before);
            let total: u64 = sent.iter().map(|(_, new)| new).sum();
            if total == (self.lock.cost() - cost).requests { Ok(sent) } else { Err((sent, self.lock.cost())) }
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uncontended_queue_lock_takes_one_create_and_one_listing_and_is_released_by_one_delete() {
    for algorithm in [Algorithm::Chain, Algorithm::ChainAhead, Algorithm::SharedChain(Access::Read), Algorithm::Herd] {
        let counted = Counted::new(algorithm).await;
        let (sent, cost) = (counted.sent(), counted.lock.cost());
        let guard = held(&counted.lock).await;
        assert_eq!(counted.since(&sent, cost).await, [(LIST, 1), (CREATE, 1)], "{algorithm:?}");
        assert_eq!(guard.cost(), Cost { requests: 2, events: 0 });
        let (sent, cost) = (counted.sent(), counted.lock.cost());
        guard.release().await.expect("it was held");
        assert_eq!(counted.since(&sent, cost).await, [(DELETE, 1)], "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_waiter_behind_the_head_adds_one_watch_and_one_event() {
    let counted = Counted::new(Algorithm::Chain).await;
    let other = held(&counted.fixture.lock(Algorithm::Chain).await).await;
    let (sent, cost) = (counted.sent(), counted.lock.cost());
    let waiting = wait_for(&counted.lock);
    counted.watches(1).await;
    other.release().await.expect("it was held");
    let guard = got(waiting).await;
    assert_eq!(counted.since(&sent, cost).await, [(GET_DATA, 1), (LIST, 1), (CREATE, 1)]);
    assert_eq!(guard.cost(), Cost { requests: 3, events: 1 });
    guard.release().await.expect("it was held");
    assert_eq!(counted.since(&sent, cost).await, [(DELETE, 1), (GET_DATA, 1), (LIST, 1), (CREATE, 1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_waiter_further_back_lists_once_more() {
    let (counted, head, middle) = Counted::behind_two(Algorithm::Chain).await;
    let (sent, cost) = (counted.sent(), counted.lock.cost());
    let waiting = wait_for(&counted.lock);
    counted.watches(1).await;
    head.release().await.expect("it was held");
    got(middle).await.release().await.expect("it was held");
    let guard = got(waiting).await;
    assert_eq!(counted.since(&sent, cost).await, [(GET_DATA, 1), (LIST, 2), (CREATE, 1)]);
    assert_eq!(guard.cost(), Cost { requests: 4, events: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_ahead_waiter_further_back_adds_two_watches_two_events_and_one_listing_while_its_predecessor_holds() {
    let (counted, head, middle) = Counted::behind_two(Algorithm::ChainAhead).await;
    let (sent, cost) = (counted.sent(), counted.lock.cost());
    let waiting = wait_for(&counted.lock);
    let sends = async |expected: &[(i32, u64)]| counted.sends(&sent, cost, expected).await;
    sends(&[(GET_DATA, 2), (LIST, 1), (CREATE, 1)]).await;
    counted.watches(2).await;
    head.release().await.expect("it was held");
    let middle = got(middle).await;
    sends(&[(GET_DATA, 2), (LIST, 2), (CREATE, 1)]).await;
    middle.release().await.expect("it was held");
    let guard = got(waiting).await;
    assert_eq!(guard.cost(), Cost { requests: 5, events: 2 });
    guard.release().await.expect("it was held");
    sends(&[(DELETE, 1), (GET_DATA, 2), (LIST, 2), (CREATE, 1)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_ahead_waiter_that_gives_up_removes_both_watches() {
    let (counted, head, middle) = Counted::behind_two(Algorithm::ChainAhead).await;
    let (sent, cost) = (counted.sent(), counted.lock.cost());
    assert!(matches!(counted.lock.acquire_within(SHORT_WAIT).await, Err(LockError::TimedOut { .. })));
    counted.sends(&sent, cost, &[(DELETE, 1), (GET_DATA, 2), (LIST, 1), (CREATE, 1), (REMOVE_WATCHES, 2)]).await;
    head.release().await.expect("it was held");
    got(middle).await.release().await.expect("it was held");
    assert_eq!((counted.lock.cost() - cost).events, 0);
}

/// Returns the average cost of an acquisition while sessions take turns without a pause.
async fn saturated(algorithm: Algorithm, naming: Naming) -> (f64, f64) {
    const CLIENTS: u32 = 12;
    const ROUNDS: u32 = 20;
    let fixture = LockFixture::new().await;
    zk::make(&fixture.client().await, ["/saturated".to_owned()]).await;
    let counter = CostCounter::default();
    let (mut turns, all_there) = (JoinSet::new(), Arc::new(Barrier::new(CLIENTS as usize)));
    for _ in 0..CLIENTS {
        let options = LockOptions::default().counter(counter.clone()).naming(naming.clone());
        let lock = Lock::with(&fixture.client().await, "/saturated", algorithm, options).expect("a good path");
        let all_there = Arc::clone(&all_there);
        turns.spawn(async move {
            all_there.wait().await;
            for _ in 0..ROUNDS {
                held(&lock).await.release().await.expect("it was held");
            }
        });
    }
    turns.join_all().await;
    let Cost { requests, events } = counter.cost();
    let each = |count: u64| f64::from(u32::try_from(count).expect("few")) / f64::from(CLIENTS * ROUNDS);
    println!("{algorithm:?} {naming:?}: {:.2} requests and {:.2} events an acquisition", each(requests), each(events));
    (each(requests), each(events))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_saturated_chain_costs_five_requests_and_one_that_looks_ahead_six() {
    let named = || Naming::Named("red".to_owned());
    // The first and the last of a run have fewer contenders before them, and a client lists again
    // if a node goes before the client watches it.
    for (algorithm, naming, requests, events) in [
        (Algorithm::Chain, Naming::Curator, 5.0, 1.0),
        (Algorithm::ChainAhead, Naming::Curator, 6.0, 2.0),
        // One request fewer to acquire, and one more to release.
        (Algorithm::Chain, named(), 5.0, 1.0),
        (Algorithm::ChainAhead, named(), 6.0, 2.0),
    ] {
        let cost = saturated(algorithm, naming).await;
        assert!((requests - 0.3..requests + 0.3).contains(&cost.0), "{algorithm:?}: {cost:?}");
        assert!((events - 0.2..=events).contains(&cost.1), "{algorithm:?}: {cost:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herd_waiter_is_woken_by_every_change_and_a_chain_waiter_by_one() {
    const ARRIVALS: u64 = 5;
    for (algorithm, events) in [(Algorithm::Herd, ARRIVALS + 1), (Algorithm::Chain, 1)] {
        let counted = Counted::new(algorithm).await;
        let other = held(&counted.fixture.lock(algorithm).await).await;
        let waiting = wait_for(&counted.lock);
        counted.fixture.until_nodes(2).await;
        let mut others = Vec::new();
        for arrived in 0..ARRIVALS {
            // One after the other, so that no two changes share an event.
            if algorithm == Algorithm::Herd {
                eventually("its listing", async || match counted.lock.cost() {
                    Cost { requests, events } if events == arrived && requests == 2 + arrived => Ok(()),
                    seen => Err(seen),
                })
                .await;
            }
            others.push(wait_for(&counted.fixture.lock(algorithm).await));
            counted.fixture.until_nodes(3 + others.len() - 1).await;
        }
        eventually("all events but the last", async || match counted.lock.cost() {
            Cost { events: seen, .. } if seen == events - 1 => Ok(()),
            seen => Err(seen),
        })
        .await;
        other.release().await.expect("it was held");
        assert_eq!(got(waiting).await.cost().events, events, "{algorithm:?}");
        others.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_locks_cost_what_their_documentation_says() {
    for (algorithm, acquire, release) in [
        (Algorithm::Mutex, 1, Cost { requests: 2, events: 0 }),
        (Algorithm::MutexParent, 1, Cost { requests: 2, events: 0 }),
        (Algorithm::Semaphore(LEASES), 5, Cost { requests: 1, events: 1 }),
    ] {
        let counted = Counted::new(algorithm).await;
        let (sent, cost) = (counted.sent(), counted.lock.cost());
        let guard = held(&counted.lock).await;
        eventually("all requests of the acquire", async || match counted.lock.cost() - cost {
            Cost { requests, .. } if requests == acquire => Ok(()),
            seen => Err(seen),
        })
        .await;
        counted.since(&sent, cost).await;
        let (sent, cost) = (counted.sent(), counted.lock.cost());
        guard.release().await.expect("it was held");
        counted.since(&sent, cost).await;
        assert_eq!(counted.lock.cost() - cost, release, "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awaiting_the_loss_adds_one_watch_and_one_event() {
    let counted = Counted::new(Algorithm::Chain).await;
    let (sent, cost) = (counted.sent(), counted.lock.cost());
    let guard = held(&counted.lock).await;
    let lost = async {
        tokio::select! {
            loss = guard.lost() => panic!("{loss}"),
            () = counted.watches(1) => {}
        }
    };
    lost.await;
    guard.release().await.expect("it was held");
    assert_eq!(counted.since(&sent, cost).await, [(DELETE, 1), (GET_DATA, 1), (LIST, 1), (CREATE, 1)]);
    assert_eq!((counted.lock.cost() - cost).events, 1);
}
