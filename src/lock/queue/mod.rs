//! The queues of sequential nodes, and the two ways to wait in them.

mod chain;
mod herd;
mod joined_queue;
mod node_watches;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
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

/// Joins a queue and waits as a herd does: every waiter watches the parent.
pub(super) async fn enter_herd(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) = attempt.creator().enqueue(queue.parent, queue.names, queue.mode, true).await?;
    let waited = herd::wait(attempt, queue, &own, listing).await;
    let unfired_watch = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { unfired_watch, ..HeldLock::new(own) })
}

/// Joins a queue and waits as a chain does: every waiter watches its predecessor, and in a look-ahead chain the node before
/// that one too.
pub(super) async fn enter_chain(attempt: &Attempt, queue: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) = attempt.creator().enqueue(queue.parent, queue.names, queue.mode, false).await?;
    let waited = Chain::new(attempt, queue, &own).wait(listing).await;
    let check_node_at = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { check_node_at, ..HeldLock::new(own) })
}
