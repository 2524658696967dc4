//! The connection is cut, the session ends, or the application gives up, at each request of a lock in turn, before and
//! after it reaches the server, and at each watch event: never two nodes, two holders, a hang, or anything left behind.

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use lockscope::lock::{Access, LockError, Loss};
use zookeeper_client::Client;

use super::fault_fixture::{FaultFixture, is_expired, within};
use super::ours::{Called, Held, Recipe};
use crate::harness::relay::{Fault, Place, Then};
use crate::harness::wait::eventually;

/// What is done while a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Acquires a lock that nobody holds, whose parents are missing.
    Acquire,
    /// Acquires a lock that another holds, who then releases, and is followed by a third.
    Wait,
    /// Releases what it holds.
    Release,
}

/// A place is never further on than this: what needs more requests runs in cycles.
const FURTHEST: usize = 40;

/// Tries every place of a work in turn, until it passes without a fault. Gives the number of requests and of events at
/// which a fault struck.
async fn everywhere(recipe: Recipe, work: Work, then: Then) -> (usize, usize) {
    let (mut requests, mut events) = (0, 0);
    for n in 1..=FURTHEST {
        let places = [Place::BeforeRequest(n), Place::AfterRequest(n)];
        let struck = join_all(places.map(async |place| under(&[Fault { place, then }], work, recipe).await)).await;
        if struck == [false, false] {
            break;
        }
        requests = n;
    }
    assert!(requests < FURTHEST, "{recipe:?} {work:?} {then:?} comes to no end");
    while under(&[Fault { place: Place::AtEvent(events + 1), then }], work, recipe).await {
        events += 1;
    }
    (requests, events)
}

/// Does one work under faults; says whether all of them struck.
async fn under(faults: &[Fault], work: Work, recipe: Recipe) -> bool {
    let fixture = FaultFixture::new(recipe).await;
    match work {
        Work::Acquire => acquire(&fixture, faults).await,
        Work::Wait => wait(&fixture, faults).await,
        Work::Release => release(&fixture, faults).await,
    }
}

async fn acquire(fixture: &FaultFixture, faults: &[Fault]) -> bool {
    fixture.relay.arm(faults);
    let acquired = within("an acquire", fixture.recipe.acquire(&fixture.faulty, &fixture.path)).await;
    let struck = fixture.relay.disarm();
    let token = ended(fixture, faults, struck, acquired).await;
    fixture.assert_free(token).await;
    struck
}

/// Checks the outcome of the faulty client's acquire against the faults that struck, and releases what it got. Gives its token, or 0.
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

