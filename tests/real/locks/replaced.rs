//! Another client deletes nodes and replaces them by nodes with the same paths. The holder or
//! waiter learns of it and never touches the stranger's node.

use std::time::Duration;

use lockscope_lock::{Access, Algorithm, LockError, Loss};
use zookeeper_client::{Client, CreateMode, Stat};

use super::fault_fixture::{FaultFixture, watchers_of, within};
use super::ours::{Called, Held, Recipe};
use crate::harness::relay::{Fault, Place, Then, op};
use crate::harness::wait::eventually;
use crate::harness::zk::open;

/// The locks whose nodes' paths can be reused: those with one node, and queues whose names have no
/// attempt id.
const RECIPES: [Recipe; 10] = [
    Recipe::MUTEX,
    Recipe::MUTEX_PARENT,
    Recipe::HERD.called(Called::ByName),
    Recipe::CHAIN.called(Called::ByName),
    Recipe::CHAIN_AHEAD.called(Called::ByName),
    Recipe::CHAIN.called(Called::ByName).having_waited(),
    Recipe::CHAIN.called(Called::BySession),
    Recipe::HERD.called(Called::AsWriteLocks),
    Recipe::shared_chain(Access::Write).called(Called::BySession),
    Recipe::shared_herd(Access::Read).called(Called::BySession),
];

fn is_queue(recipe: Recipe) -> bool {
    ![Algorithm::Mutex, Algorithm::MutexParent].contains(&recipe.algorithm)
}

/// Replaces nodes by new ones with the same paths in one transaction, so that no reader sees a
/// moment without them. A new parent makes the numbers of a queue restart. Returns the stats of the
/// new nodes.
async fn replace(fixture: &FaultFixture, nodes: &[String]) -> Vec<Stat> {
    let client = &fixture.other;
    let mut writes = client.new_multi_writer();
    for node in nodes {
        writes.add_delete(node, None).expect("a path");
    }
    if is_queue(fixture.recipe) {
        writes.add_delete(&fixture.path, None).expect("a path");
        writes.add_create(&fixture.path, b"", &open(CreateMode::Persistent)).expect("a path");
    }
    for node in nodes {
        let mode = if is_queue(fixture.recipe) { CreateMode::EphemeralSequential } else { CreateMode::Ephemeral };
        let prefix = if is_queue(fixture.recipe) { &node[..node.len() - 10] } else { node };
        writes.add_create(prefix, b"a stranger's", &open(mode)).expect("a path");
    }
    writes.commit().await.expect("the nodes are there");
    let mut stats = Vec::new();
    for node in nodes {
        stats.push(client.check_stat(node).await.expect("an answer").expect("a node of the same path"));
    }
    stats
}

/// Asserts that a node exists and was created by the given transaction.
async fn assert_there(client: &Client, node: &str, stat: &Stat, what: impl std::fmt::Debug) {
    let now = client.check_stat(node).await.expect("an answer");
    assert_eq!(now.map(|now| now.czxid), Some(stat.czxid), "{what:?}: the stranger's node");
}

