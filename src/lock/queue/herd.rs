//! Waiting in a queue with a watch on the parent.

use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::node::OwnNode;
use super::super::position::{QueuePosition, position};
use super::super::retrying_client::{Listing, OneShotWatch};
use super::joined_queue::{JoinedQueue, may_wait, node_deleted};

/// Waits until the own node holds. Each change of the parent's children makes it list them again. Gives the watch of the
/// last listing, which stays set.
pub(super) async fn wait(
    attempt: &Attempt,
    queue: &JoinedQueue<'_>,
    own: &OwnNode,
    listed: Option<Listing>,
) -> Result<Option<OneShotWatch>, NotAcquired> {
    let mut listed = listed;
    loop {
        let (children, watch) = match listed.take() {
            Some(listing) => listing,
            None => queue.list(attempt, own, true).await?,
        };
        match position(&children, own.path.name(), queue.names, queue.max_holders) {
            QueuePosition::Holds => return Ok(watch),
            QueuePosition::Gone => return Err(node_deleted(own)),
            QueuePosition::Waits { .. } => may_wait(attempt)?,
        }
        if let Some(mut watch) = watch {
            attempt.client.wait(&mut watch).await?;
        }
    }
}
