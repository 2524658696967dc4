//! Who holds and who waits, and several leases at once.

use std::num::NonZeroU32;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use lockscope_lock::{Access, Algorithm, Cost, Lock, LockError, LockOptions, Naming};
use zookeeper_client::Client;

use super::fault_fixture::within;
use super::fixture::{LockFixture, SHORT_WAIT, got, held, lock, wait_for};
use crate::harness::wait::eventually;
use crate::harness::zk;

const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);
const THREE: NonZeroU32 = TWO.saturating_add(1);

fn named(client: &Client, algorithm: Algorithm, data: impl Into<Vec<u8>>) -> Lock {
    Lock::with(client, "/lock", algorithm, LockOptions::default().data(data)).expect("a good path")
}

/// What `lock` lists: the data, whether the owner holds, and the client.
async fn seen(lock: &Lock, clients: &[Client]) -> Vec<(String, bool, Option<usize>)> {
    let all = lock.participants().await.expect("an answer");
    let of = |session| clients.iter().position(|client| client.session_id().0 == session);
    let shown = all.iter().map(|one| (String::from_utf8_lossy(&one.data).into_owned(), one.holds, of(one.session.0)));
    shown.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn participants_are_in_the_order_of_the_queue_and_a_waiter_sees_its_position_fall() {
    let fixture = LockFixture::new().await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(fixture.client().await);
    }
    let accesses = [Access::Read, Access::Read, Access::Write];
    let locks: Vec<Lock> = accesses
        .into_iter()
        .enumerate()
        .map(|(at, access)| named(&clients[at], Algorithm::SharedChain(access), format!("client {at}")))
        .collect();
    assert_eq!((locks[0].participants().await, locks[0].position().await), (Ok(vec![]), Ok(None)));
    let first = held(&locks[0]).await;
    let second = held(&locks[1]).await;
    let third = wait_for(&locks[2]);
    fixture.until_nodes(3).await;
    let expected = [("client 0", true, 0), ("client 1", true, 1), ("client 2", false, 2)];
    let expected = expected.map(|(data, holds, client)| (data.to_owned(), holds, Some(client)));
    assert_eq!(seen(&locks[1], &clients).await, expected);
    let listed = locks[2].participants().await.expect("an answer");
    assert_eq!((listed[0].token, listed[0].sequence), (first.token(), first.sequence()));
    let cost = locks[2].cost();
    assert_eq!(locks[2].position().await, Ok(Some(2)));
    assert_eq!(locks[2].cost() - cost, Cost { requests: 1, events: 0 });
    first.release().await.expect("it was held");
    assert_eq!(locks[2].position().await, Ok(Some(1)));
    second.release().await.expect("it was held");
    let third = got(third).await;
    assert_eq!(locks[2].position().await, Ok(Some(0)));
    third.release().await.expect("it was held");
    assert_eq!(locks[2].position().await, Ok(None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_of_a_mutex_is_listed_and_long_data_are_cut() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    for algorithm in [Algorithm::Mutex, Algorithm::MutexParent] {
        let lock = named(&client, algorithm, vec![b'x'; 5_000]);
        assert_eq!(lock.participants().await, Ok(vec![]));
        let guard = held(&lock).await;
        let all = lock.participants().await.expect("an answer");
        let [only] = &all[..] else { panic!("{all:?}") };
        assert_eq!((only.token, only.holds, only.data.len()), (guard.token(), true, 1_024));
        assert_eq!((&only.path, lock.position().await), (guard.path(), Ok(Some(0))));
        guard.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_take_several_leases_take_turns_and_single_ones_fit_between() {
    let fixture = LockFixture::new().await;
    let all = Algorithm::Semaphore(THREE);
    let [one, other, single] = fixture.locks(all).await;
    let guard = held(&single).await;
    // Each of the two would leave the other too little, so they must not take them one by one.
    let take = |lock: &Lock| {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire_many(THREE).await })
    };
    let mut taking: FuturesUnordered<_> = [take(&one), take(&other)].into_iter().collect();
    fixture.until_nodes(6).await;
    let participants = single.participants().await.expect("an answer");
    let shown: Vec<bool> = participants.iter().map(|one| one.holds).collect();
    assert_eq!(shown, [true, true, true, false, false, false], "two leases of the first, its third, and the queue");
    guard.release().await.expect("it was held");
    while let Some(held) = within("three leases", taking.next()).await {
        let held = held.expect("no panic").expect("three leases");
        assert_eq!(held.guards().len(), 3);
        assert!(single.try_acquire().await.expect("an answer").is_none());
        held.release().await.expect("they were held");
    }
    held(&single).await.release().await.expect("it was held");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_leases_cost_little_more_than_one_and_a_dropped_wait_leaves_none() {
    let fixture = LockFixture::new().await;
    let two = Algorithm::Semaphore(TWO);
    fixture.make_parents(two).await;
    let [one, other] = fixture.locks(two).await;
    let held = within("two leases", one.acquire_many(TWO)).await.expect("they are free");
    // The event of the first lease's watch comes on its own.
    eventually("the cost", async || match one.cost() {
        Cost { requests: 8, events: 2 } => Ok(()),
        cost => Err(cost),
    })
    .await;
    let late = tokio::time::timeout(SHORT_WAIT, other.acquire_many(TWO)).await;
    assert!(late.is_err(), "{late:?}");
    fixture.until_nodes(2).await;
    held.release().await.expect("they were held");
    let three = within("an answer", other.acquire_many(THREE)).await.map(drop);
    assert!(matches!(three, Err(LockError::BadOptions(_))), "{three:?}");
    let chain = lock(&zk::connect_within(&fixture.connect, Duration::from_secs(10)).await, Algorithm::Chain);
    let three = within("an answer", chain.acquire_many(NonZeroU32::MIN)).await.map(drop);
    assert!(matches!(three, Err(LockError::BadOptions(_))), "{three:?}");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_nodes_of_other_libraries_are_participants_too() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let options = LockOptions::default().naming(Naming::Kazoo);
    let lock = Lock::with(&client, "/lock", Algorithm::Chain, options).expect("a good path");
    let guard = held(&lock).await;
    let name = "/lock/b3a1c2d40f1e4a2b8c3d112233445566__lock__";
    let options = zk::open(zookeeper_client::CreateMode::EphemeralSequential);
    let other = fixture.client().await;
    other.create(name, b"host 7", &options).await.expect("a node");
    let all = lock.participants().await.expect("an answer");
    assert_eq!(all.len(), 2);
    assert_eq!((all[1].data.as_slice(), all[1].holds), (&b"host 7"[..], false));
    guard.release().await.expect("it was held");
}
