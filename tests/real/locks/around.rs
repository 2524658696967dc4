//! What happens around a hold: work that ends with it, a connection that is gone for a while, and
//! requests to release.

use std::future::pending;
use std::time::Duration;

use lockscope_lock::{Access, Algorithm, Lock, LockError, Loss, Multi, Reentrant};
use tokio::time::{Instant, timeout};

use super::fault_fixture::within;
use super::fixture::{LockFixture, Relayed, SHORT_WAIT, delete, held, lock};
use super::wire::{Counted, path};
use crate::harness::foreign::Foreign;
use crate::harness::relay::op;
use crate::harness::server::Server;
use crate::harness::wait::{PATIENCE, eventually};
use crate::headless::program::{lockscope, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_ends_with_its_output_or_with_the_loss_of_the_lock() {
    let fixture = LockFixture::new().await;
    let guard = held(&fixture.lock(Algorithm::Chain).await).await;
    assert_eq!(guard.run(async { 7 }).await, Ok(7));
    let (working, mut dropped) = tokio::sync::oneshot::channel::<()>();
    let work = async move {
        let _working = working;
        pending::<()>().await;
    };
    let path = guard.path().to_string();
    let stranger = fixture.client().await;
    let (ended, ()) = tokio::join!(within("the work", guard.run(work)), delete(&stranger, &path));
    assert_eq!(ended, Err(Loss::Deleted));
    assert!(dropped.try_recv().is_err_and(|error| error == tokio::sync::oneshot::error::TryRecvError::Closed));
    // What begins after the loss does nothing.
    assert_eq!(guard.run(async { panic!("it is polled") }).await, Err::<(), _>(Loss::Deleted));
    assert!(matches!(guard.release().await, Err(LockError::NodeDeleted { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_told_with_the_time_that_is_left_and_so_is_its_return() {
    let fixture = LockFixture::new().await;
    let session = Duration::from_secs(20);
    let Relayed { relay, client } = Relayed::new(&fixture, session).await;
    let guard = held(&lock(&client, Algorithm::Chain)).await;
    assert_eq!((guard.presumed_lost_at(), guard.resumed().await), (None, Ok(())));
    relay.refuse().await;
    let until = within("the suspension", guard.suspended()).await.expect("it is not lost");
    let left = until - Instant::now();
    assert!(left <= session * 3 / 10 && left >= session / 10, "{left:?}");
    assert_eq!((guard.presumed_lost_at(), guard.is_lost()), (Some(until), None));
    relay.heal();
    assert_eq!(within("the return", guard.resumed()).await, Ok(()));
    assert_eq!((guard.presumed_lost_at(), guard.is_lost()), (None, None));
    relay.refuse().await;
    let until = within("the suspension", guard.suspended()).await.expect("it is not lost");
    assert_eq!(within("the loss", guard.resumed()).await, Err(Loss::Expired));
    assert!(Instant::now() >= until, "it is lost when it was told");
    assert_eq!(guard.suspended().await, Err(Loss::Expired));
    relay.heal();
}

/// Lets a holder listen, asks it with `ask`, and expects that it hears that and holds.
async fn hears(ask: impl AsyncFn(&str)) {
    let (counted, path) = (Counted::new().await, path().await);
    let guard = held(&Lock::new(&counted.client, &path, Algorithm::Chain).expect("a good path")).await;
    counted.relay.record();
    assert!(timeout(SHORT_WAIT, guard.revoked()).await.is_err(), "nobody has asked");
    assert_eq!(counted.requests(), [op::GET_DATA]);
    ask(guard.path().as_str()).await;
    assert_eq!(within("the request", guard.revoked()).await, Ok(()));
    assert_eq!(guard.is_lost(), None);
    eventually("one watch again", async || match (counted.requests(), counted.events()) {
        (requests, 1) if requests == [op::GET_DATA, op::GET_DATA] => Ok(()),
        seen => Err(seen),
    })
    .await;
    guard.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_hears_the_revoker_of_curator_and_the_command_and_holds() {
    let connect = Server::shared().connect_string();
    hears(async |node| {
        let mut curator = Foreign::java(&connect);
        curator.connect("one").await;
        curator.start("one", "revoker", "revoker", node).await;
        curator.held("revoker").await;
    })
    .await;
    hears(async |node| {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let log = log.to_str().expect("text");
        let arguments = ["delete", node, "--revoke", "--yes", "--connect", &connect, "--audit-log", log];
        assert_eq!(run(lockscope(&arguments)).await.json()["outcome"]["result"], "asked");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_from_before_is_heard_and_other_data_are_none() {
    let fixture = LockFixture::new().await;
    let (other, guard) = (fixture.client().await, held(&fixture.lock(Algorithm::Mutex).await).await);
    for data in ["", "__REVOKE__ ", "revoke"] {
        other.set_data(guard.path().as_str(), data.as_bytes(), None).await.expect("its node");
        assert!(timeout(SHORT_WAIT, guard.revoked()).await.is_err(), "{data}");
    }
    other.set_data(guard.path().as_str(), b"__REVOKE__", None).await.expect("its node");
    assert_eq!(within("the request", guard.revoked()).await, Ok(()));
    delete(&other, guard.path().as_str()).await;
    assert_eq!(within("the loss", guard.lost()).await, Loss::Deleted);
    assert_eq!(guard.revoked().await, Err(Loss::Deleted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_acquired_by_a_deadline_of_either_clock() {
    let fixture = LockFixture::new().await;
    let [one, other] = fixture.locks(Algorithm::Chain).await;
    let guard = one.acquire_by(std::time::Instant::now() + PATIENCE).await.expect("it is free");
    let begun = Instant::now();
    let late = other.acquire_by(begun + SHORT_WAIT).await;
    assert!(matches!(&late, Err(LockError::TimedOut { within, .. }) if *within <= SHORT_WAIT), "{late:?}");
    assert!(begun.elapsed() >= SHORT_WAIT);
    let both = Multi::new([fixture.lock(Algorithm::Herd).await, other.clone()]);
    let late = both.acquire_by(Instant::now() + SHORT_WAIT).await;
    assert!(matches!(late, Err(LockError::TimedOut { .. })), "{late:?}");
    assert_eq!(fixture.nodes().await, [guard.path().as_str()]);
    guard.release().await.expect("it was held");
    let held = both.acquire_by(Instant::now() + PATIENCE).await.expect("both are free");
    assert_eq!(held.is_lost(), None);
    delete(&fixture.client().await, held.guards()[1].path().as_str()).await;
    assert_eq!(within("the loss", held.lost()).await, (1, Loss::Deleted));
    assert_eq!((held.is_lost(), held.expired().await), (Some((1, Loss::Deleted)), (1, Loss::Deleted)));
    held.release().await.expect_err("one is lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_enters_if_it_is_free_or_within_a_time() {
    let fixture = LockFixture::new().await;
    let [one, other] = fixture.locks(Algorithm::SharedChain(Access::Write)).await;
    let (owner, rival) = (Reentrant::new(one), Reentrant::new(other));
    let outer = owner.try_enter().await.expect("an answer").expect("it is free");
    let cost = outer.guard().cost();
    let inner = owner.try_enter().await.expect("an answer").expect("the owner is inside");
    let third = owner.enter_within(Duration::ZERO).await.expect("the owner is inside");
    let fourth = owner.enter_by(Instant::now()).await.expect("the owner is inside");
    assert_eq!(outer.guard().cost(), cost, "no request");
    assert!(rival.try_enter().await.expect("an answer").is_none());
    let late = rival.enter_within(SHORT_WAIT).await.map(drop);
    assert!(matches!(&late, Err(LockError::TimedOut { within, .. }) if *within == SHORT_WAIT), "{late:?}");
    // Another task of the rival waits: it is the one that enters.
    let waiting = tokio::spawn({
        let rival = rival.clone();
        async move { rival.enter().await }
    });
    fixture.until_nodes(2).await;
    assert!(rival.try_enter().await.expect("an answer").is_none());
    let late = rival.enter_by(Instant::now() + SHORT_WAIT).await.map(drop);
    assert!(matches!(late, Err(LockError::TimedOut { .. })), "{late:?}");
    for guard in [inner, third, fourth, outer] {
        guard.leave().await.expect("it was held");
    }
    within("the rival", waiting).await.expect("no panic").expect("it is free").leave().await.expect("it was held");
    fixture.until_nodes(0).await;
}