async fn wait(fixture: &FaultFixture, faults: &[Fault]) -> bool {
    let recipe = fixture.recipe;
    let contend = |recipe: Recipe, client: &Client| {
        let (client, path) = (client.clone(), fixture.path.clone());
        tokio::spawn(async move { within("a waiter", recipe.acquire(&client, &path)).await })
    };
    let first = contend(recipe.rival(), &fixture.other).await.expect("no panic").expect("nobody holds");
    fixture.relay.record();
    fixture.relay.arm(faults);
    let waiter = contend(recipe, &fixture.faulty);
    eventually("a waiter", async || {
        let log = fixture.relay.recorded();
        if waiter.is_finished() || log.iter().any(|passed| passed.is_watch_set()) { Ok(()) } else { Err(log) }
    })
    .await;
    fixture.assert_holds(&first, &fixture.other).await;
    let third = contend(recipe.rival(), &fixture.third);
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
    let held = fixture.recipe.acquire(&fixture.faulty, &fixture.path).await.expect("nobody holds");
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

/// All works under one kind of fault.
async fn suite(recipe: Recipe, then: Then) {
    let works = [Work::Acquire, Work::Wait, Work::Release];
    let struck = join_all(works.map(|work| everywhere(recipe, work, then))).await;
    println!("{recipe:?} {then:?}: (requests, events) of {works:?}: {struck:?}");
    let [(acquire, _), (wait, events), (release, _)] = struck[..] else { unreachable!("three works") };
    // A create, a create that waits for an event, and a delete are the least that any lock does.
    assert!(acquire >= 1 && wait >= 2 && events >= 1 && release >= 1, "{recipe:?}: {struck:?}");
}

/// A second cut at each of the requests by which a first one, at each request of a work, is made good. Gives the number
/// of pairs.
async fn cut_twice(recipe: Recipe, work: Work) -> usize {
    let mut pairs = 0;
    for n in 1..=FURTHEST {
        let firsts = [Place::BeforeRequest(n), Place::AfterRequest(n)];
        let struck = join_all(firsts.map(|first| cut_again(recipe, work, first, n))).await;
        if struck == [0, 0] {
            return pairs;
        }
        pairs += struck.iter().sum::<usize>();
    }
    panic!("{recipe:?} {work:?} comes to no end");
}

async fn cut_again(recipe: Recipe, work: Work, first: Place, n: usize) -> usize {
    let mut struck = 0;
    for m in n + 1..=n + FURTHEST {
        let seconds = [Place::BeforeRequest(m), Place::AfterRequest(m)];
        let pair =
            async |second| under(&[first, second].map(|place| Fault { place, then: Then::Cut }), work, recipe).await;
        let made = join_all(seconds.map(pair)).await.into_iter().filter(|made| *made).count();
        if made == 0 {
            return struck;
        }
        struck += made;
    }
    panic!("{recipe:?} {work:?} {first:?} comes to no end");
}

/// Drops an acquire that is stopped at a place; says whether it got so far.
async fn given_up(recipe: Recipe, place: Place, contended: bool) -> bool {
    let fixture = FaultFixture::new(recipe).await;
    let first = if contended {
        Some(recipe.rival().acquire(&fixture.other, &fixture.path).await.expect("nobody holds"))
    } else {
        None
    };
    fixture.relay.record();
    fixture.relay.arm(&[Fault { place, then: Then::Stall }]);
    let (mut token, mut stopped) = (0, true);
    {
        let mut acquiring = Box::pin(recipe.acquire(&fixture.faulty, &fixture.path));
        let stalled = eventually("a stop", async || {
            let waits = fixture.relay.recorded().iter().any(|passed| passed.is_watch_set());
            if fixture.relay.stalled() || waits { Ok(()) } else { Err(fixture.relay.recorded()) }
        });
        tokio::select! {
            held = &mut acquiring => {
                // It came through; what follows is not to be stopped.
                stopped = fixture.relay.disarm();
                fixture.relay.resume();
                let held = held.expect("nobody holds");
                token = held.token();
                held.release().await.expect("its connection is sound");
            }
            () = stalled => {}
        }
    }
    stopped &= fixture.relay.disarm();
    fixture.relay.resume();
    // What was held up has arrived when a later request is answered; until then there may be no node yet.
    fixture.faulty.check_stat("/").await.expect("its connection is sound");
    eventually("the end of the node of who gave up", async || match fixture.nodes_of(Some(&fixture.faulty)).await {
        nodes if nodes.is_empty() => Ok(()),
        nodes => Err(nodes),
    })
    .await;
    if let Some(first) = first {
        fixture.assert_holds(&first, &fixture.other).await;
        token = first.token();
        first.release().await.expect("its connection is sound");
    }
    fixture.assert_free(token).await;
    stopped
}

async fn given_up_everywhere(recipe: Recipe) {
    for contended in [false, true] {
        let mut requests = 0;
        loop {
            let places = [Place::BeforeRequest(requests + 1), Place::AfterRequest(requests + 1)];
            let stopped = join_all(places.map(|place| given_up(recipe, place, contended))).await;
            if stopped == [false, false] {
                break;
            }
            requests += 1;
        }
        println!("{recipe:?} given up: {requests} requests, contended: {contended}");
        assert!((1..FURTHEST).contains(&requests), "{recipe:?}: {requests}");
    }
}

/// The suites of one recipe, each as a test.
macro_rules! faults_of {
    ($($module:ident: $recipe:expr;)*) => {$(
        mod $module {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn survives_a_cut_at_each_request_and_event() {
                suite($recipe, Then::Cut).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn survives_a_second_cut_at_each_request_that_makes_good_a_first_one() {
                let pairs = join_all([Work::Acquire, Work::Wait, Work::Release].map(|work| cut_twice($recipe, work))).await;
                println!("{:?} cut twice: {pairs:?} pairs", $recipe);
                assert!(pairs.iter().all(|pairs| *pairs > 0), "{pairs:?}");
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn learns_of_an_expiry_at_each_request_and_event() {
                suite($recipe, Then::Expire).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn leaves_no_node_when_given_up_at_any_request() {
                given_up_everywhere($recipe).await;
            }
        }
    )*};
}

faults_of! {
    mutex: Recipe::MUTEX;
    mutex_parent: Recipe::MUTEX_PARENT;
    herd: Recipe::HERD;
    chain: Recipe::CHAIN;
    chain_called_as_kazoos: Recipe::CHAIN.called(Called::AsKazoos);
    chain_called_as_write_locks: Recipe::CHAIN.called(Called::AsWriteLocks);
    chain_called_by_session: Recipe::CHAIN.called(Called::BySession);
    chain_called_by_name: Recipe::CHAIN.called(Called::ByName);
    shared_herd_for_reading: Recipe::shared_herd(Access::Read);
    shared_herd_for_writing: Recipe::shared_herd(Access::Write);
    shared_chain_for_reading: Recipe::shared_chain(Access::Read);
    shared_chain_for_writing: Recipe::shared_chain(Access::Write);
    semaphore: Recipe::SEMAPHORE;
}
