//! Losing the lock or the place in the queue, and being notified.

use std::time::Duration;

use lockscope_lock::{Algorithm, Lock, LockError, Loss};

use super::fixture::{ALONE, LockFixture, QUEUES, Relayed, delete, ended, got, held, lock, wait_for};
use crate::harness::server::Server;
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_learns_that_another_client_deleted_its_node() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let guard = held(&fixture.lock(algorithm).await).await;
        let stranger = fixture.client().await;
        let path = guard.path().to_string();
        let deletion = delete(&stranger, &path);
        let (lost, ()) = tokio::join!(tokio::time::timeout(PATIENCE, guard.lost()), deletion);
        assert_eq!(lost, Ok(Loss::Deleted), "{algorithm:?}");
        assert_eq!(guard.is_lost(), Some(Loss::Deleted));
        assert!(matches!(guard.release().await, Err(LockError::NodeDeleted { .. })), "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_is_known_at_once_to_a_later_query_and_to_a_release() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let stranger = fixture.client().await;
        let guard = held(&first).await;
        delete(&stranger, guard.path().as_str()).await;
        assert_eq!(tokio::time::timeout(PATIENCE, guard.lost()).await, Ok(Loss::Deleted), "{algorithm:?}");
        let guard = held(&second).await;
        delete(&stranger, guard.path().as_str()).await;
        assert!(matches!(guard.release().await, Err(LockError::NodeDeleted { .. })), "{algorithm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_after_the_node_was_deleted_spares_the_next_holders_node() {
    for algorithm in [Algorithm::Mutex, Algorithm::MutexParent] {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        delete(&fixture.client().await, guard.path().as_str()).await;
        let next = held(&second).await;
        assert_eq!(next.path(), guard.path());
        tokio::time::timeout(PATIENCE, guard.lost()).await.expect("it learns of it");
        assert!(matches!(guard.release().await, Err(LockError::NodeDeleted { .. })));
        next.release().await.expect("it is still held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_node_is_deleted_learns_of_it_while_the_holder_holds() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let locks: [Lock; 3] = fixture.locks(algorithm).await;
        let guard = held(&locks[0]).await;
        let mut waiting = fixture.queue_up(&locks[1..], 1).await;
        let nodes = fixture.until_nodes(3).await;
        delete(&fixture.client().await, &nodes[1]).await;
        match ended(waiting.remove(0)).await {
            Err(LockError::NodeDeleted { node }) => assert_eq!(node.as_str(), nodes[1]),
            other => panic!("{algorithm:?}: {other:?}"),
        }
        assert!(!waiting[0].is_finished());
        guard.release().await.expect("it was held");
        got(waiting.remove(0)).await.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_node_is_deleted_right_before_its_turn_learns_of_it_without_asking() {
    for algorithm in QUEUES {
        let fixture = LockFixture::new().await;
        let [first, second] = fixture.locks(algorithm).await;
        let guard = held(&first).await;
        let waiting = fixture.queue_up(std::slice::from_ref(&second), 1).await.remove(0);
        let nodes = fixture.until_nodes(2).await;
        delete(&fixture.client().await, &nodes[1]).await;
        guard.release().await.expect("it was held");
        match ended(waiting).await {
            Err(LockError::NodeDeleted { .. }) => {}
            Err(error) => panic!("{algorithm:?}: {error}"),
            Ok(guard) => {
                eventually("the loss", async || guard.is_lost().ok_or("nothing")).await;
                assert!(matches!(guard.release().await, Err(LockError::NodeDeleted { .. })));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expiry_is_reported_to_holder_and_waiters_and_the_next_client_holds() {
    for algorithm in ALONE {
        let server = Server::shared();
        let fixture = LockFixture::new().await;
        let relayed = Relayed::new(&fixture, Duration::from_secs(30)).await;
        let [stranger] = fixture.locks(algorithm).await;
        let own = lock(&relayed.client, algorithm);
        let guard = held(&own).await;
        let waiting = wait_for(&own);
        let strangers = wait_for(&stranger);
        relayed.end_session(server).await;
        let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
        assert_eq!(lost, Ok(Loss::Expired), "{algorithm:?}");
        assert!(matches!(ended(waiting).await, Err(LockError::SessionExpired { .. })), "{algorithm:?}");
        assert!(matches!(guard.release().await, Err(LockError::SessionExpired { .. })), "{algorithm:?}");
        assert!(matches!(own.acquire().await, Err(LockError::SessionExpired { .. })), "{algorithm:?}");
        got(strangers).await.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_holder_learns_of_it_before_another_client_can_hold() {
    let fixture = LockFixture::new().await;
    let Relayed { relay, client } = Relayed::new(&fixture, Duration::from_secs(4)).await;
    let guard = held(&lock(&client, Algorithm::Chain)).await;
    let stranger = fixture.lock(Algorithm::Chain).await;
    let waiting = wait_for(&stranger);
    fixture.until_nodes(2).await;
    relay.refuse().await;
    assert_eq!(tokio::time::timeout(PATIENCE, guard.lost()).await, Ok(Loss::Expired));
    assert!(!waiting.is_finished(), "the server gave it away before the holder knew");
    relay.heal();
    got(waiting).await.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_connection_a_try_and_a_bounded_wait_fail_and_leave_no_node() {
    let fixture = LockFixture::new().await;
    let Relayed { relay, client } = Relayed::new(&fixture, Duration::from_secs(30)).await;
    let lock = lock(&client, Algorithm::Chain);
    relay.refuse().await;
    assert!(matches!(lock.try_acquire().await, Err(LockError::ConnectionLost { .. })));
    let bounded = lock.acquire_within(Duration::from_millis(50)).await;
    assert!(matches!(bounded, Err(LockError::ConnectionLost { .. })), "{bounded:?}");
    relay.heal();
    held(&lock).await.release().await.expect("it was held");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_and_the_holder_survive_a_stop_and_restart_of_the_server() {
    let mut server = Server::start();
    for algorithm in ALONE {
        let connect = server.connect_string();
        let first = lock(&zk::connect(&connect).await, algorithm);
        let second = lock(&zk::connect(&connect).await, algorithm);
        let guard = held(&first).await;
        let waiting = wait_for(&second);
        assert!(second.try_acquire().await.expect("an answer").is_none());
        server.restart();
        guard.release().await.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"));
        got(waiting).await.release().await.expect("it was held");
    }
}
