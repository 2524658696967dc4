//! `ClickHouse` Keeper gives a client whose session has ended a new session without notice, and the
//! client library does not tell either: its session's id stays the old one. Locks notice it by
//! their nodes, which went with the old session or belong to the new one. Keeper is played by the
//! sandbox.

use std::time::Duration;

use lockscope_lock::{Algorithm, Guard, LockError};
use lockscope_sandbox::{Sandbox, ServerBehaviour};

use super::fixture::{ALONE, LockFixture, Relayed, ended, got, held, lock, wait_for};
use crate::harness::relay::{Fault, Place, Then};
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;
use crate::played::played;

/// Long enough that no client gives its session up by itself.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

async fn keeper() -> (Sandbox, LockFixture) {
    let keeper = played(ServerBehaviour::Keeper).await;
    zk::make(&zk::connect(&keeper.connect_string()).await, ["/own".to_owned()]).await;
    let connect = format!("{}/own", keeper.connect_string());
    (keeper, LockFixture { connect })
}

async fn lost(guard: &Guard) {
    eventually("the loss", async || guard.is_lost().ok_or("it holds")).await;
}

fn is_expired<T>(result: &Result<T, LockError>) -> bool {
    matches!(result, Err(LockError::SessionExpired { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_learns_of_its_loss_and_its_client_gets_no_lock_any_more() {
    let (_keeper, fixture) = keeper().await;
    for algorithm in ALONE {
        let Relayed { relay, client } = Relayed::new(&fixture, SESSION_TIMEOUT).await;
        let [stranger] = fixture.locks(algorithm).await;
        let own = lock(&client, algorithm);
        let guard = held(&own).await;
        let strangers = wait_for(&stranger);
        relay.expire().await;
        lost(&guard).await;
        tokio::time::timeout(PATIENCE, guard.lost()).await.expect("it is lost");
        let next = got(strangers).await;
        assert!(guard.release().await.is_err(), "{algorithm:?}");
        next.release().await.expect("it was held");
        // The client library goes on with a session whose id it does not know.
        let again = own.acquire().await;
        assert!(is_expired(&again), "{algorithm:?}: {again:?}");
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_session_ended_is_not_granted_and_learns_of_it_while_others_hold() {
    let (_keeper, fixture) = keeper().await;
    for algorithm in ALONE {
        let Relayed { relay, client } = Relayed::new(&fixture, SESSION_TIMEOUT).await;
        let [stranger] = fixture.locks(algorithm).await;
        let guard = held(&stranger).await;
        let waiting = wait_for(&lock(&client, algorithm));
        // The waiter of a semaphore has a node in its queue, and the one of the lease it waits for.
        let nodes = match algorithm {
            Algorithm::Mutex | Algorithm::MutexParent => 1,
            Algorithm::Semaphore(_) => 3,
            _ => 2,
        };
        fixture.until_nodes(nodes).await;
        eventually("the waiter's requests", async || if relay.requests().len() > 2 { Ok(()) } else { Err(()) }).await;
        relay.expire().await;
        if nodes > 1 {
            let ended = ended(waiting).await;
            assert!(ended.is_err(), "{algorithm:?}: {ended:?}");
            guard.release().await.expect("it was held");
        } else {
            guard.release().await.expect("it was held");
            let ended = ended(waiting).await;
            assert!(ended.is_err(), "{algorithm:?}: {ended:?}");
        }
        fixture.until_nodes(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_a_lost_reply_hides_in_a_new_session_blocks_nobody() {
    let (_keeper, fixture) = keeper().await;
    for algorithm in ALONE {
        fixture.make_parents(algorithm).await;
        let Relayed { relay, client } = Relayed::new(&fixture, SESSION_TIMEOUT).await;
        let own = lock(&client, algorithm);
        relay.expire().await;
        // A request of the new session, so that the next one is the create.
        eventually("the new session", async || client.check_stat("/").await).await;
        relay.arm(&[Fault { place: Place::AfterRequest(1), then: Then::Cut }]);
        let again = ended(wait_for(&own)).await;
        assert!(is_expired(&again), "{algorithm:?}: {again:?}");
        assert!(relay.disarm(), "{algorithm:?}: the fault did not strike");
        held(&fixture.lock(algorithm).await).await.release().await.expect("it was held");
        fixture.until_nodes(0).await;
    }
}
