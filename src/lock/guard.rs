//! A held lock.

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::retrying_client::OwnNode;
use super::{Cost, CostCounter, LockError, Loss};
use lockscope_base::znode::{Sequence, ZnodePath, Zxid};

/// A held lock. Dropping it releases the lock in the background; [`release`](Self::release) does so
/// and returns the outcome. A program that drops guards at its end awaits
/// [`cleaned_up`](super::cleaned_up) before its runtime is shut down.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct Guard {
    lock: ZnodePath,
    node: ZnodePath,
    sequence: Option<Sequence>,
    token: Zxid,
    handle: Handle,
}

/// A guard's request to its attempt's task.
#[derive(Debug)]
pub(super) enum GuardRequest {
    /// Watch the node, to notice when somebody else deletes it.
    Watch,
    /// Downgrade from writing to reading. The answer is the path of the new node.
    Downgrade(oneshot::Sender<Result<ZnodePath, LockError>>),
}

/// Connects a future or a guard with the task of its attempt. Dropping it cancels the attempt.
#[derive(Debug)]
pub(super) struct Handle {
    /// The task's result is that of the release.
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
        Self { lock, node: own.path, sequence: own.sequence, token: own.created, handle }
    }

    /// Returns the path of the lock.
    pub fn lock(&self) -> &ZnodePath {
        &self.lock
    }

    /// Returns the path of the node that holds the lock.
    pub fn path(&self) -> &ZnodePath {
        &self.node
    }

    /// Returns the number of the node in its queue. `None` for [`Mutex`](super::Algorithm::Mutex)
    /// and [`MutexParent`](super::Algorithm::MutexParent), whose nodes have none.
    pub fn sequence(&self) -> Option<Sequence> {
        self.sequence
    }

    /// Returns the fencing token: the zxid of the transaction that created the node.
    ///
    /// The token rises from holder to holder of an exclusive lock. A resource that remembers the
    /// highest token it has seen can refuse a holder that was paused for so long that others have
    /// had the lock since. [The module's documentation](super#writing-with-the-fencing-token) shows
    /// such a write.
    ///
    /// The token stays the same when a writer [downgrades](Self::downgrade). Readers and holders of
    /// leases may be granted in another order than that of their tokens.
    pub fn token(&self) -> Zxid {
        self.token
    }

    /// Returns the cost of this acquisition so far, from its first request.
    pub fn cost(&self) -> Cost {
        self.handle.counter.cost()
    }

    /// Returns how the lock was lost, or `None` while no loss is known. Sends no request: a
    /// deletion by somebody else is known only after [`lost`](Self::lost) was polled once.
    pub fn is_lost(&self) -> Option<Loss> {
        *self.handle.loss.borrow()
    }

    /// Waits until the lock is lost, and says how. Several tasks may wait at once.
    ///
    /// Cancel safe. The first poll sets a watch on the own node: one request, and one watch event
    /// at the release.
    pub async fn lost(&self) -> Loss {
        // This fails if the attempt has ended. Its last report is still there.
        let _ = self.handle.requests.send(GuardRequest::Watch).await;
        self.expired().await
    }

    /// Waits until the session has expired, or may have by now. Sends no request and sets no watch.
    ///
    /// It also returns when somebody else's deletion of the node is noticed, which only
    /// [`lost`](Self::lost) does reliably. Cancel safe.
    pub async fn expired(&self) -> Loss {
        let mut loss = self.handle.loss.clone();
        loss.wait_for(Option::is_some).await.ok().and_then(|loss| *loss).unwrap_or(Loss::Expired)
    }

    /// Turns a lock held for writing into one held for reading, without letting a writer in
    /// between: in one transaction a reader's node takes the place of the writer's in the queue.
    /// The [token](Self::token) stays.
    ///
    /// Cost: two requests, two more with the naming of the session. Not cancel safe: when the
    /// future is dropped, the lock is released in the background.
    ///
    /// # Errors
    ///
    /// The lock is released in the background, and the error is
    ///
    /// - [`LockError::NoDowngrade`] when the lock is not held for writing, or the reader's node
    ///   exists already.
    /// - [`LockError::NodeDeleted`] or [`LockError::SessionExpired`] when the lock was lost before.
    /// - [`LockError::NotPermitted`], [`LockError::Closed`] or [`LockError::Unexpected`] as in
    ///   [`Lock::acquire`](super::Lock::acquire).
    pub async fn downgrade(mut self) -> Result<Self, LockError> {
        let (reply, stepped) = oneshot::channel();
        let _ = self.handle.requests.send(GuardRequest::Downgrade(reply)).await;
        match stepped.await {
            Ok(path) => self.node = path?,
            // The attempt has ended instead.
            Err(_) => return Err(self.is_lost().unwrap_or(Loss::Expired).error(&self.lock, &self.node)),
        }
        Ok(self)
    }

    /// Releases the lock: deletes its node and waits until that is done.
    ///
    /// Without a connection it waits for the next one, or for the end of the session, which deletes
    /// the node too.
    ///
    /// Cost: one or two requests, and one watch event where a watch is set (see the
    /// [table](super#costs)). Cancel safe: a dropped future leaves the deletion to a background
    /// task.
    ///
    /// # Errors
    ///
    /// The lock is not held any more in any case. An error says that it was lost before:
    ///
    /// - [`LockError::NodeDeleted`] when somebody else deleted the node.
    /// - [`LockError::SessionExpired`] when the session has expired, or may have.
    /// - [`LockError::Closed`] when the client is closed or the runtime is shut down.
    /// - [`LockError::NotPermitted`] when the ACL of the parent forbids the deletion: the node then
    ///   stays until the session ends.
    /// - [`LockError::Unexpected`] for anything else that the client library reports.
    pub async fn release(mut self) -> Result<(), LockError> {
        self.handle.cancel.cancel();
        let Some(task) = self.handle.task.take() else { return Ok(()) };
        // Only the end of the runtime can abort the task.
        task.await.unwrap_or_else(|_| Err(LockError::Closed { path: self.lock.clone() }))
    }
}
