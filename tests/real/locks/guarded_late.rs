//! Guarded writes that reach the servers after others hold the lock: none is carried out.

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use lockscope_lock::{Algorithm, Guard, Lock, LockError, Naming, WriteError};
use zookeeper_client::{Client, CreateMode};

use super::fault_fixture::within;
use super::fixture::{delete, held};
use super::guarded::{data, fenced};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk::{self, open};

/// Why the holder has lost the lock when its write arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LostBy {
    /// Somebody has deleted its node. Its session lives, so nothing but the check refuses the write.
    Deletion,
    /// Its session has expired, of which it does not know.
    Expiry,
}

/// The rounds under way at a time.
const AT_ONCE: usize = 25;

/// Long enough that no session expires by a busy machine, and short enough to wait for.
const SHORT_SESSION: Duration = Duration::from_secs(4);

fn locks(number: usize, client: &Client, path: &str) -> Lock {
    let named = || Naming::Named("red".to_owned());
    match number % 6 {
        0 => fenced(client, path, Algorithm::Mutex, Naming::Curator),
        1 => fenced(client, path, Algorithm::MutexParent, Naming::Curator),
        2 => fenced(client, path, Algorithm::Chain, named()),
        3 => fenced(client, path, Algorithm::ChainAhead, Naming::Kazoo),
        4 => Lock::new(client, path, Algorithm::Herd).expect("a good path"),
        _ => Lock::new(client, path, Algorithm::ChainAhead).expect("a good path"),
    }
}

/// Holds a lock, stages the loss while a guarded write is held up on its way, and lets the write
/// arrive when the next holder has written.
async fn stage(server: &Server, other: &Client, root: &str, number: usize, lost_by: LostBy) {
    let (path, target) = (format!("{root}/lock-{number}"), format!("{root}/target-{number}"));
    other.create(&target, b"", &open(CreateMode::Persistent)).await.expect("a node");
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect_within(&relay.connect_string(), SHORT_SESSION).await;
    let guard = held(&locks(number, &client, &path)).await;
    // The first guarded write of a hold with a fence begins with a reading.
    let (begins, is_fenced) = ((number / 6).is_multiple_of(2), number % 6 < 4);
    if begins {
        guard.set_data(&target, b"first", None).await.expect("it holds");
    }
    let place = Place::BeforeRequest(if is_fenced && !begins { 2 } else { 1 });
    relay.arm(&[Fault { place, then: Then::Stall }]);
    let node = guard.path().as_str().to_owned();
    let writing = {
        let target = target.clone();
        tokio::spawn(async move { (guard.set_data(&target, b"late", None).await.map(drop), guard) })
    };
    eventually("the hold-up", async || if relay.stalled() { Ok(()) } else { Err(()) }).await;
    if lost_by == LostBy::Deletion {
        delete(other, &node).await;
    }
    let next = held(&locks(number, other, &path)).await;
    next.set_data(&target, b"next", None).await.expect("it holds");
    let version = other.check_stat(&target).await.expect("an answer").expect("a node").version;
    relay.resume();
    let (written, guard): (_, Guard) = within("the late write", writing).await.expect("no panic");
    let what = format!("{number} {lost_by:?}: {written:?}");
    let is_refused = match written {
        Err(WriteError::Lost(LockError::NodeDeleted { .. }) | WriteError::Fenced { .. }) => true,
        Err(WriteError::Lost(LockError::SessionExpired { .. }) | WriteError::Unknown { .. }) => {
            lost_by == LostBy::Expiry
        }
        _ => false,
    };
    assert!(is_refused, "{what}");
    other.sync("/").await.expect("an answer");
    let stat = other.check_stat(&target).await.expect("an answer").expect("a node");
    assert_eq!((data(other, &target).await.as_str(), stat.version), ("next", version), "{what}");
    drop(guard);
    next.release().await.expect("it was held all the while");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guarded_write_that_arrives_after_its_session_has_moved_is_not_carried_out() {
    let ensemble = Ensemble::start();
    for (number, first) in [(5, ensemble.follower()), (5, ensemble.leader()), (0, ensemble.follower())] {
        let second = (first + 1) % MEMBERS;
        let (left, right) =
            (Relay::start(&ensemble.address(first)).await, Relay::start(&ensemble.address(second)).await);
        right.refuse().await;
        let servers = format!("{},{}", left.connect_string(), right.connect_string());
        let client = zk::connect_within(&servers, SHORT_SESSION).await;
        right.heal();
        let other = zk::connect(&ensemble.address(second)).await;
        let (path, target) = (format!("/lock-{number}-{first}"), format!("/target-{number}-{first}"));
        other.create(&target, b"", &open(CreateMode::Persistent)).await.expect("a node");
        let guard = held(&locks(number, &client, &path)).await;
        guard.set_data(&target, b"first", None).await.expect("it holds");
        left.arm(&[Fault { place: Place::BeforeRequest(1), then: Then::Stall }]);
        let written = within("the lost reply", guard.set_data(&target, b"late", None)).await.map(drop);
        assert!(matches!(written, Err(WriteError::Unknown { .. })), "{written:?}");
        // A held-up connection attempt would move the session back when it arrives.
        left.refuse_new();
        within("the release", guard.release()).await.expect("it was held");
        let next = held(&locks(number, &other, &path)).await;
        next.set_data(&target, b"next", None).await.expect("it holds");
        let sent = left.bytes().0;
        left.resume();
        eventually("the late write", async || match (left.bytes().0 - sent, left.live()) {
            (1.., 0) => Ok(()),
            other => Err(other),
        })
        .await;
        other.sync("/").await.expect("an answer");
        assert_eq!(data(&other, &target).await, "next");
        next.release().await.expect("it was held all the while");
    }
}

async fn stage_all(rounds: usize) {
    let server = Server::start();
    let other = zk::connect(&server.connect_string()).await;
    let stages = (0..rounds).map(|number| {
        let lost_by = if (number / 12).is_multiple_of(2) { LostBy::Deletion } else { LostBy::Expiry };
        stage(&server, &other, "", number, lost_by)
    });
    let done = stream::iter(stages).buffer_unordered(AT_ONCE).count().await;
    println!("{done} guarded writes arrived late, and none was carried out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guarded_write_that_arrives_late_is_not_carried_out() {
    stage_all(24).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn none_of_a_thousand_guarded_writes_that_arrive_late_is_carried_out() {
    stage_all(1_000).await;
}
