//! The semaphore: a queue lock, and the leases that its holder takes.

use std::num::NonZeroU32;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::naming::{NodeMode, QueueNames};
use super::queue::{JoinedQueue, clean_up, enter_chain, enter_herd};

/// Takes the queue lock, then a lease. Then, or on an error, the queue lock is released.
pub(super) async fn contend(attempt: &Attempt, leases: NonZeroU32) -> Result<HeldLock, NotAcquired> {
    let (locks, lease_parent) = (attempt.spec.path.child("locks"), attempt.spec.path.child("leases"));
    let queue = JoinedQueue { parent: &locks, names: &attempt.spec.names, mode: NodeMode::Exclusive, max_holders: 1 };
    let queued = enter_chain(attempt, &queue).await?;
    let names = QueueNames::leases();
    let max_holders = usize::try_from(leases.get()).unwrap_or(usize::MAX);
    let lease_queue = JoinedQueue { parent: &lease_parent, names: &names, mode: NodeMode::Lease, max_holders };
    // Only the holder of the queue lock gets here, so a single attempt watches the leases.
    let waited = enter_herd(attempt, &lease_queue).await;
    let held = clean_up(attempt, &queued.own, waited).await?;
    Ok(HeldLock { queue_node: Some(queued.own), ..held })
}
