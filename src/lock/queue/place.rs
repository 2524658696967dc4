//! Where an attempt stands in a queue, and how its wait may end.

use super::super::LockError;
use super::super::attempt::Attempt;
use super::super::error::Stop;
use super::super::naming::{Ask, Names};
use super::super::node::OwnNode;
use super::super::wire::Listing;
use crate::znode::ZnodePath;

/// Deletes the own node when the wait for the turn has ended without it.
pub(in crate::lock) async fn clean_up<T>(attempt: &Attempt, own: &OwnNode, waited: Result<T, Stop>) -> Result<T, Stop> {
    if let Err(stop) = &waited
        && !matches!(stop, Stop::Failed(LockError::NodeDeleted { .. }))
        && let Err(error) = attempt.wire.delete(&own.path).await
    {
        return Err(Stop::Failed(match stop {
            Stop::Failed(first) => first.clone(),
            Stop::Cancelled | Stop::NotFree => error,
        }));
    }
    waited
}

/// Where an attempt queues up, and for what.
#[derive(Clone, Copy, Debug)]
pub(in crate::lock) struct Place<'a> {
    pub(in crate::lock) parent: &'a ZnodePath,
    pub(in crate::lock) names: &'a Names,
    pub(in crate::lock) ask: Ask,
    /// How many may hold at once.
    pub(in crate::lock) places: usize,
}

impl Place<'_> {
    /// The parent's children. Without the parent there is no own node either.
    pub(in crate::lock) async fn list(&self, attempt: &Attempt, own: &OwnNode, watched: bool) -> Result<Listing, Stop> {
        let listing = attempt.wire.list(self.parent, watched).await?;
        listing.ok_or_else(|| gone(own))
    }
}

pub(in crate::lock) fn gone(own: &OwnNode) -> Stop {
    LockError::NodeDeleted { node: own.path.clone() }.into()
}

/// Whether the attempt may go on to wait.
pub(in crate::lock) fn may_wait(attempt: &Attempt) -> Result<(), Stop> {
    attempt.maker().cancelled()?;
    if attempt.waits { Ok(()) } else { Err(Stop::NotFree) }
}
