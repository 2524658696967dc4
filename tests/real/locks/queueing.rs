//! The order of the queue, and children that do not belong to it.

use lockscope_lock::{Algorithm, Lock, LockOptions, Naming};
use zookeeper_client::CreateMode;

use super::fixture::{LockFixture, QUEUES, delete, got, held, lock, wait_for};
use crate::harness::zk::{self, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_get_the_lock_strictly_in_order_of_arrival() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let locks: Vec<Lock> = (0..12).map(|_| lock(&client, algorithm)).collect();
        let mut guard = held(&locks[0]).await;
        for waiting in fixture.queue_up(&locks[1..], 1).await {
            let number = guard.sequence();
            guard.release().await.expect("it was held");
            guard = got(waiting).await;
            assert!(guard.sequence() > number, "{algorithm:?}");
        }
        guard.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_in_the_middle_that_leaves_promotes_nobody() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let locks: [Lock; 4] = fixture.locks(algorithm).await;
        let guard = held(&locks[0]).await;
        let mut waiting = fixture.queue_up(&locks[1..], 1).await;
        waiting.remove(1).abort();
        fixture.until_nodes(3).await;
        // Whether or not the last of the queue has listed again, it must not hold.
        let late = locks[3].try_acquire().await.expect("an answer");
        assert!(late.is_none());
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "{algorithm:?}");
        guard.release().await.expect("it was held");
        let next = got(waiting.remove(0)).await;
        assert!(!waiting[0].is_finished(), "{algorithm:?}");
        next.release().await.expect("it was held");
        got(waiting.remove(0)).await.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_predecessor_that_dies_in_mid_queue_hands_nothing_over() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let locks: [Lock; 3] = fixture.locks(algorithm).await;
        let guard = held(&locks[0]).await;
        let mut waiting = fixture.queue_up(&locks[1..], 1).await;
        let nodes = fixture.until_nodes(3).await;
        delete(&fixture.client().await, &nodes[1]).await;
        let last = waiting.pop().expect("two wait");
        assert!(locks[2].try_acquire().await.expect("an answer").is_none());
        assert!(!last.is_finished(), "{algorithm:?}");
        guard.release().await.expect("it was held");
        got(last).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_names_in_one_parent_are_two_locks() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let named = |name: &str| {
        let options = LockOptions::default().naming(Naming::Named(name.to_owned()));
        Lock::with(&client, "/shop", Algorithm::Chain, options).expect("a good path")
    };
    let (red, blue) = (held(&named("red")).await, held(&named("blue")).await);
    assert_eq!(red.path().parent(), blue.path().parent());
    assert!(named("red").try_acquire().await.expect("an answer").is_none());
    assert!(named("infrared").try_acquire().await.expect("an answer").is_some());
    let waiting = wait_for(&named("blue"));
    blue.release().await.expect("it was held");
    got(waiting).await.release().await.expect("it was held");
    red.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_that_are_no_contenders_do_not_count() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let client = fixture.client().await;
        let lock = lock(&client, algorithm);
        let children = ["config", "0000000000", "qn-0000000000", "_c_leftover-latch-0000000000", "lock-12"];
        zk::make(&client, children.map(|child| format!("{}/{child}", lock.path()))).await;
        let guard = lock.try_acquire().await.expect("an answer");
        guard.expect("nobody contends").release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_naming_queues_behind_the_contenders_of_its_library() {
    let session = "0x1000";
    for (naming, other) in [
        (Naming::Curator, "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-lock-".to_owned()),
        (Naming::Kazoo, "b3a1c2d40f1e4a2b8c3d112233445566__lock__".to_owned()),
        (Naming::WriteLock, "x-72057594037927936-".to_owned()),
        (Naming::Session, format!("lock-{session}-")),
        (Naming::Named("red".to_owned()), "red_lock_".to_owned()),
    ] {
        for algorithm in [Algorithm::Herd, Algorithm::Chain] {
            let fixture = LockFixture::new().await;
            let client = fixture.client().await;
            zk::make(&client, ["/q".to_owned()]).await;
            let made = client.create(&format!("/q/{other}"), &[], &open(CreateMode::EphemeralSequential)).await;
            let theirs = format!("/q/{other}{}", made.expect("a node").1);
            let options = LockOptions::default().naming(naming.clone());
            let lock = Lock::with(&client, "/q", algorithm, options).expect("a good path");
            assert!(lock.try_acquire().await.expect("an answer").is_none(), "{naming:?}");
            let waiting = wait_for(&lock);
            fixture.until_nodes(2).await;
            delete(&client, &theirs).await;
            got(waiting).await.release().await.expect("it was held");
        }
    }
}
