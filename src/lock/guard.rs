use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::node::OwnNode;
use super::task::GuardRequest;
use super::{Cost, CostCounter, LockError, Loss};
use crate::znode::{Sequence, ZnodePath, Zxid};

/// A held lock. Dropping it deletes the node in the background; [`release`](Self::release) does it and tells how it went.
///
/// It is taken by value to be released, so that it cannot be released twice.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct Guard {
    lock: ZnodePath,
    own: OwnNode,
    handle: Handle,
}

/// What connects a future or a guard with its attempt. Its end cancels the attempt.
#[derive(Debug)]
pub(super) struct Handle {
    /// Gives the result of the release.
    pub(super) task: Option<JoinHandle<Result<(), LockError>>>,
    pub(super) cancel: CancellationToken,
    pub(super) requests: mpsc::Sender<GuardRequest>,
    pub(super) loss: watch::Receiver<Option<Loss>>,
    pub(super) counter: CostCounter,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Guard {
    pub(super) fn new(lock: ZnodePath, own: OwnNode, handle: Handle) -> Self {
        Self { lock, own, handle }
    }

    /// The path of the lock.
    pub fn lock(&self) -> &ZnodePath {
        &self.lock
    }

    /// The path of the node that holds it.
    pub fn path(&self) -> &ZnodePath {
        &self.own.path
    }

    /// The node's number in the queue; `None` for single nodes, which have none.
    pub fn sequence(&self) -> Option<Sequence> {
        self.own.sequence
    }

    /// The fencing token: the transaction that created the node. It rises from holder to holder of an exclusive lock,
    /// so that a resource which remembers the highest one can refuse a holder that was paused for too long.
    ///
    /// It stays the same when a writer [steps down](Self::downgrade).
    pub fn token(&self) -> Zxid {
        self.own.created
    }

    /// What the attempt has cost so far, from its first request.
    pub fn cost(&self) -> Cost {
        self.handle.counter.cost()
    }

    /// How the lock was lost, as far as is known. That somebody else deleted the node is only known when
    /// [`lost`](Self::lost) was once polled.
    pub fn is_lost(&self) -> Option<Loss> {
        *self.handle.loss.borrow()
    }

    /// Ends when the lock is lost, and says how. Cancel safe, and may be called again and by several tasks.
    ///
    /// The first poll sets a watch on the own node: one request, and one event at the release.
    pub async fn lost(&self) -> Loss {
        // The attempt has ended where this fails, and what it said last is there.
        let _ = self.handle.requests.send(GuardRequest::Watch).await;
        self.expired().await
    }

    /// Ends when the session has expired, or may have by now. It asks the servers nothing, so that somebody else's
    /// deletion of the node goes unnoticed, unless [`lost`](Self::lost) was polled too or a look after the node finds it: that
    /// ends it as well. Cancel safe.
    pub async fn expired(&self) -> Loss {
        let mut loss = self.handle.loss.clone();
        loss.wait_for(Option::is_some).await.ok().and_then(|loss| *loss).unwrap_or(Loss::Expired)
    }

    /// Steps down from writing to reading, in one request and without letting a writer in between: a reader's node
    /// takes the place of the writer's in the queue. The [token](Self::token) stays.
    ///
    /// On an error the lock is released in the background. So it is when this is cancelled.
    pub async fn downgrade(mut self) -> Result<Self, LockError> {
        let (reply, stepped) = oneshot::channel();
        let _ = self.handle.requests.send(GuardRequest::Downgrade(reply)).await;
        match stepped.await {
            Ok(path) => self.own.path = path?,
            // The attempt has ended instead.
            Err(_) => return Err(self.is_lost().unwrap_or(Loss::Expired).error(&self.lock, &self.own.path)),
        }
        Ok(self)
    }

    /// Deletes the node. An error says that the lock was lost before, and how.
    ///
    /// Without a connection it waits for the next one, or for the end of the session, which deletes the node too. Cancel
    /// safe: once polled, the deletion goes on in the background.
    pub async fn release(mut self) -> Result<(), LockError> {
        self.handle.cancel.cancel();
        let Some(task) = self.handle.task.take() else { return Ok(()) };
        // Only the end of the runtime takes the task away.
        task.await.unwrap_or_else(|_| Err(LockError::Closed { path: self.lock.clone() }))
    }
}