/// Returns a holder whose node has the first number of its queue.
async fn holding(recipe: Recipe) -> (FaultFixture, Held) {
    // A lock that has waited before has no first number any more, so it does not wait here.
    let fixture = FaultFixture::new(Recipe { has_waited: false, ..recipe }).await;
    let held = within("a lock", fixture.acquire()).await.expect("nobody holds");
    (fixture, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_node_is_replaced_learns_of_it_even_by_a_late_event() {
    for recipe in RECIPES {
        for delay in [0, 20, 100] {
            let (fixture, held) = holding(recipe).await;
            let node = held.path();
            fixture.relay.record();
            let lost = tokio::spawn(async move {
                let lost = held.lost().await;
                (held, lost)
            });
            eventually("its watch", async || match watchers_of(&node) {
                0 => Err(fixture.relay.recorded()),
                _ => Ok(()),
            })
            .await;
            fixture.relay.delay(Duration::from_millis(delay));
            // A guarded deletion writes to the node first.
            let raised = fixture.other.set_data(&node, b"", None);
            let stats = replace(&fixture, std::slice::from_ref(&node)).await;
            raised.await.expect("the node is there");
            let (held, lost) = within("the loss", lost).await.expect("no panic");
            assert_eq!(lost, Loss::Deleted, "{recipe:?} {delay}");
            let released = within("a release", held.release()).await;
            assert!(matches!(released, Err(LockError::NodeDeleted { .. })), "{recipe:?} {delay}: {released:?}");
            assert_there(&fixture.other, &node, &stats[0], (recipe, delay)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_spares_the_replacing_node_even_before_a_late_event() {
    for recipe in RECIPES {
        for delay in [0, 20, 100] {
            let (fixture, held) = holding(recipe).await;
            let node = held.path();
            fixture.relay.delay(Duration::from_millis(delay));
            let stats = replace(&fixture, std::slice::from_ref(&node)).await;
            let released = within("a release", held.release()).await;
            assert!(matches!(released, Err(LockError::NodeDeleted { .. })), "{recipe:?} {delay}: {released:?}");
            assert_there(&fixture.other, &node, &stats[0], (recipe, delay)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_off_holder_learns_of_a_replaced_node_and_spares_it() {
    for recipe in RECIPES {
        for asks in [true, false] {
            let (fixture, held) = holding(recipe).await;
            let node = held.path();
            if asks {
                let lost = held.lost();
                let set = eventually("its watch", async || match watchers_of(&node) {
                    0 => Err(()),
                    _ => Ok(()),
                });
                tokio::select! {
                    lost = lost => panic!("{lost:?}"),
                    () = set => {}
                }
            }
            fixture.relay.refuse().await;
            let stats = replace(&fixture, std::slice::from_ref(&node)).await;
            fixture.relay.heal();
            if asks {
                assert_eq!(within("the loss", held.lost()).await, Loss::Deleted, "{recipe:?}");
            }
            let released = within("a release", held.release()).await;
            assert!(matches!(released, Err(LockError::NodeDeleted { .. })), "{recipe:?} {asks}: {released:?}");
            assert_there(&fixture.other, &node, &stats[0], (recipe, asks)).await;
        }
    }
}

/// Lets the faulty client wait behind a node of the other client. Returns both nodes.
async fn waiting(recipe: Recipe) -> (FaultFixture, Vec<String>, tokio::task::JoinHandle<Result<Held, LockError>>) {
    let fixture = FaultFixture::new(Recipe { has_waited: false, ..recipe }).await;
    let rival = recipe.rival().lock(&fixture.other, &fixture.path);
    let first = Held(within("a lock", rival.acquire()).await.expect("nobody holds"));
    let before = first.path();
    // The node stays, whatever happens to its guard.
    std::mem::forget(first);
    fixture.relay.record();
    let lock = fixture.lock.clone();
    let waiter = tokio::spawn(async move { lock.acquire().await.map(Held) });
    eventually("its watch", async || match fixture.watches_set() {
        0 => Err(()),
        _ => Ok(()),
    })
    .await;
    let nodes = fixture.nodes_of(Some(&fixture.faulty)).await;
    (fixture, [vec![before], nodes].concat(), waiter)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_queue_is_replaced_learns_of_it_and_spares_the_strangers_node() {
    for recipe in RECIPES.into_iter().filter(|recipe| is_queue(*recipe)) {
        for cut_off in [false, true] {
            let (fixture, nodes, waiter) = waiting(recipe).await;
            if cut_off {
                fixture.relay.refuse().await;
            }
            let stats = replace(&fixture, &nodes).await;
            fixture.relay.heal();
            let ended = within("the waiter", waiter).await.expect("no panic");
            match ended {
                Err(LockError::NodeDeleted { .. }) => {}
                Err(error) => panic!("{recipe:?} {cut_off}: {error}"),
                Ok(held) => {
                    // The waiter may have held for a moment.
                    eventually("the loss", async || held.0.is_lost().ok_or("nothing")).await;
                    let released = held.release().await;
                    assert!(
                        matches!(released, Err(LockError::NodeDeleted { .. })),
                        "{recipe:?} {cut_off}: {released:?}"
                    );
                }
            }
            assert_there(&fixture.other, &nodes[1], &stats[1], (recipe, cut_off)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_gives_up_spares_the_replacing_node() {
    for recipe in RECIPES.into_iter().filter(|recipe| is_queue(*recipe)) {
        let (fixture, nodes, waiter) = waiting(recipe).await;
        fixture.relay.refuse().await;
        let stats = replace(&fixture, &nodes).await;
        waiter.abort();
        fixture.relay.record();
        fixture.relay.heal();
        eventually("its clean-up", async || {
            let log = fixture.relay.recorded();
            let looked = |code| log.iter().any(|passed| passed.request() == Some(code));
            if looked(op::EXISTS) || looked(op::DELETE) { Ok(()) } else { Err(log) }
        })
        .await;
        // Requests that the client sends in reaction to the answer come before the answer to this
        // one.
        for _ in 0..2 {
            fixture.faulty.check_stat("/").await.expect("the connection is back");
        }
        assert_there(&fixture.other, &nodes[1], &stats[1], recipe).await;
    }
}

/// The reply to a create is lost, and the node that a second create finds is read at most once.
const LOST_AND_HELD_UP: [Fault; 2] = [
    Fault { place: Place::AfterRequest(1), then: Then::Cut },
    Fault { place: Place::BeforeRequest(4), then: Then::Stall },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutex_whose_create_got_no_reply_never_adopts_a_strangers_node() {
    for recipe in [Recipe::MUTEX, Recipe::MUTEX_PARENT] {
        let fixture = FaultFixture::new(recipe).await;
        // The parents of its nodes exist.
        recipe
            .acquire(&fixture.third, &fixture.path)
            .await
            .expect("nobody holds")
            .release()
            .await
            .expect("it was held");
        fixture.relay.arm(&LOST_AND_HELD_UP);
        let lock = fixture.lock.clone();
        let acquiring = tokio::spawn(async move { lock.acquire().await.map(Held) });
        eventually("the lock, or a second look", async || {
            if acquiring.is_finished() || fixture.relay.stalled() { Ok(()) } else { Err(()) }
        })
        .await;
        let nodes = fixture.nodes_of(Some(&fixture.faulty)).await;
        let own = fixture.other.check_stat(&nodes[0]).await.expect("an answer").expect("its node");
        let stats = replace(&fixture, &nodes).await;
        fixture.relay.disarm();
        fixture.relay.resume();
        if let Ok(ended) = tokio::time::timeout(Duration::from_secs(5), acquiring).await {
            // The look that proves the session after the reconnect may find the other node already.
            let released = match ended.expect("no panic") {
                Ok(held) => {
                    assert_eq!(held.token(), own.czxid, "{recipe:?}: the token");
                    within("a release", held.release()).await
                }
                Err(error) => Err(error),
            };
            assert!(matches!(released, Err(LockError::NodeDeleted { .. })), "{recipe:?}: {released:?}");
        }
        assert_there(&fixture.other, &nodes[0], &stats[0], recipe).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_spares_the_node_that_replaced_the_writers() {
    let recipe = Recipe::shared_chain(Access::Write).called(Called::BySession);
    let (fixture, held) = holding(recipe).await;
    let node = held.path();
    let stats = replace(&fixture, std::slice::from_ref(&node)).await;
    let downgraded = within("a downgrade", held.0.downgrade()).await;
    assert!(matches!(downgraded, Err(LockError::NodeDeleted { .. })), "{downgraded:?}");
    assert_there(&fixture.other, &node, &stats[0], recipe).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgraded_holder_releases_the_readers_node() {
    for called in [Called::BySession, Called::AsCurators, Called::AsKazoos] {
        let recipe = Recipe::shared_chain(Access::Write).called(called);
        let (fixture, held) = holding(recipe).await;
        let token = held.token();
        let reader = Held(within("a downgrade", held.0.downgrade()).await.expect("it was held"));
        assert_eq!(reader.token(), token, "{called:?}");
        assert_eq!(fixture.nodes_of(Some(&fixture.faulty)).await, [reader.path()], "{called:?}");
        reader.release().await.expect("it was held");
        fixture.assert_free(token).await;
    }
}
