//! Semaphores: holders up to the number of leases.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockscope_lock::{Algorithm, LockError};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::fixture::{LockFixture, SHORT_WAIT, delete, ended, got, held, lock, wait_for};

const MAXIMUM: usize = 3;
const THREE: Algorithm = Algorithm::Semaphore(NonZeroU32::new(3).expect("a number above zero"));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_never_exceeds_the_maximum_and_reaches_it_exactly() {
    let fixture = LockFixture::new().await;
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    // The barrier opens only when as many clients hold as there are leases, so the maximum is
    // reached or the test never ends.
    let full = Arc::new(Barrier::new(MAXIMUM));
    let mut clients = JoinSet::new();
    for _ in 0..MAXIMUM * 4 {
        let lock = fixture.lock(THREE).await;
        let (inside, most, full) = (Arc::clone(&inside), Arc::clone(&most), Arc::clone(&full));
        clients.spawn(async move {
            for _ in 0..4 {
                let lease = held(&lock).await;
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                full.wait().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                lease.release().await.expect("it was held");
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("no client panics");
    }
    assert_eq!(most.load(Ordering::SeqCst), MAXIMUM);
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_returned_when_its_client_closes() {
    let fixture = LockFixture::new().await;
    let leases = [held(&fixture.lock(THREE).await).await, held(&fixture.lock(THREE).await).await];
    let closing = fixture.client().await;
    let third = held(&lock(&closing, THREE)).await;
    let waiting = wait_for(&fixture.lock(THREE).await);
    fixture.until_nodes(5).await;
    assert!(!waiting.is_finished());
    drop((third, closing));
    got(waiting).await.release().await.expect("it was held");
    for lease in leases {
        lease.release().await.expect("it was held");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_of_the_queue_that_gives_up_lets_the_next_one_wait_for_a_lease() {
    let fixture = LockFixture::new().await;
    let mut leases = Vec::new();
    for _ in 0..MAXIMUM {
        leases.push(held(&fixture.lock(THREE).await).await);
    }
    fixture.until_nodes(MAXIMUM).await;
    let head = wait_for(&fixture.lock(THREE).await);
    fixture.until_nodes(MAXIMUM + 2).await;
    let next = wait_for(&fixture.lock(THREE).await);
    fixture.until_nodes(MAXIMUM + 3).await;
    head.abort();
    assert!(matches!(fixture.lock(THREE).await.acquire_within(SHORT_WAIT).await, Err(LockError::TimedOut { .. })));
    leases.pop();
    got(next).await.release().await.expect("it was held");
    leases.clear();
    fixture.until_nodes(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_whose_lease_node_is_deleted_leaves_the_queue_and_may_ask_again() {
    let fixture = LockFixture::new().await;
    let mut leases = Vec::new();
    for _ in 0..MAXIMUM {
        leases.push(held(&fixture.lock(THREE).await).await);
    }
    fixture.until_nodes(MAXIMUM).await;
    let head_lock = fixture.lock(THREE).await;
    let head = wait_for(&head_lock);
    let nodes = fixture.until_nodes(MAXIMUM + 2).await;
    // The place in the queue is older than the lease.
    let [queued, lease] = &nodes[MAXIMUM..] else { panic!("{nodes:?}") };
    assert!(queued.contains("/locks/") && lease.contains("/leases/"), "{nodes:?}");
    let next = wait_for(&fixture.lock(THREE).await);
    fixture.until_nodes(MAXIMUM + 3).await;
    delete(&fixture.client().await, lease).await;
    match ended(head).await {
        Err(LockError::NodeDeleted { node }) => assert!(lease.ends_with(node.as_str()), "{node} is not {lease}"),
        other => panic!("{other:?}"),
    }
    // The place in the queue is gone too, and the next client has both: a place, and a lease node.
    let nodes = fixture.until_nodes(MAXIMUM + 2).await;
    assert!(!nodes.contains(queued), "{nodes:?}");
    assert!(!next.is_finished());
    let again = wait_for(&head_lock);
    fixture.until_nodes(MAXIMUM + 3).await;
    leases.pop();
    got(next).await.release().await.expect("it was held");
    got(again).await.release().await.expect("it was held");
    leases.clear();
    fixture.until_nodes(0).await;
}
