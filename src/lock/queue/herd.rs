use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::node::OwnNode;
use super::super::position::{QueuePosition, position};
use super::super::retrying_client::{Listing, OneShotWatch};
use super::joined_queue::{JoinedQueue, may_wait, node_deleted};

/// Waits until it is the own node's turn, watching the parent: each change of its children is a reason to list them
/// again. Gives the watch of the last listing, which the recipe leaves set.
pub(super) async fn wait(
    attempt: &Attempt,
    place: &JoinedQueue<'_>,
    own: &OwnNode,
    listed: Option<Listing>,
) -> Result<Option<OneShotWatch>, NotAcquired> {
    let mut listed = listed;
    loop {
        let (children, watch) = match listed.take() {
            Some(listing) => listing,
            None => place.list(attempt, own, true).await?,
        };
        match position(&children, own.path.name(), place.names, place.max_holders) {
            QueuePosition::Holds => return Ok(watch),
            QueuePosition::Gone => return Err(node_deleted(own)),
            QueuePosition::Waits { .. } => may_wait(attempt)?,
        }
        if let Some(mut watch) = watch {
            attempt.client.wait(&mut watch).await?;
        }
    }
}
