//! A queue that an attempt has joined, and how its wait may end.

use super::super::LockError;
use super::super::attempt::Attempt;
use super::super::error::NotAcquired;
use super::super::naming::{NodeMode, QueueNames};
use super::super::position::{QueuePosition, position};
use super::super::retrying_client::{LastSeen, Listing, OwnNode};
use lockscope_base::znode::ZnodePath;

/// Deletes the own node when the wait has ended without the lock.
pub(crate) async fn clean_up<T>(
    attempt: &Attempt,
    own: &OwnNode,
    waited: Result<T, NotAcquired>,
) -> Result<T, NotAcquired> {
    let Err(reason) = &waited else { return waited };
    // A semaphore's attempt has a second node, and it may be that one that was deleted.
    if matches!(reason, NotAcquired::Failed(LockError::NodeDeleted { node }) if *node == own.path) {
        attempt.client.meter.gone(&own.path);
        return waited;
    }
    // An unsuccessful try has just listed its node.
    let seen = if matches!(reason, NotAcquired::NotFree) { LastSeen::JustNow } else { LastSeen::Before };
    if let Err(error) = attempt.client.delete(own, seen).await {
        return Err(NotAcquired::Failed(match reason {
            NotAcquired::Failed(first) => first.clone(),
            NotAcquired::Cancelled | NotAcquired::NotFree => error,
        }));
    }
    waited
}

/// The queue that an attempt has joined, and what it asks for there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedQueue<'a> {
    pub(crate) parent: &'a ZnodePath,
    pub(crate) names: &'a QueueNames,
    pub(crate) mode: NodeMode,
    /// The maximum number of holders.
    pub(crate) max_holders: usize,
}

impl JoinedQueue<'_> {
    /// Lists the parent's children. Without the parent there is no own node either.
    pub(crate) async fn list(&self, attempt: &Attempt, own: &OwnNode, watched: bool) -> Result<Listing, NotAcquired> {
        let listing = attempt.client.list(self.parent, watched).await?;
        listing.ok_or_else(|| node_deleted(own))
    }

    /// Returns the own node's position according to a listing. If the parent is younger than the
    /// node, the node was deleted with the old parent, and the new one gives the same numbers
    /// again.
    pub(crate) fn position<'l>(&self, listing: &'l Listing, own: &OwnNode) -> QueuePosition<'l> {
        if own.created < listing.parent_created {
            return QueuePosition::Gone;
        }
        position(&listing.names, own.path.name(), self.names, self.max_holders)
    }
}

pub(crate) fn node_deleted(own: &OwnNode) -> NotAcquired {
    LockError::NodeDeleted { node: own.path.clone() }.into()
}

/// Checks whether the attempt may go on to wait.
pub(crate) fn may_wait(attempt: &Attempt) -> Result<(), NotAcquired> {
    attempt.creator().cancelled()?;
    if attempt.waits { Ok(()) } else { Err(NotAcquired::NotFree) }
}
