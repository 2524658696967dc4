//! The queues: a numbered node each, and two ways to wait for one's turn.

mod chain;
mod herd;
mod joined_queue;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::{Access, Algorithm};

pub(super) use joined_queue::{JoinedQueue, clean_up};

use chain::Chain;

/// Contends for a lock of one queue.
pub(super) async fn contend(attempt: &Attempt) -> Result<HeldLock, NotAcquired> {
    let access = attempt.spec.algorithm.access().unwrap_or(Access::Write);
    let place =
        JoinedQueue { parent: &attempt.spec.path, names: &attempt.spec.names, mode: access.into(), max_holders: 1 };
    match attempt.spec.algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) => enter_herd(attempt, &place).await,
        _ => enter_chain(attempt, &place).await,
    }
}

/// Joins a queue and waits herd-style.
pub(super) async fn enter_herd(attempt: &Attempt, place: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) = attempt.creator().enqueue(place.parent, place.names, place.mode, true).await?;
    let waited = herd::wait(attempt, place, &own, listing).await;
    let kept = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { unfired_watch: kept, ..HeldLock::new(own) })
}

/// Joins a queue and waits chain-style.
pub(super) async fn enter_chain(attempt: &Attempt, place: &JoinedQueue<'_>) -> Result<HeldLock, NotAcquired> {
    let (own, listing) = attempt.creator().enqueue(place.parent, place.names, place.mode, false).await?;
    let waited = Chain::new(attempt, place, &own).wait(listing).await;
    let look = clean_up(attempt, &own, waited).await?;
    Ok(HeldLock { check_node_at: look, ..HeldLock::new(own) })
}
