//! Servers that cannot create a node and return its stat, as those before 3.5.

use std::time::Duration;

use lockscope_lock::{Lock, LockError};
use zookeeper_client::Client;

use super::fixture::{ALONE, LockFixture, Relayed, ended, lock, wait_for};
use crate::harness::relay::op;
use crate::harness::wait::eventually;

async fn is_refused(lock: &Lock) {
    let refused = ended(wait_for(lock)).await.expect_err("the server is too old");
    assert!(matches!(&refused, LockError::ServerTooOld { path } if path == lock.path()), "{refused}");
    assert!(refused.to_string().contains("older than ZooKeeper 3.5"), "{refused}");
    // A try does not wait for a connection, which the server has just closed.
    eventually("the same from a try", async || match lock.try_acquire().await {
        Err(LockError::ServerTooOld { .. }) => Ok(()),
        other => Err(other.map(|guard| guard.is_some())),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_says_that_a_server_is_too_old_to_create_its_nodes() {
    let fixture = LockFixture::new().await;
    // As 3.4.6 does, the server answers so and then closes the connection.
    let relayed = Relayed::new(&fixture, Duration::from_secs(20)).await;
    relayed.relay.rewrite_op(op::CREATE_WITH_STAT, op::UNKNOWN);
    relayed.relay.rewrite_op(op::CREATE_CONTAINER, op::UNKNOWN);
    for algorithm in ALONE {
        // Below a missing parent and below one that exists.
        is_refused(&lock(&relayed.client, algorithm)).await;
        fixture.make_parents(algorithm).await;
        is_refused(&lock(&relayed.client, algorithm)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_as_for_3_4_gets_no_lock_and_leaves_no_node() {
    let fixture = LockFixture::new().await;
    let client = Client::connector().with_server_version(3, 4, 6).connect(&fixture.connect).await.expect("a session");
    for algorithm in ALONE {
        is_refused(&lock(&client, algorithm)).await;
        fixture.make_parents(algorithm).await;
        is_refused(&lock(&client, algorithm)).await;
        assert_eq!(fixture.nodes().await, [""; 0], "{algorithm:?}");
    }
}
