//! The actions of a client while faults strike its connection, and the conditions that must hold
//! afterwards.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use lockscope_lock::{Algorithm, LockError, Loss};
use tokio::task::JoinHandle;
use zookeeper_client::Client;

use super::fault_fixture::{FaultFixture, is_expired, within};
use super::ours::{Held, Recipe};
use crate::harness::relay::{Fault, Then};
use crate::harness::wait::eventually;

/// The action while a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Acquires a free lock whose parents are missing.
    Acquire,
    /// Acquires a lock that another client holds and releases; a third client follows.
    Wait,
    /// Acquires a lock that another client holds and a second waits for. Both hold and release in
    /// turn.
    WaitBehindTwo,
    /// Acquires such a lock, but the second client gives up while the first holds.
    WaitBehindLeaver,
    /// Releases a held lock.
    Release,
}

/// Does one action under faults. Returns whether all faults struck.
pub async fn under(faults: &[Fault], work: Work, recipe: Recipe) -> bool {
    let fixture = FaultFixture::new(recipe).await;
    match work {
        Work::Acquire => acquire(&fixture, faults).await,
        Work::Wait => wait(&fixture, faults).await,
        Work::WaitBehindTwo => wait_behind_two(&fixture, faults, false).await,
        Work::WaitBehindLeaver => wait_behind_two(&fixture, faults, true).await,
        Work::Release => release(&fixture, faults).await,
    }
}

async fn acquire(fixture: &FaultFixture, faults: &[Fault]) -> bool {
    fixture.relay.arm(faults);
    let acquired = within("an acquire", fixture.acquire()).await;
    let struck = fixture.relay.disarm();
    let token = ended(fixture, faults, struck, acquired).await;
    fixture.assert_free(token).await;
    struck
}

/// Checks the result of the faulty client's acquire against the faults that struck, and releases
/// the lock. Returns the token, or 0.
async fn ended(fixture: &FaultFixture, faults: &[Fault], struck: bool, acquired: Result<Held, LockError>) -> i64 {
    let recipe = fixture.recipe;
    let expires = struck && faults.iter().any(|fault| fault.then == Then::Expire);
    let held = match acquired {
        Ok(held) => held,
        Err(error) => {
            assert!(expires && is_expired(&error), "{recipe:?} {faults:?}: {error:?}");
            return 0;
        }
    };
    let token = held.token();
    if expires {
        assert_eq!(within("the loss", held.lost()).await, Loss::Expired, "{recipe:?} {faults:?}");
    } else {
        fixture.assert_holds(&held, &fixture.faulty).await;
        let released = within("a release", held.release()).await;
        released.unwrap_or_else(|error| panic!("{recipe:?} {faults:?}: {error}"));
        assert!(fixture.nodes_of(Some(&fixture.faulty)).await.is_empty(), "{recipe:?} {faults:?}");
    }
    token
}

type Contending = JoinHandle<Result<Held, LockError>>;

pub fn contend(fixture: &FaultFixture, recipe: Recipe, client: &Client) -> Contending {
    let (client, path) = (client.clone(), fixture.path.clone());
    tokio::spawn(async move { within("a waiter", recipe.acquire(&client, &path)).await })
}

/// Puts the faulty client into the queue until it has set `watches` watches or has failed.
async fn faulty_waiter(fixture: &FaultFixture, faults: &[Fault], watches: usize) -> Contending {
    fixture.relay.record();
    fixture.relay.arm(faults);
    let lock = fixture.lock.clone();
    let waiter = tokio::spawn(async move { within("a waiter", lock.acquire()).await.map(Held) });
    eventually("a waiter", async || {
        let log = fixture.relay.recorded();
        let set = log.iter().filter(|passed| passed.is_watch_set()).count();
        if waiter.is_finished() || set >= watches { Ok(()) } else { Err(log) }
    })
    .await;
    waiter
}

/// Returns how many nodes a waiter behind two others watches.
pub fn watched_before(recipe: Recipe) -> usize {
    if recipe.algorithm == Algorithm::ChainAhead { 2 } else { 1 }
}

async fn wait_behind_two(fixture: &FaultFixture, faults: &[Fault], second_leaves: bool) -> bool {
    let recipe = fixture.recipe;
    let first = contend(fixture, recipe.rival(), &fixture.other).await.expect("no panic").expect("nobody holds");
    let second = contend(fixture, recipe.rival(), &fixture.third);
    fixture.until_nodes_of(&fixture.third, 1).await;
    let waiter = faulty_waiter(fixture, faults, watched_before(recipe)).await;
    fixture.assert_holds(&first, &fixture.other).await;
    let mut last = first.token();
    if second_leaves {
        second.abort();
        fixture.until_nodes_of(&fixture.third, 0).await;
        fixture.assert_holds(&first, &fixture.other).await;
        first.release().await.expect("its connection is sound");
    } else {
        first.release().await.expect("its connection is sound");
        let second = second.await.expect("no panic").expect("the first has released");
        fixture.assert_holds(&second, &fixture.third).await;
        last = second.token();
        second.release().await.expect("its connection is sound");
    }
    let outcome = waiter.await.expect("no panic");
    let struck = fixture.relay.disarm();
    let token = ended(fixture, faults, struck, outcome).await;
    assert!(token == 0 || token > last, "{recipe:?} {faults:?}: {token} after {last}");
    fixture.assert_free(last.max(token)).await;
    struck
}

async fn wait(fixture: &FaultFixture, faults: &[Fault]) -> bool {
    let recipe = fixture.recipe;
    let first = contend(fixture, recipe.rival(), &fixture.other).await.expect("no panic").expect("nobody holds");
    let waiter = faulty_waiter(fixture, faults, 1).await;
    fixture.assert_holds(&first, &fixture.other).await;
    let third = contend(fixture, recipe.rival(), &fixture.third);
    let (mut last, mut struck) = (first.token(), false);
    first.release().await.expect("its connection is sound");

    let mut contenders: FuturesUnordered<_> = [(true, waiter), (false, third)]
        .map(|(is_faulty, task)| async move { (is_faulty, task.await) })
        .into_iter()
        .collect();
    while let Some((is_faulty, outcome)) = contenders.next().await {
        let outcome = outcome.expect("no panic");
        let token = if is_faulty {
            struck = fixture.relay.disarm();
            ended(fixture, faults, struck, outcome).await
        } else {
            let held = outcome.unwrap_or_else(|error| panic!("{recipe:?} {faults:?}: the third: {error}"));
            fixture.assert_holds(&held, &fixture.third).await;
            let token = held.token();
            held.release().await.expect("its connection is sound");
            token
        };
        assert!(token == 0 || token > last, "{recipe:?} {faults:?}: {token} after {last}");
        last = last.max(token);
    }
    fixture.assert_free(last).await;
    struck
}

async fn release(fixture: &FaultFixture, faults: &[Fault]) -> bool {
    let recipe = fixture.recipe;
    let held = fixture.acquire().await.expect("nobody holds");
    let token = held.token();
    fixture.relay.arm(faults);
    let released = within("a release", held.release()).await;
    let struck = fixture.relay.disarm();
    let expires = struck && faults.iter().any(|fault| fault.then == Then::Expire);
    match released {
        Ok(()) => {}
        Err(error) => assert!(expires && is_expired(&error), "{recipe:?} {faults:?}: {error:?}"),
    }
    fixture.assert_free(token).await;
    struck
}
