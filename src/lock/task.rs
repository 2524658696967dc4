//! One attempt to get a lock: a task that owns its nodes from the first request to the last.
//!
//! The future of `acquire` and the guard are handles to it. Whatever is dropped on their side cancels it, and it deletes
//! what it made, over lost replies and reconnects, for as long as its session lives. So it ends in any case.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use zookeeper_client::{EventType, SessionState};

use super::attempt::{Attempt, Held};
use super::error::Stop;
use super::node::OwnNode;
use super::wire::Watch;
use super::{Algorithm, LockError, Loss, downgrade, mutex, queue, semaphore};
use crate::znode::ZnodePath;

/// What a guard wants of its attempt.
#[derive(Debug)]
pub(super) enum Order {
    /// To be told when the node is deleted by somebody else.
    Watch,
    /// To step down to reading.
    Downgrade(oneshot::Sender<Result<ZnodePath, LockError>>),
}

/// The attempt's side of what connects it with its handle.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) granted: oneshot::Sender<Result<OwnNode, Stop>>,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) loss: watch::Sender<Option<Loss>>,
}

impl Attempt {
    /// Contends, holds until it is cancelled or the lock is lost, and deletes what it made. The result is the
    /// release's.
    pub(super) async fn run(self, ends: Ends) -> Result<(), LockError> {
        let contended = match self.spec.algorithm {
            Algorithm::Mutex | Algorithm::MutexParent => mutex::contend(&self).await,
            Algorithm::Semaphore(leases) => semaphore::contend(&self, leases).await,
            _ => queue::contend(&self).await,
        };
        let held = match contended {
            Ok(held) => held,
            Err(stop) => {
                // The handle may be gone, and then nobody wants to know.
                let _ = ends.granted.send(Err(stop));
                return Ok(());
            }
        };
        let _ = ends.granted.send(Ok(held.own.clone()));
        let leave = held.leave.clone();
        let leaving = async {
            if let Some(node) = &leave {
                // It fails only with the session, which takes the node along.
                let _ = self.wire.delete(&node.path).await;
            }
        };
        let (released, ()) = join(self.hold(held, ends.orders, &ends.loss), leaving).await;
        released
    }

    async fn hold(
        &self,
        mut held: Held,
        mut orders: mpsc::Receiver<Order>,
        told: &watch::Sender<Option<Loss>>,
    ) -> Result<(), LockError> {
        let mut guarding = self.guarding(&held, held.name_is_reused);
        let Some(loss) = self.keep(&mut held, &mut orders, &mut guarding).await else {
            let released = self.release(&mut held).await;
            if released.is_ok() {
                // The event of the own deletion came before the reply to it.
                let _ = guarding.now_or_never();
                held.kept.iter_mut().for_each(Watch::settle);
            }
            return released;
        };
        told.send_replace(Some(loss));
        if loss == Loss::Expired {
            // Perhaps the session is back later after all. What the guard no longer vouches for must not be in the way.
            let _ = self.delete(&mut held, true).await;
        }
        Err(loss.error(&self.spec.path, &held.own.path))
    }

    /// Holds; ends when cancelled (`None`) or when the lock is lost.
    async fn keep<'a>(
        &'a self,
        held: &mut Held,
        orders: &mut mpsc::Receiver<Order>,
        guarding: &mut BoxFuture<'a, Loss>,
    ) -> Option<Loss> {
        let mut states = self.wire.client.state_watcher();
        let mut doubtful = self.doubtful_from(states.peek_state());
        let mut watched = held.name_is_reused;
        loop {
            if states.peek_state().is_terminated() {
                return Some(Loss::Expired);
            }
            tokio::select! {
                biased;
                lost = &mut *guarding => return Some(lost),
                () = self.wire.cancel.cancelled() => return None,
                state = states.changed() => doubtful = self.doubtful_from(state),
                () = at(doubtful) => return Some(Loss::Expired),
                Some(order) = orders.recv() => {
                    match order {
                        Order::Watch if watched => continue,
                        Order::Watch => watched = true,
                        // A guard that has gone meanwhile has cancelled the attempt.
                        Order::Downgrade(reply) => {
                            let _ = reply.send(downgrade::step_down(self, held).await);
                        }
                    }
                    *guarding = self.guarding(held, watched);
                }
            }
        }
    }

    /// Looks after the own node. Ends when it is known to be lost.
    fn guarding(&self, held: &Held, watched: bool) -> BoxFuture<'_, Loss> {
        let (path, look) = (held.own.path.clone(), held.look);
        Box::pin(async move {
            if !watched {
                at(look).await;
                if self.wire.exists(&path).await == Ok(false) {
                    return Loss::Deleted;
                }
                return std::future::pending().await;
            }
            loop {
                match self.wire.watch(&path).await {
                    Ok(Some((_, mut watch))) => match watch.fired().await.event_type {
                        EventType::NodeDeleted => return Loss::Deleted,
                        EventType::Session => return Loss::Expired,
                        _ => {}
                    },
                    Ok(None) => return Loss::Deleted,
                    // Of a session that is over; whatever else it is, nobody can vouch for the lock any more.
                    Err(_) => return Loss::Expired,
                }
            }
        })
    }

    /// From when on a holder without a connection must not believe in its lock any more.
    ///
    /// The servers end a session one timeout after they last heard of it. The client library notices silence after two
    /// fifths of that at the latest, so half of it is left when it does; whatever else holds by then holds later.
    fn doubtful_from(&self, state: SessionState) -> Option<Instant> {
        let left: Duration = self.wire.client.session_timeout() / 2;
        (state == SessionState::Disconnected).then(|| Instant::now() + left)
    }

    async fn release(&self, held: &mut Held) -> Result<(), LockError> {
        if self.delete(held, false).await? { Ok(()) } else { Err(Loss::Deleted.error(&self.spec.path, &held.own.path)) }
    }

    /// Deletes the own node; `false` when it was gone before.
    async fn delete(&self, held: &mut Held, after_a_cut: bool) -> Result<bool, LockError> {
        if held.name_is_reused {
            mutex::delete(self, &held.own, after_a_cut).await
        } else {
            self.wire.delete(&held.own.path).await
        }
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
