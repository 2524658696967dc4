//! The task of one attempt: it owns the attempt's nodes from the first request to the last.
//!
//! The future of `acquire` and the guard are handles to it. Dropping them cancels it. Then it deletes what it created, through
//! lost replies and reconnects, as long as its session lives, and ends.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use zookeeper_client::{EventType, SessionState};

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::node::OwnNode;
use super::retrying_client::OneShotWatch;
use super::{Algorithm, LockError, Loss, downgrade, mutex, queue, semaphore};
use crate::time::until;
use crate::znode::ZnodePath;

/// What a guard asks of its attempt's task.
#[derive(Debug)]
pub(super) enum GuardRequest {
    /// Watch the node, to notice when somebody else deletes it.
    Watch,
    /// Downgrade from writing to reading. The answer is the path of the new node.
    Downgrade(oneshot::Sender<Result<ZnodePath, LockError>>),
}

/// The task's ends of the channels between it and its handle.
#[derive(Debug)]
pub(super) struct AttemptChannels {
    pub(super) granted: oneshot::Sender<Result<OwnNode, NotAcquired>>,
    pub(super) requests: mpsc::Receiver<GuardRequest>,
    pub(super) loss: watch::Sender<Option<Loss>>,
}

impl Attempt {
    /// Acquires the lock, holds it until it is cancelled or lost, and deletes what it created. The result is that of the
    /// release.
    pub(super) async fn run(self, channels: AttemptChannels) -> Result<(), LockError> {
        let released = self.acquire_and_hold(channels).await;
        self.delete_late_nodes();
        released
    }

    async fn acquire_and_hold(&self, channels: AttemptChannels) -> Result<(), LockError> {
        let contended = match self.spec.algorithm {
            Algorithm::Mutex | Algorithm::MutexParent => mutex::contend(self).await,
            Algorithm::Semaphore(leases) => semaphore::contend(self, leases).await,
            _ => queue::contend(self).await,
        };
        let held = match contended {
            Ok(held) => held,
            Err(reason) => {
                // Fails when the handle was dropped.
                let _ = channels.granted.send(Err(reason));
                return Ok(());
            }
        };
        let _ = channels.granted.send(Ok(held.own.clone()));
        let queue_node = held.queue_node.clone();
        let leave_queue = async {
            if let Some(node) = &queue_node {
                // It fails only when the session ends, which deletes the node.
                let _ = self.client.delete(&node.path).await;
            }
        };
        // The queue node first, also when the guard is dropped at once: who returns a lease while it is still in the queue looks like
        // one that never had it.
        let ((), released) = join(leave_queue, self.hold(held, channels.requests, &channels.loss)).await;
        released
    }

    async fn hold(
        &self,
        mut held: HeldLock,
        mut requests: mpsc::Receiver<GuardRequest>,
        loss_sender: &watch::Sender<Option<Loss>>,
    ) -> Result<(), LockError> {
        let mut own_node_lost = self.watch_own_node(&held, held.name_is_reused);
        let Some(loss) = self.keep(&mut held, &mut requests, &mut own_node_lost).await else {
            let released = self.release(&mut held).await;
            if released.is_ok() {
                // The event of the deletion came before its reply.
                let _ = own_node_lost.now_or_never();
                held.unfired_watch.iter_mut().for_each(OneShotWatch::settle);
            }
            return released;
        };
        loss_sender.send_replace(Some(loss));
        if loss == Loss::Deleted {
            self.client.meter.gone(&held.own.path);
        }
        if loss == Loss::Expired {
            // The session may live on after all. A node without a guard must not block others.
            let _ = self.delete(&mut held, true).await;
        }
        Err(loss.error(&self.spec.path, &held.own.path))
    }

    /// Holds the lock until it is cancelled (`None`) or lost.
    async fn keep<'a>(
        &'a self,
        held: &mut HeldLock,
        requests: &mut mpsc::Receiver<GuardRequest>,
        own_node_lost: &mut BoxFuture<'a, Loss>,
    ) -> Option<Loss> {
        let mut states = self.client.raw.state_watcher();
        let mut presumed_lost = self.presumed_lost_at(states.peek_state());
        let mut watched = held.name_is_reused;
        loop {
            if states.peek_state().is_terminated() {
                return Some(Loss::Expired);
            }
            tokio::select! {
                biased;
                lost = &mut *own_node_lost => return Some(lost),
                () = self.client.cancel.cancelled() => return None,
                () = fired(&mut held.unfired_watch) => held.unfired_watch = None,
                state = states.changed() => presumed_lost = self.presumed_lost_at(state),
                () = until(presumed_lost) => return Some(Loss::Expired),
                Some(order) = requests.recv() => {
                    match order {
                        GuardRequest::Watch if watched => continue,
                        GuardRequest::Watch => watched = true,
                        // Fails when the guard was dropped, which cancels the attempt.
                        GuardRequest::Downgrade(reply) => {
                            let _ = reply.send(downgrade::downgrade(self, held).await);
                        }
                    }
                    *own_node_lost = self.watch_own_node(held, watched);
                }
            }
        }
    }

    /// Watches the own node, or checks it once at the time that `held` says. Ends when the lock is lost.
    fn watch_own_node(&self, held: &HeldLock, watched: bool) -> BoxFuture<'_, Loss> {
        let (path, check_node_at) = (held.own.path.clone(), held.check_node_at);
        Box::pin(async move {
            if !watched {
                until(check_node_at).await;
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
                    // The session is over, or for another reason nobody can know whether the lock is held.
                    Err(_) => return Loss::Expired,
                }
            }
        })
    }

    /// When a holder without a connection must presume its lock lost; `None` with a connection.
    ///
    /// The servers end a session one timeout after the last message of its client. The client library notices silence after two
    /// fifths of it at the latest, so at least half of it is left then.
    fn presumed_lost_at(&self, state: SessionState) -> Option<Instant> {
        let left: Duration = self.client.raw.session_timeout() / 2;
        (state == SessionState::Disconnected).then(|| Instant::now() + left)
    }

    async fn release(&self, held: &mut HeldLock) -> Result<(), LockError> {
        if self.delete(held, false).await? { Ok(()) } else { Err(Loss::Deleted.error(&self.spec.path, &held.own.path)) }
    }

    /// Deletes the own node. `false` when it was gone before.
    async fn delete(&self, held: &mut HeldLock, after_disconnect: bool) -> Result<bool, LockError> {
        if held.name_is_reused {
            mutex::delete(&self.client, &held.own.path, held.own.created, after_disconnect).await
        } else {
            self.client.delete(&held.own.path).await
        }
    }
}

/// Waits for the event of a watch; forever without one. Cancel safe.
async fn fired(watch: &mut Option<OneShotWatch>) {
    match watch {
        Some(watch) => drop(watch.fired().await),
        None => std::future::pending().await,
    }
}
