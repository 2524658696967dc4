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

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::node::OwnNode;
use super::retrying_client::OneShotWatch as WatchOwnNode;
use super::{Algorithm, LockError, Loss, downgrade, mutex, queue, semaphore};
use crate::time::until;
use crate::znode::ZnodePath;

/// What a guard wants of its attempt.
#[derive(Debug)]
pub(super) enum GuardRequest {
    /// To be told when the node is deleted by somebody else.
    Watch,
    /// To step down to reading.
    Downgrade(oneshot::Sender<Result<ZnodePath, LockError>>),
}

/// The attempt's side of what connects it with its handle.
#[derive(Debug)]
pub(super) struct AttemptChannels {
    pub(super) granted: oneshot::Sender<Result<OwnNode, NotAcquired>>,
    pub(super) requests: mpsc::Receiver<GuardRequest>,
    pub(super) loss: watch::Sender<Option<Loss>>,
}

impl Attempt {
    /// Contends, holds until it is cancelled or the lock is lost, and deletes what it made. The result is the
    /// release's.
    pub(super) async fn run(self, ends: AttemptChannels) -> Result<(), LockError> {
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
        let leave = held.queue_node.clone();
        let leaving = async {
            if let Some(node) = &leave {
                // It fails only with the session, which takes the node along.
                let _ = self.client.delete(&node.path).await;
            }
        };
        let (released, ()) = join(self.hold(held, ends.requests, &ends.loss), leaving).await;
        released
    }

    async fn hold(
        &self,
        mut held: HeldLock,
        mut requests: mpsc::Receiver<GuardRequest>,
        told: &watch::Sender<Option<Loss>>,
    ) -> Result<(), LockError> {
        let mut own_node_lost = self.watch_own_node(&held, held.name_is_reused);
        let Some(loss) = self.keep(&mut held, &mut requests, &mut own_node_lost).await else {
            let released = self.release(&mut held).await;
            if released.is_ok() {
                // The event of the own deletion came before the reply to it.
                let _ = own_node_lost.now_or_never();
                held.unfired_watch.iter_mut().for_each(WatchOwnNode::settle);
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
        held: &mut HeldLock,
        requests: &mut mpsc::Receiver<GuardRequest>,
        guarding: &mut BoxFuture<'a, Loss>,
    ) -> Option<Loss> {
        let mut states = self.client.raw.state_watcher();
        let mut doubtful = self.presumed_lost_at(states.peek_state());
        let mut watched = held.name_is_reused;
        loop {
            if states.peek_state().is_terminated() {
                return Some(Loss::Expired);
            }
            tokio::select! {
                biased;
                lost = &mut *guarding => return Some(lost),
                () = self.client.cancel.cancelled() => return None,
                state = states.changed() => doubtful = self.presumed_lost_at(state),
                () = until(doubtful) => return Some(Loss::Expired),
                Some(order) = requests.recv() => {
                    match order {
                        GuardRequest::Watch if watched => continue,
                        GuardRequest::Watch => watched = true,
                        // A guard that has gone meanwhile has cancelled the attempt.
                        GuardRequest::Downgrade(reply) => {
                            let _ = reply.send(downgrade::downgrade(self, held).await);
                        }
                    }
                    *guarding = self.watch_own_node(held, watched);
                }
            }
        }
    }

    /// Looks after the own node. Ends when it is known to be lost.
    fn watch_own_node(&self, held: &HeldLock, watched: bool) -> BoxFuture<'_, Loss> {
        let (path, look) = (held.own.path.clone(), held.check_node_at);
        Box::pin(async move {
            if !watched {
                until(look).await;
                if self.client.exists(&path).await == Ok(false) {
                    return Loss::Deleted;
                }
                return std::future::pending().await;
            }
            loop {
                match self.client.watch(&path).await {
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
    fn presumed_lost_at(&self, state: SessionState) -> Option<Instant> {
        let left: Duration = self.client.raw.session_timeout() / 2;
        (state == SessionState::Disconnected).then(|| Instant::now() + left)
    }

    async fn release(&self, held: &mut HeldLock) -> Result<(), LockError> {
        if self.delete(held, false).await? { Ok(()) } else { Err(Loss::Deleted.error(&self.spec.path, &held.own.path)) }
    }

    /// Deletes the own node; `false` when it was gone before.
    async fn delete(&self, held: &mut HeldLock, after_a_cut: bool) -> Result<bool, LockError> {
        if held.name_is_reused {
            mutex::delete(self, &held.own, after_a_cut).await
        } else {
            self.client.delete(&held.own.path).await
        }
    }
}
