//! A holder on an ensemble of three members loses the lock with its session, and may not know.

use std::time::Duration;

use lockscope_model::diagnose::{Code, Severity, Thresholds};
use zookeeper_client::Client;

use super::fixture::ConsoleFixture;
use super::forgotten::{curator, enqueue};
use crate::harness::ensemble::Ensemble;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_session_expires_on_three_members_is_named_right_after_the_hand_over() {
    // The usual tick.
    let ensemble = Ensemble::with(&["tickTime=2000", "minSessionTimeout=4000"]);
    let mut console = ConsoleFixture::start(&ensemble.connect_string(), Thresholds::default()).await;
    let detached = Client::connector().with_session_timeout(Duration::from_secs(6)).with_detached();
    let holder = detached.connect(&ensemble.address(ensemble.follower())).await.expect("a session");
    zk::make(&holder, ["/lock".to_owned()]).await;
    enqueue(&holder, &curator("/lock", 1)).await;
    let waiter = zk::connect(&ensemble.connect_string()).await;
    enqueue(&waiter, &curator("/lock", 2)).await;
    console.until_contenders(2).await;
    console.looks_on(&[0]).await;
    drop(holder);
    console.until_contenders(1).await;
    let found = console.finds_within(&[0, 1], Code::HeadChangedByExpiry, Severity::Info).await;
    assert!(found.summary.contains("lost the lock when its session expired"), "{}", found.summary);
}
