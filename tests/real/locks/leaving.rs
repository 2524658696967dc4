//! Leaving with and without the lock: no node stays behind.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use lockscope_lock::{Algorithm, Lock, LockError, cleaned_up};

use tokio::time::{Instant, timeout};

use super::fault_fixture::within;
use super::fixture::{ALONE, LockFixture, QUEUES, Relayed, SHORT_WAIT, got, held, lock, wait_for};
use crate::harness::relay::{Fault, Place, Then};
use crate::harness::wait::eventually;
use crate::harness::zk;

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

/// Drops guards and waiters in a runtime that is shut down afterwards, as at the end of a program.
fn drop_and_shut_down(connect: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = zk::connect(connect).await;
        let kept = held(&Lock::new(&client, "/kept", Algorithm::Chain).expect("a good path")).await;
        for algorithm in ALONE {
            let guard = held(&lock(&client, algorithm)).await;
            assert!(timeout(SHORT_WAIT, lock(&client, algorithm).acquire()).await.is_err(), "{algorithm:?}");
            drop(guard);
        }
        within("the cleaning up", cleaned_up(&client)).await;
        assert_eq!(kept.is_lost(), None);
        // The session outlives the runtime, so that its end deletes nothing.
        std::mem::forget((kept, client));
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_a_held_node_outlives_a_runtime_that_waited_until_all_was_cleaned_up() {
    let fixture = LockFixture::new().await;
    let connect = fixture.connect.clone();
    std::thread::spawn(move || drop_and_shut_down(&connect)).join().expect("no panic");
    let nodes = fixture.nodes().await;
    assert!(matches!(&nodes[..], [kept] if kept.starts_with("/kept/")), "{nodes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleaning_up_waits_for_the_connection() {
    let fixture = LockFixture::new().await;
    for algorithm in ALONE {
        let relayed = Relayed::new(&fixture, Duration::from_secs(20)).await;
        let guard = held(&lock(&relayed.client, algorithm)).await;
        relayed.relay.pause();
        drop(guard);
        assert!(timeout(SHORT_WAIT, cleaned_up(&relayed.client)).await.is_err(), "{algorithm:?}");
        relayed.relay.resume();
        within("the cleaning up", cleaned_up(&relayed.client)).await;
        assert_eq!(fixture.nodes().await, [""; 0], "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleaning_up_takes_two_timeouts_only_if_a_late_node_may_come() {
    const TIMEOUT: Duration = Duration::from_secs(4);
    let fixture = LockFixture::new().await;
    fixture.make_parents(Algorithm::Chain).await;
    let relayed = Relayed::new(&fixture, TIMEOUT).await;
    let lock = lock(&relayed.client, Algorithm::Chain);
    let cleaned_up_after = async || {
        drop(held(&lock).await);
        let dropped = Instant::now();
        within("the cleaning up", cleaned_up(&relayed.client)).await;
        dropped.elapsed()
    };
    let at_once = cleaned_up_after().await;
    assert!(at_once < TIMEOUT / 2, "{at_once:?}");
    relayed.relay.arm(&[Fault { place: Place::BeforeRequest(1), then: Then::Cut }]);
    let late = cleaned_up_after().await;
    assert!(relayed.relay.disarm());
    assert!((TIMEOUT * 3 / 2..TIMEOUT * 5 / 2).contains(&late), "{late:?}");
}
