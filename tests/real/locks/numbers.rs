//! The end of the sequence numbers, after more than two billion nodes.
//!
//! Nobody can create so many, so the sandbox starts near the end. It repeats the last number, as
//! servers from 3.6 on do.

use lockscope_base::znode::Sequence;
use lockscope_lock::{Algorithm, Lock, LockError, LockOptions, Naming};
use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use zookeeper_client::{Acls, Client, CreateMode};

use super::fixture::{LEASES, QUEUES, ended, got, held, lock, wait_for};
use crate::harness::wait::eventually;

/// Starts a server that gives each parent's first sequential child this number.
async fn beginning_at(first_sequence: i32) -> Sandbox {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    Sandbox::start(listener, SandboxConfig { first_sequence, ..SandboxConfig::default() }).expect("a sandbox")
}

async fn connect(sandbox: &Sandbox) -> Client {
    Client::connect(&sandbox.connect_string()).await.expect("a session")
}

async fn until_children(client: &Client, parent: &str, count: usize) {
    eventually("that many nodes", async || match client.list_children(parent).await {
        Ok(children) if children.len() == count => Ok(()),
        other => Err(other),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_that_is_not_behind_all_others_gets_no_lock() {
    let sandbox = beginning_at(i32::MAX - 1).await;
    for algorithm in QUEUES {
        let parent = format!("/{}", algorithm.name());
        let clients = [connect(&sandbox).await, connect(&sandbox).await];
        let guard = held(&lock(&clients[0], algorithm)).await;
        assert_eq!(guard.sequence(), Some(Sequence(i32::MAX - 1)), "{algorithm:?}: the last that is in order");
        // Names are random where the numbers are equal: about half of them would sort before the
        // holder's.
        for _ in 0..4 {
            let refused = ended(wait_for(&lock(&clients[1], algorithm))).await;
            assert!(
                matches!(&refused, Err(LockError::NumbersUsedUp { parent: at }) if at.as_str() == parent),
                "{refused:?}"
            );
        }
        until_children(&clients[1], &parent, 1).await;
        assert_eq!(guard.is_lost(), None, "{algorithm:?}");
        guard.release().await.expect("it was held");
    }
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_to_the_last_number_a_queue_is_in_order() {
    let sandbox = beginning_at(i32::MAX - 3).await;
    for algorithm in QUEUES {
        let parent = format!("/{}", algorithm.name());
        let clients = [connect(&sandbox).await, connect(&sandbox).await, connect(&sandbox).await];
        let first = held(&lock(&clients[0], algorithm)).await;
        let second = wait_for(&lock(&clients[1], algorithm));
        until_children(&clients[0], &parent, 2).await;
        let third = wait_for(&lock(&clients[2], algorithm));
        until_children(&clients[0], &parent, 3).await;
        assert!(!second.is_finished() && !third.is_finished(), "{algorithm:?}");
        first.release().await.expect("it was held");
        let second = got(second).await;
        assert!(!third.is_finished(), "{algorithm:?}");
        second.release().await.expect("it was held");
        got(third).await.release().await.expect("it was held");
    }
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn negative_numbers_existing_names_and_leases_are_refused_too() {
    // As servers up to 3.5 continue after the last number.
    let sandbox = beginning_at(i32::MIN).await;
    let client = connect(&sandbox).await;
    let is_refused = |ended: &Result<_, LockError>| matches!(ended, Err(LockError::NumbersUsedUp { .. }));
    for algorithm in QUEUES.into_iter().chain([Algorithm::Semaphore(LEASES)]) {
        let refused = ended(wait_for(&lock(&client, algorithm))).await.map(drop);
        assert!(is_refused(&refused), "{algorithm:?}: {refused:?}");
    }
    sandbox.stop().await;
    let sandbox = beginning_at(i32::MAX).await;
    let client = connect(&sandbox).await;
    let stranger = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/named", &[], &stranger).await.expect("the parent");
    client.create("/named/red_lock_2147483647", &[], &stranger).await.expect("the last name");
    let options = LockOptions::default().naming(Naming::Named("red".to_owned()));
    let named = Lock::with(&client, "/named", Algorithm::Chain, options).expect("a good path");
    let refused = ended(wait_for(&named)).await.map(drop);
    assert!(is_refused(&refused), "{refused:?}");
    sandbox.stop().await;
}
