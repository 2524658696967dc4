//! Holding a lock until it is released or lost.

use std::future::pending;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use lockscope_requests::SessionStates;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use zookeeper_client::EventType;

use super::attempt::{Attempt, HeldLock};
use super::guard::GuardRequest;
use super::retrying_client::{LastSeen, OneShotWatch, OwnNode};
use super::session_clock::SessionClock;
use super::{LockError, Loss, downgrade};

/// A held lock, as its task keeps it.
pub(super) struct Holding<'a> {
    attempt: &'a Attempt,
    pub(super) held: HeldLock,
    states: Box<dyn SessionStates>,
    clock: SessionClock,
    /// Ends when the own node turns out to be lost.
    own_node: BoxFuture<'a, Loss>,
    /// Whether the own node is watched, as `Guard::lost` asks for.
    watched: bool,
    /// Ends when a request that was sent after a pause is answered: with the time at which it was
    /// sent, or the loss.
    proof: Option<BoxFuture<'a, Result<Instant, Loss>>>,
    /// Whether the connection was lost since the lock was granted.
    disconnected: bool,
}

impl<'a> Holding<'a> {
    pub(super) fn new(
        attempt: &'a Attempt,
        held: HeldLock,
        states: Box<dyn SessionStates>,
        clock: SessionClock,
    ) -> Self {
        let own_node = check_later(attempt, &held);
        Self { attempt, held, states, clock, own_node, watched: false, proof: None, disconnected: false }
    }

    /// Holds the lock until it is cancelled (`None`) or lost.
    pub(super) async fn keep(&mut self, requests: &mut mpsc::Receiver<GuardRequest>) -> Option<Loss> {
        loop {
            if self.states.peek().is_terminated() {
                return Some(Loss::Expired);
            }
            if self.clock.needs_proof() && self.proof.is_none() {
                self.proof = Some(prove(self.attempt, self.held.own.clone()));
            }
            tokio::select! {
                biased;
                lost = &mut self.own_node => return Some(lost),
                () = self.attempt.client.cancel.cancelled() => return None,
                () = fired(&mut self.held.unfired_watch) => self.held.unfired_watch = None,
                proof = proved(&mut self.proof) => {
                    self.proof = None;
                    match proof {
                        Ok(sent_at) => self.clock.proved(sent_at),
                        Err(loss) => return Some(loss),
                    }
                }
                Some(()) = OptionFuture::from(self.clock.presumed_expired_at().map(sleep_until)) => return Some(Loss::Expired),
                // The clock comes before the state: after a pause, the library's state may be as
                // old as the pause.
                () = sleep_until(self.clock.next_tick()) => self.clock.tick(Instant::now()),
                state = self.states.changed() => {
                    self.disconnected = true;
                    self.clock.changed(state, Instant::now());
                }
                Some(request) = requests.recv() => self.answer(request).await,
            }
        }
    }

    async fn answer(&mut self, request: GuardRequest) {
        match request {
            GuardRequest::Watch if self.watched => return,
            GuardRequest::Watch => self.watched = true,
            // Fails when the guard was dropped, which cancels the attempt.
            GuardRequest::Downgrade(reply) => {
                let _ = reply.send(downgrade::downgrade(self.attempt, &mut self.held).await);
                // A proof that is under way looks for the node from before.
                self.proof = None;
            }
        }
        self.own_node = if self.watched {
            watch(self.attempt, self.held.own.clone())
        } else {
            check_later(self.attempt, &self.held)
        };
    }

    /// Deletes the own node; an error when it was gone before.
    pub(super) async fn release(&mut self) -> Result<(), LockError> {
        let disconnected = self.disconnected || self.states.changed().now_or_never().is_some();
        let seen = if disconnected { LastSeen::Before } else { LastSeen::OnThisConnection };
        if !self.attempt.client.delete(&self.held.own, seen).await? {
            return Err(Loss::Deleted.error(&self.attempt.spec.path, &self.held.own.path));
        }
        // The event of the deletion came before its reply.
        let _ = (&mut self.own_node).now_or_never();
        self.held.unfired_watch.iter_mut().for_each(OneShotWatch::check_fired);
        Ok(())
    }
}

/// Watches the own node. Ends when it is lost.
fn watch(attempt: &Attempt, own: OwnNode) -> BoxFuture<'_, Loss> {
    Box::pin(async move {
        loop {
            match attempt.client.watch(&own.path).await {
                Ok(Some(mut node)) if own.is(&node.stat) => match node.watch.fired().await.event_type {
                    EventType::NodeDeleted => return Loss::Deleted,
                    EventType::Session => return Loss::Expired,
                    _ => {}
                },
                // Another node may have its path.
                Ok(_) => return Loss::Deleted,
                // The session has ended, or it cannot be known for another reason whether the lock
                // is held.
                Err(_) => return Loss::Expired,
            }
        }
    })
}

/// Checks the own node once, at the time that `held` says. Ends when it is lost.
fn check_later<'a>(attempt: &'a Attempt, held: &HeldLock) -> BoxFuture<'a, Loss> {
    let (own, check_node_at) = (held.own.clone(), held.check_node_at);
    Box::pin(async move {
        let Some(check_node_at) = check_node_at else { return pending().await };
        sleep_until(check_node_at).await;
        if attempt.client.has(&own).await == Ok(false) { Loss::Deleted } else { pending().await }
    })
}

/// Proves by a request that the session lives, and that the own node is there.
fn prove(attempt: &Attempt, own: OwnNode) -> BoxFuture<'_, Result<Instant, Loss>> {
    Box::pin(async move {
        let sent_at = Instant::now();
        match attempt.client.has_in_sync(&own).await {
            Ok(true) => Ok(sent_at),
            Ok(false) => Err(Loss::Deleted),
            Err(_) => Err(Loss::Expired),
        }
    })
}

/// Waits for the event of a watch; forever without one. Cancel safe.
async fn fired(watch: &mut Option<OneShotWatch>) {
    match watch {
        Some(watch) => drop(watch.fired().await),
        None => pending().await,
    }
}

/// Waits for a proof; forever without one. Cancel safe.
async fn proved(proof: &mut Option<BoxFuture<'_, Result<Instant, Loss>>>) -> Result<Instant, Loss> {
    match proof {
        Some(proof) => proof.await,
        None => pending().await,
    }
}
