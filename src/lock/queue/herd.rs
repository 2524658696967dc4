//! Waiting in a queue with a watch on the parent.

use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::position::QueuePosition;
use super::super::retrying_client::{Listing, OneShotWatch, OwnNode};
use super::joined_queue::{JoinedQueue, may_wait, node_deleted};

/// Waits until the own node holds. Each change of the parent's children and each reconnect causes
/// another listing. Returns the watch of the last listing, which stays set.
pub(super) async fn wait(
    attempt: &Attempt,
    queue: &JoinedQueue<'_>,
    own: &OwnNode,
    listed: Option<Listing>,
) -> Result<Option<OneShotWatch>, NotAcquired> {
    let (mut listed, mut states) = (listed, attempt.client.states());
    loop {
        let listing = match listed.take() {
            Some(listing) => listing,
            None => queue.list(attempt, own, true).await?,
        };
        match queue.position(&listing, own) {
            QueuePosition::Holds => return Ok(listing.watch),
            QueuePosition::Gone => return Err(node_deleted(own)),
            QueuePosition::Waits { .. } => may_wait(attempt)?,
        }
        if let Some(mut watch) = listing.watch {
            attempt.client.wait_for_children(&mut watch, &mut *states).await?;
        }
    }
}
