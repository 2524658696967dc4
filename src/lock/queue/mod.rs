//! The queues: a numbered node each, and two ways to wait for one's turn.

mod chain;
mod herd;
mod place;

use super::attempt::{Attempt, Held};
use super::error::Stop;
use super::{Access, Algorithm};

pub(super) use place::{Place, clean_up};

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
