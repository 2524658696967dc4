use super::super::attempt::Attempt;
use super::super::error::Stop;
use super::super::node::OwnNode;
use super::super::turn::{Turn, turn};
use super::super::wire::{Listing, Watch};
use super::place::{Place, gone, may_wait};

/// Waits until it is the own node's turn, watching the parent: each change of its children is a reason to list them
/// again. Gives the watch of the last listing, which the recipe leaves set.
pub(super) async fn wait(
    attempt: &Attempt,
    place: &Place<'_>,
    own: &OwnNode,
    listed: Option<Listing>,
) -> Result<Option<Watch>, Stop> {
    let mut listed = listed;
    loop {
        let (children, watch) = match listed.take() {
            Some(listing) => listing,
            None => place.list(attempt, own, true).await?,
        };
        match turn(&children, own.path.name(), place.names, place.places) {
            Turn::Holds => return Ok(watch),
            Turn::Gone => return Err(gone(own)),
            Turn::Waits { .. } => may_wait(attempt)?,
        }
        if let Some(mut watch) = watch {
            attempt.wire.wait(&mut watch).await?;
        }
    }
}
