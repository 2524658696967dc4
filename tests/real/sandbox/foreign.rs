//! Unchanged libraries of other languages on the sandbox: kazoo, Curator, `WriteLock`, and this
//! crate's own locks.

use std::time::Duration;

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;

use crate::foreign_clients::{JAVA_RECIPES, KAZOO_RECIPES, hand_overs, queued};
use crate::harness::foreign::Foreign;
use crate::harness::zk;
use crate::locks::fixture::{ALONE, got, lock, wait_for};

async fn sandbox() -> Sandbox {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    Sandbox::start(listener, SandboxConfig::default()).expect("a sandbox")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recipes_of_java_hand_over() {
    let sandbox = sandbox().await;
    let at = sandbox.connect_string();
    hand_overs(Foreign::java(&at), &at, &JAVA_RECIPES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recipes_of_kazoo_hand_over() {
    let sandbox = sandbox().await;
    let at = sandbox.connect_string();
    hand_overs(Foreign::kazoo(&at), &at, &KAZOO_RECIPES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_hold_together_and_a_downgrade_reads_behind_its_own_write() {
    let sandbox = sandbox().await;
    let at = sandbox.connect_string();
    for (mut foreign, path) in [(Foreign::java(&at), "/java"), (Foreign::kazoo(&at), "/kazoo")] {
        for (client, id) in [("a", "first"), ("b", "second")] {
            foreign.connect(client).await;
            foreign.start(client, id, "read", path).await;
            foreign.held(id).await;
        }
        assert!(foreign.holds("first").await && foreign.holds("second").await);
    }
    let mut java = Foreign::java(&at);
    java.connect("a").await;
    java.start("a", "both", "downgrade", "/down").await;
    java.held("both").await;
    assert_eq!(java.order("both").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_client_holds_until_its_session_expires() {
    let sandbox = sandbox().await;
    let client = zk::connect(&sandbox.connect_string()).await;
    let mut foreign = Foreign::kazoo(&sandbox.connect_string());
    foreign.connect_within("a", Duration::from_secs(2)).await;
    foreign.start("a", "holder", "lock", "/lock").await;
    foreign.held("holder").await;
    drop(foreign);
    queued(&client, "/lock", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn churn_in_all_libraries_at_once_counts_its_acquisitions() {
    let sandbox = sandbox().await;
    let at = sandbox.connect_string();
    let (mut java, mut kazoo) = (Foreign::java(&at), Foreign::kazoo(&at));
    java.churn("mutexes", "mutex", "/mutex", 4, 25).await;
    java.churn("write-locks", "write-lock", "/write-lock", 4, 25).await;
    kazoo.churn("locks", "lock", "/lock", 4, 25).await;
    for (foreign, id) in [(&mut java, "mutexes"), (&mut kazoo, "locks")] {
        assert_eq!(foreign.churned(id).await, 100);
    }
    assert_eq!(java.churned("write-locks").await, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_built_in_algorithm_hands_over() {
    let sandbox = sandbox().await;
    for algorithm in ALONE {
        let sessions = [zk::connect(&sandbox.connect_string()).await, zk::connect(&sandbox.connect_string()).await];
        let [one, other] = sessions.each_ref().map(|client| lock(client, algorithm));
        let held = got(wait_for(&one)).await;
        let waiting = wait_for(&other);
        assert!(!waiting.is_finished(), "{algorithm:?}");
        held.release().await.expect("a sound connection");
        got(waiting).await.release().await.expect("a sound connection");
    }
}
