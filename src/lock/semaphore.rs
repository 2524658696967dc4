//! Up to a number of leases at once: a queue lock before, the leases behind it.

use std::num::NonZeroU32;

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::naming::{QueueNames, RequestMode};
use super::queue::{JoinedQueue, clean_up, enter_chain, enter_herd};

/// Takes the queue lock, then a lease. The queue lock is left when the lease is had, or when it is not.
pub(super) async fn contend(attempt: &Attempt, leases: NonZeroU32) -> Result<HeldLock, NotAcquired> {
    let (locks, lease_parent) = (attempt.spec.path.child("locks"), attempt.spec.path.child("leases"));
    let queue =
        JoinedQueue { parent: &locks, names: &attempt.spec.names, mode: RequestMode::Exclusive, max_holders: 1 };
    let queued = enter_chain(attempt, &queue).await?;
    let names = QueueNames::leases();
    let places = usize::try_from(leases.get()).unwrap_or(usize::MAX);
    let counted = JoinedQueue { parent: &lease_parent, names: &names, mode: RequestMode::Lease, max_holders: places };
    // Only the holder of the queue lock comes here, so that its watch on the leases wakes one and not many.
    let counts = enter_herd(attempt, &counted).await;
    let had = clean_up(attempt, &queued.own, counts).await?;
    Ok(HeldLock { queue_node: Some(queued.own), ..had })
}
