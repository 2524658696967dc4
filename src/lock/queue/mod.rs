//! The queues of sequential nodes, and the two ways to wait in them.

mod chain;
mod herd;
mod joined_queue;
mod node_watches;

use std::sync::atomic::Ordering;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::node::FirstListing;
use super::{Access, Algorithm};

pub(super) use joined_queue::{JoinedQueue, clean_up};

use chain::Chain;

/// Acquires a lock that is one queue.
pub(super) async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let access = attempt.spec.algorithm.access().unwrap_or(Access::Write);
    let queue =
        JoinedQueue { parent: &attempt.spec.path, names: &attempt.spec.names, mode: access.into(), max_holders: 1 };
    match attempt.spec.algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) => enter_herd(attempt, &queue).await,
        _ => enter_chain(attempt, &queue).await,
    }
}

/// Returns whether an attempt asks for its predecessor by name before it lists. That saves a
/// listing if the predecessor exists and others are before it; otherwise it costs a round trip. So
/// it is done only if it would have saved the lock's last attempt a listing.
fn knows_predecessor(attempt: &Attempt, queue: &JoinedQueue<'_>) -> bool {
    attempt.waits && queue.names.carry_only_numbers() && attempt.spec.asks_by_name.load(Ordering::Relaxed)
}

/// Joins a queue and waits as a herd does: every waiter watches the parent.
pub(super) async fn enter_herd(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) =
        attempt.creator().enqueue(queue.parent, queue.names, queue.mode, FirstListing::Watched).await?;
    let waited = herd::wait(attempt, queue, &own, listing).await;
    let unfired_watch = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { unfired_watch, ..HeldLock::new(own) })
}

/// Joins a queue and waits as a chain does: every waiter watches its predecessor, and in a
/// look-ahead chain the node before that one too.
pub(super) async fn enter_chain(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let first = if knows_predecessor(attempt, queue) { FirstListing::Skipped } else { FirstListing::Unwatched };
    let (own, listing) = attempt.creator().enqueue(queue.parent, queue.names, queue.mode, first).await?;
    let waited = Chain::new(attempt, queue, &own).wait(listing).await;
    let check_node_at = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { check_node_at, ..HeldLock::new(own) })
}
