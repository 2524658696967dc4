//! Leaving with and without the lock: no node stays behind.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use lockscope_lock::{Lock, LockError};

use super::fixture::{ALONE, LockFixture, QUEUES, SHORT_WAIT, got, held, wait_for};
use crate::harness::wait::eventually;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_that_fails_leaves_no_node_when_it_returns() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        fixture.until_nodes(1).await;
        assert!(second.try_acquire().await.expect("an answer").is_none());
        assert_eq!(fixture.nodes().await, [guard.path().as_str()], "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_out_leaves_no_node_and_is_distinguished_from_loss() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        fixture.until_nodes(1).await;
        match second.acquire_within(SHORT_WAIT).await {
            Err(LockError::TimedOut { within, path }) => assert_eq!((within, &path), (SHORT_WAIT, second.path())),
            other => panic!("{algorithm:?}: {other:?}"),
        }
        assert_eq!(fixture.nodes().await, [guard.path().as_str()], "{algorithm:?}");
        guard.release().await.expect("it was held");
        let guard = second.acquire_within(Duration::MAX).await.expect("it is free");
        guard.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_waiter_leaves_and_the_next_in_line_gets_the_lock() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let locks: [Lock; 3] = fixture.locks(algorithm).await;
        let guard = held(&locks[0]).await;
        let mut waiting = fixture.queue_up(&locks[1..], 1).await;
        waiting.remove(0).abort();
        fixture.until_nodes(2).await;
        guard.release().await.expect("it was held");
        got(waiting.remove(0)).await.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

/// Polls an acquire `polls` times, at once or whenever it is woken, and drops it.
async fn dropped_after(lock: &Lock, polls: usize, woken: bool) {
    let mut acquire = pin!(lock.acquire());
    if woken {
        let mut left = polls;
        let polled = std::future::poll_fn(|context| {
            left = left.saturating_sub(1);
            let polled = acquire.as_mut().poll(context).is_ready();
            if polled || left == 0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        });
        // The acquire is not woken while it waits for others.
        let _ = tokio::time::timeout(Duration::from_millis(20), polled).await;
    } else {
        for _ in 0..polls {
            let _ = acquire.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_dropped_at_any_point_leaves_no_node() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        for contended in [false, true] {
            let guard = if contended { Some(held(&first).await) } else { None };
            for polls in 0..4 {
                for woken in [false, true] {
                    dropped_after(&second, polls, woken).await;
                }
            }
            // Also in the middle of its requests, after increasing times.
            for micros in [0, 100, 200, 400, 800, 1600, 3200, 6400] {
                let _ = tokio::time::timeout(Duration::from_micros(micros), second.acquire()).await;
            }
            fixture.until_nodes(usize::from(contended)).await;
            drop(guard);
            fixture.until_nodes(0).await;
        }
        held(&second).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_guard_deletes_its_node_and_the_next_one_holds() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        let waiting = wait_for(&second);
        drop(guard);
        drop(got(waiting).await);
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_release_continues() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let guard = held(&fixture.lock(algorithm).await).await;
        {
            let mut release = pin!(guard.release());
            let _ = release.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_session_ends_with_its_last_lock_and_guard_and_not_before() {
    let fixture = LockFixture::new().await;
    let observer = fixture.client().await;
    for algorithm in ALONE {
        let client = fixture.client().await;
        let session = client.session_id().0;
        let guard = held(&super::fixture::lock(&client, algorithm)).await;
        drop(client);
        let (_, stat) = observer.get_data(guard.path().as_str()).await.expect("it is held");
        assert_eq!(stat.ephemeral_owner, session);
        let path = guard.path().clone();
        drop(guard);
        eventually("the end of the node", async || match observer.check_stat(path.as_str()).await {
            Ok(None) => Ok(()),
            seen => Err(seen),
        })
        .await;
    }
}
