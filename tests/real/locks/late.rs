//! Requests that reach a server late, after their client has given up the connection.

use std::num::NonZeroU32;
use std::time::Duration;

use lockscope_lock::{Algorithm, Lock, LockOptions, Naming};
use zookeeper_client::CreateMode;

use super::fault_fixture::within;
use super::fixture::{delete, got, held, wait_for};
use super::wire::{Counted, path};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk::{self, open};

/// After a check of the node, the deletion reaches the server only when the relay resumes, and its
/// reply is lost.
const HELD_UP: [Fault; 1] = [Fault { place: Place::AfterRequest(2), then: Then::StallAndLose }];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_arrives_after_its_session_has_moved_spares_the_next_holders_node() {
    let ensemble = Ensemble::start();
    for first in [ensemble.follower(), ensemble.leader()] {
        let second = (first + 1) % MEMBERS;
        let (left, right) =
            (Relay::start(&ensemble.address(first)).await, Relay::start(&ensemble.address(second)).await);
        right.refuse().await;
        let servers = format!("{},{}", left.connect_string(), right.connect_string());
        let client = zk::connect_within(&servers, Duration::from_secs(4)).await;
        right.heal();
        let other = zk::connect(&ensemble.address(second)).await;
        let path = format!("/mutex-{first}");
        let [lock, next] =
            [&client, &other].map(|client| Lock::new(client, &path, Algorithm::Mutex).expect("a good path"));
        let guard = held(&lock).await;
        left.arm(&HELD_UP);
        let released = tokio::spawn(guard.release());
        eventually("the hold-up", async || if left.stalled() { Ok(()) } else { Err(()) }).await;
        // A held-up connection attempt would move the session back when it arrives.
        left.refuse_new();
        let next = held(&next).await;
        within("the release", released).await.expect("no panic").expect("it was held");
        let sent = left.bytes().0;
        left.resume();
        eventually("the late deletion", async || match (left.bytes().0 - sent, left.live()) {
            (1.., 0) => Ok(()),
            other => Err(other),
        })
        .await;
        // If a server had executed it, the holder would have been notified before this reply.
        other.sync("/").await.expect("an answer");
        let own = other.check_stat(&path).await.expect("an answer").expect("the next holder's node");
        assert_eq!(own.czxid, next.token().0);
        next.release().await.expect("it was held all the while");
    }
}

/// The first create never reaches the server while its client waits for the reply.
const LOST_CREATE: [Fault; 1] = [Fault { place: Place::BeforeRequest(1), then: Then::Cut }];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_behind_its_own_late_node_deletes_it_and_gets_its_turn() {
    for (algorithm, naming, prefix) in [
        (Algorithm::Herd, Naming::Curator, "lock-"),
        (Algorithm::Chain, Naming::Curator, "lock-"),
        (Algorithm::ChainAhead, Naming::Named("red".to_owned()), "red_lock_"),
        (Algorithm::Herd, Naming::Named("red".to_owned()), "red_lock_"),
        (Algorithm::Chain, Naming::Session, "lock-0x1-"),
    ] {
        let (counted, path) = (Counted::new().await, path().await);
        let other = zk::connect(&Server::shared().connect_string()).await;
        let join = async || {
            let options = open(CreateMode::EphemeralSequential);
            let (_, number) = other.create(&format!("{path}/{prefix}"), b"", &options).await.expect("a node");
            format!("{path}/{prefix}{number}")
        };
        let head = join().await;
        let (before, left) = (join().await, join().await);
        delete(&other, &left).await;
        let options = LockOptions::default().naming(naming.clone());
        let lock = Lock::with(&counted.client, &path, algorithm, options).expect("a good path");
        counted.relay.record();
        counted.relay.arm(&LOST_CREATE);
        let waiting = wait_for(&lock);
        eventually("its watch", async || match counted.relay.recorded() {
            log if log.iter().any(|passed| passed.is_watch_set()) => Ok(()),
            log => Err(log),
        })
        .await;
        assert!(counted.relay.disarm(), "{algorithm:?}");
        let owner = counted.client.session_id().0;
        let nodes = zk::tree(&other, &path).await.into_iter();
        let own: Vec<String> = nodes.filter(|node| node.stat.ephemeral_owner == owner).map(|node| node.path).collect();
        let (data, _) = counted.client.get_data(&own[0]).await.expect("its node");
        // As if the server received the first create before the second one.
        let late = own[0][..own[0].len() - 10].to_owned() + &left[left.len() - 10..];
        counted.client.create(&late, &data, &open(CreateMode::Ephemeral)).await.expect("a node");
        delete(&other, &before).await;
        delete(&other, &head).await;
        let guard = got(waiting).await;
        assert_eq!((guard.path().as_str(), guard.is_lost()), (own[0].as_str(), None), "{algorithm:?} {naming:?}");
        guard.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_node_in_the_queue_of_a_semaphore_blocks_nobody_while_its_owner_holds_a_lease() {
    let (counted, path) = (Counted::new().await, path().await);
    let other = zk::connect(&Server::shared().connect_string()).await;
    let two = Algorithm::Semaphore(NonZeroU32::new(2).expect("it is two"));
    let [lock, next] = [&counted.client, &other].map(|client| Lock::new(client, &path, two).expect("a good path"));
    // The parents of its nodes exist.
    held(&next).await.release().await.expect("it was held");
    counted.relay.arm(&LOST_CREATE);
    let guard = held(&lock).await;
    assert!(counted.relay.disarm());
    let id = guard.path().name().split("-lease-").next().expect("a name").to_owned();
    let late = format!("{path}/locks/{id}-lock-");
    counted.client.create(&late, b"", &open(CreateMode::EphemeralSequential)).await.expect("a node");
    let second = held(&next).await;
    assert_eq!(guard.is_lost(), None);
    second.release().await.expect("it was held");
    guard.release().await.expect("it was held");
}
