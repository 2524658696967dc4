//! The connection is cut, the session ends, or the application gives up, at each request of a lock
//! in turn, before and after the request reaches the server, and at each watch event. There are
//! never two nodes, two holders, a hang, or anything left behind.

use futures::future::join_all;
use lockscope_lock::Access;

use super::fault_fixture::FaultFixture;
use super::fault_works::{Work, contend, under, watched_before};
use super::ours::{Called, Recipe};
use crate::harness::relay::{Fault, Place, Then};
use crate::harness::wait::eventually;

/// The highest place: an action with more requests would never end.
const FURTHEST: usize = 40;

/// Tries every place of an action in turn, until the action completes without a fault. Returns the
/// numbers of requests and of events at which a fault struck.
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

/// Tries all actions under one kind of fault.
async fn suite(recipe: Recipe, then: Then) {
    let works = [Work::Acquire, Work::Wait, Work::Release];
    let struck = join_all(works.map(|work| everywhere(recipe, work, then))).await;
    println!("{recipe:?} {then:?}: (requests, events) of {works:?}: {struck:?}");
    let [(acquire, _), (wait, events), (release, _)] = struck[..] else { unreachable!("three works") };
    // Every lock needs at least a create, a create that waits for an event, and a delete.
    assert!(acquire >= 1 && wait >= 2 && events >= 1 && release >= 1, "{recipe:?}: {struck:?}");
}

/// Cuts a second time at each request that recovers from a first cut at each request of an action.
/// Returns the number of pairs.
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

/// Drops an acquire that is stopped at a place. Returns whether it got so far.
async fn given_up(recipe: Recipe, place: Place, before: usize) -> bool {
    let fixture = FaultFixture::new(recipe).await;
    let first = if before > 0 {
        Some(recipe.rival().acquire(&fixture.other, &fixture.path).await.expect("nobody holds"))
    } else {
        None
    };
    let second = (before > 1).then(|| contend(&fixture, recipe.rival(), &fixture.third));
    let watches = if second.is_some() { watched_before(recipe) } else { 1 };
    if second.is_some() {
        fixture.until_nodes_of(&fixture.third, 1).await;
    }
    fixture.relay.record();
    fixture.relay.arm(&[Fault { place, then: Then::Stall }]);
    let (mut token, mut stopped) = (0, true);
    {
        let mut acquiring = Box::pin(fixture.acquire());
        let stalled = eventually("a stop", async || {
            let log = fixture.relay.recorded();
            let waits = log.iter().filter(|passed| passed.is_watch_set()).count() >= watches;
            if fixture.relay.stalled() || waits { Ok(()) } else { Err(fixture.relay.recorded()) }
        });
        tokio::select! {
            held = &mut acquiring => {
                // The acquire completed; later requests must not be stopped.
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
    // Held-up requests have arrived once a later request is answered; until then the node may not
    // exist yet.
    fixture.faulty.check_stat("/").await.expect("its connection is sound");
    fixture.until_nodes_of(&fixture.faulty, 0).await;
    if let Some(first) = first {
        fixture.assert_holds(&first, &fixture.other).await;
        token = first.token();
        first.release().await.expect("its connection is sound");
    }
    if let Some(second) = second {
        let second = second.await.expect("no panic").expect("it is next");
        token = second.token();
        second.release().await.expect("its connection is sound");
    }
    fixture.assert_free(token).await;
    stopped
}

/// Tries all places with up to `most` contenders before the client.
async fn given_up_everywhere(recipe: Recipe, most: usize) {
    for before in 0..=most {
        let mut requests = 0;
        loop {
            let places = [Place::BeforeRequest(requests + 1), Place::AfterRequest(requests + 1)];
            let stopped = join_all(places.map(|place| given_up(recipe, place, before))).await;
            if stopped == [false, false] {
                break;
            }
            requests += 1;
        }
        println!("{recipe:?} given up behind {before}: {requests} requests");
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
                given_up_everywhere($recipe, 1).await;
            }
        }
    )*};
}

/// The suites of one recipe for a waiter that is not right behind the head.
macro_rules! faults_further_back_of {
    ($($module:ident: $recipe:expr;)*) => {$(
        mod $module {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn survives_a_cut_at_each_request_and_event() {
                suite_further_back($recipe, Then::Cut).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn survives_a_second_cut_at_each_request_that_makes_good_a_first_one() {
                let pairs = join_all(FURTHER_BACK.map(|work| cut_twice($recipe, work))).await;
                println!("{:?} cut twice: {pairs:?} pairs", $recipe);
                assert!(pairs.iter().all(|pairs| *pairs > 0), "{pairs:?}");
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn learns_of_an_expiry_at_each_request_and_event() {
                suite_further_back($recipe, Then::Expire).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn leaves_no_node_when_given_up_at_any_request() {
                given_up_everywhere($recipe, 2).await;
            }
        }
    )*};
}

const FURTHER_BACK: [Work; 2] = [Work::WaitBehindTwo, Work::WaitBehindLeaver];

async fn suite_further_back(recipe: Recipe, then: Then) {
    let struck = join_all(FURTHER_BACK.map(|work| everywhere(recipe, work, then))).await;
    println!("{recipe:?} {then:?}: (requests, events) of {FURTHER_BACK:?}: {struck:?}");
    for (requests, events) in &struck {
        assert!(*requests >= 3 && *events >= watched_before(recipe), "{recipe:?}: {struck:?}");
    }
}

faults_further_back_of! {
    chain_further_back: Recipe::CHAIN;
    chain_ahead_further_back: Recipe::CHAIN_AHEAD;
    chain_with_known_predecessors_further_back: Recipe::CHAIN.called(Called::ByName).having_waited();
    chain_ahead_with_known_predecessors_further_back: Recipe::CHAIN_AHEAD.called(Called::ByName).having_waited();
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
    chain_ahead: Recipe::CHAIN_AHEAD;
    chain_with_known_predecessors: Recipe::CHAIN.called(Called::ByName).having_waited();
    chain_ahead_with_known_predecessors: Recipe::CHAIN_AHEAD.called(Called::ByName).having_waited();
    chain_ahead_called_by_session: Recipe::CHAIN_AHEAD.called(Called::BySession);
    shared_herd_for_reading: Recipe::shared_herd(Access::Read);
    shared_herd_for_writing: Recipe::shared_herd(Access::Write);
    shared_chain_for_reading: Recipe::shared_chain(Access::Read);
    shared_chain_for_writing: Recipe::shared_chain(Access::Write);
    semaphore: Recipe::SEMAPHORE;
}
