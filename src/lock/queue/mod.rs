//! The queues: a numbered node each, and two ways to wait for one's turn.

mod chain;
mod herd;

use super::attempt::{Attempt, Held, Stop};
use super::naming::{Ask, Names};
use super::node::OwnNode;
use super::wire::Listing;
use super::{Access, Algorithm, LockError};
use crate::znode::ZnodePath;

use chain::Chain;

/// Contends for a lock of one queue.
pub(super) async fn contend(attempt: &Attempt) -> Result<Held, Stop> {
    let access = attempt.spec.algorithm.access().unwrap_or(Access::Write);
    let place = Place { parent: &attempt.spec.path, names: &attempt.spec.names, ask: access.into(), places: 1 };
    match attempt.spec.algorithm {
        Algorithm::Herd | Algorithm::SharedHerd(_) => enter_herd(attempt, &place).await,
        _ => enter_chain(attempt, &place).await,
    }
}

/// Joins a queue and waits herd-style.
pub(super) async fn enter_herd(attempt: &Attempt, place: &Place<'_>) -> Result<Held, Stop> {
    let (own, listing) = attempt.maker().join(place.parent, place.names, place.ask, true).await?;
    let waited = herd::wait(attempt, place, &own, listing).await;
    let kept = clean_up(attempt, &own, waited).await?;
    Ok(Held { kept, ..Held::new(own) })
}

/// Joins a queue and waits chain-style.
pub(super) async fn enter_chain(attempt: &Attempt, place: &Place<'_>) -> Result<Held, Stop> {
    let (own, listing) = attempt.maker().join(place.parent, place.names, place.ask, false).await?;
    let waited = Chain::new(attempt, place, &own).wait(listing).await;
    let look = clean_up(attempt, &own, waited).await?;
    Ok(Held { look, ..Held::new(own) })
}

/// Deletes the own node when the wait for the turn has ended without it.
pub(super) async fn clean_up<T>(attempt: &Attempt, own: &OwnNode, waited: Result<T, Stop>) -> Result<T, Stop> {
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
pub(super) struct Place<'a> {
    pub(super) parent: &'a ZnodePath,
    pub(super) names: &'a Names,
    pub(super) ask: Ask,
    /// How many may hold at once.
    pub(super) places: usize,
}

impl Place<'_> {
    /// The parent's children. Without the parent there is no own node either.
    async fn list(&self, attempt: &Attempt, own: &OwnNode, watched: bool) -> Result<Listing, Stop> {
        let listing = attempt.wire.list(self.parent, watched).await?;
        listing.ok_or_else(|| gone(own))
    }
}

pub(super) fn gone(own: &OwnNode) -> Stop {
    LockError::NodeDeleted { node: own.path.clone() }.into()
}

/// Whether the attempt may go on to wait.
fn may_wait(attempt: &Attempt) -> Result<(), Stop> {
    attempt.maker().cancelled()?;
    if attempt.waits { Ok(()) } else { Err(Stop::NotFree) }
}
