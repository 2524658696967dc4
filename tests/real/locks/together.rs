//! Several locks as one, and reentrant locks.

use std::time::Duration;

use lockscope_lock::{Access, Algorithm, Lock, LockError, LockOptions, Loss, Multi, Parents, Reentrant};
use zookeeper_client::Client;

use super::fault_fixture::within;
use super::fixture::{LockFixture, Relayed, SHORT_WAIT, delete, held, lock};

fn chain(client: &Client, path: &str) -> Lock {
    Lock::new(client, path, Algorithm::Chain).expect("a good path")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_locks_are_acquired_together_or_not_at_all() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let all = Multi::new(["/a", "/b", "/c"].map(|path| chain(&client, path)));
    let other = held(&chain(&client, "/c")).await;
    assert!(all.try_acquire().await.expect("an answer").is_none());
    assert_eq!(fixture.nodes().await, [other.path().as_str()], "those before it are released");
    let timed_out = all.acquire_within(SHORT_WAIT).await;
    assert!(matches!(&timed_out, Err(LockError::TimedOut { within, .. }) if *within == SHORT_WAIT), "{timed_out:?}");
    assert_eq!(fixture.nodes().await, [other.path().as_str()]);
    other.release().await.expect("it was held");
    let held = all.acquire().await.expect("all are free");
    assert_eq!(held.guards().len(), 3);
    assert!(chain(&client, "/b").try_acquire().await.expect("an answer").is_none());
    held.release().await.expect("all were held");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_one_lock_rolls_all_back() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let required = LockOptions::default().parents(Parents::Required);
    let broken = Lock::with(&client, "/none/b", Algorithm::Chain, required).expect("a good path");
    let all = Multi::new([chain(&client, "/a"), broken, chain(&client, "/c")]);
    assert!(matches!(all.acquire().await, Err(LockError::NoParent { .. })));
    assert_eq!(fixture.nodes().await, [""; 0]);
}

/// The connection is gone for so long that the held lock must be presumed lost, and comes back before
/// the session ends: the wait goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_lost_while_others_are_waited_for_is_not_returned_as_held() {
    let fixture = LockFixture::new().await;
    let Relayed { relay, client } = Relayed::new(&fixture, Duration::from_secs(10)).await;
    let other = held(&chain(&fixture.client().await, "/b")).await;
    let known = held(&chain(&client, "/known")).await;
    let all = Multi::new(["/a", "/b"].map(|path| chain(&client, path)));
    let waiting = tokio::spawn(async move { all.acquire().await });
    fixture.until_nodes(4).await;
    relay.refuse().await;
    assert_eq!(within("the loss", known.expired()).await, Loss::Expired);
    relay.heal();
    fixture.until_nodes(2).await;
    other.release().await.expect("it was held");
    let ended = within("the end of the wait", waiting).await.expect("no panic");
    assert!(matches!(ended, Err(LockError::SessionExpired { .. })), "{ended:?}");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_are_released_when_the_release_of_one_fails_and_a_loss_of_one_is_reported() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let all = Multi::new(["/a", "/b", "/c"].map(|path| chain(&client, path)));
    let held = all.acquire().await.expect("all are free");
    delete(&client, held.guards()[1].path().as_str()).await;
    assert_eq!(held.lost().await.0, 1);
    assert!(matches!(held.release().await, Err(LockError::NodeDeleted { .. })));
    assert_eq!(fixture.nodes().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multi_acquire_that_is_dropped_leaves_no_node() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let other = held(&chain(&client, "/b")).await;
    let all = Multi::new(["/a", "/b"].map(|path| chain(&client, path)));
    let acquiring = tokio::spawn(async move { all.acquire().await.map(drop) });
    fixture.until_nodes(3).await;
    acquiring.abort();
    fixture.until_nodes(1).await;
    other.release().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_enters_again_without_a_request_and_the_outermost_leave_releases() {
    let fixture = LockFixture::new().await;
    let own = fixture.lock(Algorithm::Chain).await;
    let (owner, other) = (Reentrant::new(own.clone()), Reentrant::new(own.clone()));
    let outer = owner.enter().await.expect("it is free");
    let before = own.cost();
    let inner = owner.clone().enter().await.expect("the same owner");
    assert_eq!(own.cost(), before);
    assert_eq!(inner.guard().path(), outer.guard().path());
    let waiting = tokio::spawn(async move { other.enter().await });
    fixture.until_nodes(2).await;
    inner.leave().await.expect("nothing is released yet");
    assert!(own.try_acquire().await.expect("an answer").is_none());
    assert!(!waiting.is_finished(), "another owner cannot enter");
    outer.leave().await.expect("it was held");
    let entry = waiting.await.expect("no panic").expect("it is free");
    entry.leave().await.expect("it was held");
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_lock_is_not_entered_again() {
    let fixture = LockFixture::new().await;
    let owner = Reentrant::new(fixture.lock(Algorithm::Chain).await);
    let outer = owner.enter().await.expect("it is free");
    delete(&fixture.client().await, outer.guard().path().as_str()).await;
    outer.guard().lost().await;
    assert!(matches!(owner.enter().await, Err(LockError::NodeDeleted { .. })));
    assert!(outer.leave().await.is_err());
    owner.enter().await.expect("anew").leave().await.expect("it was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_inside_for_reading_is_refused_to_write_and_one_inside_for_writing_may_read() {
    let fixture = LockFixture::new().await;
    let client = fixture.client().await;
    let owner = Reentrant::new(lock(&client, Algorithm::SharedChain(Access::Write)));
    let reading = owner.enter_for(Access::Read).await.expect("it is free");
    assert!(matches!(owner.enter_for(Access::Write).await, Err(LockError::UpgradeRefused { .. })));
    reading.leave().await.expect("it was held");
    let writing = owner.enter_for(Access::Write).await.expect("it is free");
    let reading = owner.enter_for(Access::Read).await.expect("writing is more");
    writing.leave().await.expect("nothing is released yet");
    reading.leave().await.expect("it was held");
    fixture.until_nodes(0).await;
}
