//! Requests that reach a server when their session has moved to another one.

use std::time::Duration;

use lockscope::lock::{Algorithm, Lock};

use super::fault_fixture::within;
use super::fixture::held;
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::wait::eventually;
use crate::harness::zk;

/// After a look at the node: the deletion reaches its server only when the relay resumes, and its reply is lost.
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
        let next = held(&next).await;
        within("the release", released).await.expect("no panic").expect("it was held");
        let sent = left.bytes().0;
        left.resume();
        eventually("the late deletion", async || match (left.bytes().0 - sent, left.live()) {
            (1.., 0) => Ok(()),
            other => Err(other),
        })
        .await;
        // A server that carried it out would have told the holder before it answers this.
        other.sync("/").await.expect("an answer");
        let own = other.check_stat(&path).await.expect("an answer").expect("the next holder's node");
        assert_eq!(own.czxid, next.token().0);
        next.release().await.expect("it was held all the while");
    }
}
