use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zookeeper_client::EventType;

use super::super::attempt::Attempt;
use super::super::error::Stop;
use super::super::node::OwnNode;
use super::super::turn::{Turn, turn};
use super::super::wire::{Listing, Watch};
use super::place::{Place, gone, may_wait};

/// A waiter, or who has just become the holder, asks after its own node after this time without seeing it, ...
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// ... and a waiter then in such intervals. A watch would do it at once, but would cost one more event at each release.
const LOOKS: Duration = Duration::from_secs(5);

/// A wait in which only the predecessor is watched.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    attempt: &'a Attempt,
    place: &'a Place<'a>,
    own: &'a OwnNode,
    seen: Instant,
    next_look: Instant,
}

impl<'a> Chain<'a> {
    pub(super) fn new(attempt: &'a Attempt, place: &'a Place<'a>, own: &'a OwnNode) -> Self {
        let seen = Instant::now();
        Self { attempt, place, own, seen, next_look: seen + FIRST_LOOK }
    }

    /// Waits until it is the own node's turn. Tells when to ask after the own node, where that was not listed in the end.
    pub(super) async fn wait(mut self, listed: Option<Listing>) -> Result<Option<Instant>, Stop> {
        let mut listed = listed;
        loop {
            let (children, _) = match listed.take() {
                Some(listing) => listing,
                None => self.place.list(self.attempt, self.own, false).await?,
            };
            let (on, then_holds) = match turn(&children, self.own.path.name(), self.place.names, self.place.places) {
                Turn::Holds => return Ok(None),
                Turn::Gone => return Err(gone(self.own)),
                Turn::Waits { on, then_holds } => (self.place.parent.child(on), then_holds),
            };
            self.saw(FIRST_LOOK);
            may_wait(self.attempt)?;
            while let Some((_, watch)) = self.attempt.wire.watch(&on).await? {
                if self.fired(watch).await? == EventType::NodeDeleted {
                    if then_holds {
                        return Ok(Some(self.seen + FIRST_LOOK));
                    }
                    break;
                }
            }
        }
    }

    /// Waits for the watch, and looks after the own node meanwhile: nobody tells when somebody else deletes it.
    async fn fired(&mut self, mut watch: Watch) -> Result<EventType, Stop> {
        loop {
            tokio::select! {
                biased;
                event = self.attempt.wire.wait(&mut watch) => return event,
                () = sleep_until(self.next_look) => {}
            }
            if !self.attempt.wire.exists(&self.own.path).await? {
                return Err(gone(self.own));
            }
            self.saw(LOOKS);
        }
    }

    fn saw(&mut self, next: Duration) {
        self.seen = Instant::now();
        self.next_look = self.seen + next;
    }
}
