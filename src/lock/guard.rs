//! A held lock: the guard that the application has, and the side of the attempt's task that keeps
//! the lock until it is released or lost.
//!
//! A guard sends requests to its task and reads the loss from it. The task watches the own node,
//! keeps the session's clock, and replaces a writer's node by a reader's without letting a writer
//! in between.

use std::future::pending;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Error, EventType};

use super::attempt::{Attempt, HeldLock, LockSpec};
use super::error::lock_error;
use super::options::NodeMode;
use super::retrying_client::{LastSeen, OneShotWatch, OwnNode, Retries, RetryingClient};
use super::session_clock::SessionClock;
use super::{Access, Cost, LockError, Loss};
use lockscope_requests::SessionStates;
use lockscope_terms::znode::{Sequence, ZnodePath, Zxid};

/// A held lock. Dropping it releases the lock in the background; [`release`](Self::release) does so
/// and returns the outcome. A program that drops guards at its end awaits
/// [`cleaned_up`](super::cleaned_up) before its runtime is shut down.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct Guard {
    pub(super) spec: Arc<LockSpec>,
    /// The node; after a downgrade its path is that of the reader's node.
    pub(super) own: OwnNode,
    /// The version of the fence's data since this guard has raised it.
    pub(super) fence_version: Mutex<Option<i32>>,
    pub(super) handle: Handle,
}

/// A guard's request to its attempt's task.
#[derive(Debug)]
pub(super) enum GuardRequest {
    /// Watch the node, to notice when somebody else deletes it.
    Watch,
    /// The servers have told that the node is gone.
    Gone,
    /// Downgrade from writing to reading. The answer is the path of the new node.
    Downgrade(oneshot::Sender<Result<ZnodePath, LockError>>),
}

/// What an attempt's task knows of its hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HoldState {
    pub(super) loss: Option<Loss>,
    /// When the lock must be presumed lost; `None` with a sound connection.
    presumed_lost_at: Option<Instant>,
    /// Whether the holder was asked to release.
    is_revoked: bool,
}

/// Connects a future or a guard with the task of its attempt. Dropping it cancels the attempt.
#[derive(Debug)]
pub(super) struct Handle {
    /// The task's result is that of the release.
    pub(super) task: Option<JoinHandle<Result<(), LockError>>>,
    pub(super) cancel: CancellationToken,
    pub(super) requests: mpsc::Sender<GuardRequest>,
    pub(super) state: watch::Receiver<HoldState>,
    /// The client for the guard's own requests.
    pub(super) client: RetryingClient,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Guard {
    pub(super) fn new(spec: Arc<LockSpec>, own: OwnNode, handle: Handle) -> Self {
        Self { spec, own, fence_version: Mutex::default(), handle }
    }

    /// Returns the path of the lock.
    pub fn lock(&self) -> &ZnodePath {
        &self.spec.path
    }

    /// Returns the path of the node that holds the lock.
    pub fn path(&self) -> &ZnodePath {
        &self.own.path
    }

    /// Returns the number of the node in its queue. `None` for [`Mutex`](super::Algorithm::Mutex)
    /// and [`MutexParent`](super::Algorithm::MutexParent), whose nodes have none.
    pub fn sequence(&self) -> Option<Sequence> {
        self.own.sequence
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
        self.own.created
    }

    /// Returns the cost of this acquisition so far, from its first request.
    pub fn cost(&self) -> Cost {
        self.handle.client.meter.attempt.cost()
    }

    /// Returns how the lock was lost, or `None` while no loss is known. Sends no request: a
    /// deletion by somebody else is known only after [`lost`](Self::lost) was polled once.
    pub fn is_lost(&self) -> Option<Loss> {
        let ended = self.handle.state.has_changed().is_err().then_some(Loss::Expired);
        // Without its task, as after the end of its runtime, nobody would notice a loss.
        self.handle.state.borrow().loss.or(ended)
    }

    /// Waits until the lock is lost, and says how. Several tasks may wait at once.
    ///
    /// Cancel safe. The first poll sets a watch on the own node: one request, and one watch event
    /// at the release.
    pub async fn lost(&self) -> Loss {
        self.watch_node().await;
        self.expired().await
    }

    /// Waits until the session has expired, or may have by now. Sends no request and sets no watch.
    ///
    /// It also returns when somebody else's deletion of the node is noticed, which only
    /// [`lost`](Self::lost) does reliably. Cancel safe.
    pub async fn expired(&self) -> Loss {
        self.until(|state| state.loss.is_some()).await.err().unwrap_or(Loss::Expired)
    }

    /// Runs `work` as long as the lock is held. When the lock is lost, `work` is not polled any
    /// more and dropped. The guard stays: [`release`](Self::release) it afterwards.
    ///
    /// Work that blocks its thread ends only at its next `await`. What it has sent before may still
    /// arrive: [guarded writes](crate#guarded-writes) only while the lock's node is there.
    ///
    /// Cost: that of [`lost`](Self::lost). Cancel safe if `work` is, which is dropped with it.
    ///
    /// # Errors
    ///
    /// The [`Loss`] that ended the work.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Guard, Loss};
    /// # async fn example(guard: Guard) -> Result<(), Box<dyn std::error::Error>> {
    /// match guard.run(async { "the output" }).await {
    ///     Ok(output) => println!("done: {output}"),
    ///     Err(loss) => println!("not finished: {loss}"),
    /// }
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Loss> {
        tokio::select! {
            biased;
            loss = self.lost() => Err(loss),
            output = work => Ok(output),
        }
    }

    /// Returns when the lock must be presumed lost unless the connection comes back, or `None`
    /// while the connection is sound. Sends no request.
    pub fn presumed_lost_at(&self) -> Option<Instant> {
        self.handle.state.borrow().presumed_lost_at
    }

    /// Waits until there is no sound connection any more: it was lost, or the process did not run
    /// for a while. The lock is still held, and work that others must not see twice should pause.
    /// Gives the time at which the lock must be presumed lost, if nothing is heard before.
    ///
    /// Sends no request. Cancel safe.
    ///
    /// # Errors
    ///
    /// The [`Loss`] of the lock, if that is known already.
    pub async fn suspended(&self) -> Result<Instant, Loss> {
        let state = self.until(|state| state.presumed_lost_at.is_some()).await?;
        state.presumed_lost_at.ok_or(Loss::Expired)
    }

    /// Waits until the connection is sound: a request that was sent since has proved that the
    /// session lives and that the node is there. Returns at once while it is sound.
    ///
    /// Sends no request of its own. Cancel safe.
    ///
    /// # Errors
    ///
    /// The [`Loss`] of the lock, if it comes first.
    pub async fn resumed(&self) -> Result<(), Loss> {
        self.until(|state| state.presumed_lost_at.is_none()).await.map(drop)
    }

    /// Waits until somebody asks the holder to release: the data of the node become `__REVOKE__`,
    /// as Curator's `Revoker` and lockscope's own console write them. The lock is held until then
    /// and afterwards; nothing forces the holder.
    ///
    /// Cost: the watch of [`lost`](Self::lost), which both share; one event and one request more
    /// for each change of the data. Cancel safe. Never resolves where the ACL forbids to read the
    /// node.
    ///
    /// # Errors
    ///
    /// The [`Loss`] of the lock, if it comes first.
    pub async fn revoked(&self) -> Result<(), Loss> {
        self.watch_node().await;
        self.until(|state| state.is_revoked).await.map(drop)
    }

    /// Lets the task watch the node. Fails if the attempt has ended: its last report is still there.
    async fn watch_node(&self) {
        let _ = self.handle.requests.send(GuardRequest::Watch).await;
    }

    /// Waits for a state; the loss if it comes first.
    async fn until(&self, is: impl Fn(&HoldState) -> bool) -> Result<HoldState, Loss> {
        let mut states = self.handle.state.clone();
        let state = states.wait_for(|state| state.loss.is_some() || is(state)).await.map_err(|_| Loss::Expired)?;
        state.loss.map_or(Ok(*state), Err)
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
            Ok(path) => self.own.path = path?,
            // The attempt has ended instead.
            Err(_) => return Err(self.is_lost().unwrap_or(Loss::Expired).error(self.lock(), self.path())),
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
        task.await.unwrap_or_else(|_| Err(LockError::Closed { path: self.spec.path.clone() }))
    }
}

/// A held lock, as its task keeps it.
pub(crate) struct Holding<'a> {
    attempt: &'a Attempt,
    /// What the guard is told.
    told: &'a watch::Sender<HoldState>,
    pub(crate) held: HeldLock,
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
    pub(crate) fn new(
        attempt: &'a Attempt,
        told: &'a watch::Sender<HoldState>,
        held: HeldLock,
        states: Box<dyn SessionStates>,
        clock: SessionClock,
    ) -> Self {
        let own_node = check_later(attempt, &held);
        Self { attempt, told, held, states, clock, own_node, watched: false, proof: None, disconnected: false }
    }

    /// Holds the lock until it is cancelled (`None`) or lost.
    pub(crate) async fn keep(&mut self, requests: &mut mpsc::Receiver<GuardRequest>) -> Option<Loss> {
        loop {
            if self.states.peek().is_terminated() {
                return Some(Loss::Expired);
            }
            if self.clock.needs_proof() && self.proof.is_none() {
                self.proof = Some(prove(self.attempt, self.held.own.clone()));
            }
            self.tell_suspension();
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
                Some(request) = requests.recv() => match request {
                    GuardRequest::Gone => return Some(Loss::Deleted),
                    request => self.answer(request).await,
                }
            }
        }
    }

    /// Tells the guard whether the connection is sound.
    fn tell_suspension(&self) {
        let at = self.clock.presumed_expired_at();
        self.told.send_if_modified(|state| std::mem::replace(&mut state.presumed_lost_at, at) != at);
    }

    async fn answer(&mut self, request: GuardRequest) {
        match request {
            GuardRequest::Gone => return,
            GuardRequest::Watch if self.watched => return,
            GuardRequest::Watch => self.watched = true,
            // Fails when the guard was dropped, which cancels the attempt.
            GuardRequest::Downgrade(reply) => {
                let _ = reply.send(downgrade(self.attempt, &mut self.held).await);
                // A proof that is under way looks for the node from before.
                self.proof = None;
            }
        }
        self.own_node = if self.watched {
            watch(self.attempt, self.told, self.held.own.clone())
        } else {
            check_later(self.attempt, &self.held)
        };
    }

    /// Deletes the own node; an error when it was gone before.
    pub(crate) async fn release(&mut self) -> Result<(), LockError> {
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

/// The data of a node whose owner is asked to release: `Revoker` of Curator.
const REVOKED: &[u8] = b"__REVOKE__";

/// Watches the own node, and tells when its data ask to release. Ends when it is lost.
fn watch<'a>(attempt: &'a Attempt, told: &'a watch::Sender<HoldState>, own: OwnNode) -> BoxFuture<'a, Loss> {
    Box::pin(async move {
        loop {
            match attempt.client.watch(&own.path).await {
                Ok(Some(mut node)) if own.is(&node.stat) => {
                    if node.data.as_deref() == Some(REVOKED) {
                        told.send_if_modified(|state| !std::mem::replace(&mut state.is_revoked, true));
                    }
                    match node.watch.fired().await.event_type {
                        EventType::NodeDeleted => return Loss::Deleted,
                        EventType::Session => return Loss::Expired,
                        _ => {}
                    }
                }
                // Another node may have its path.
                Ok(_) => return Loss::Deleted,
                // The session has ended, or it cannot be known for another reason whether the lock
                // is held.
                Err(_) => return Loss::Expired,
            }
        }
    })
}

/// Checks the own node once, at the time that `held` says. Ends when it is lost. The check is in sync
/// with the leader: a server that lags would show a deleted node, and no check follows.
fn check_later<'a>(attempt: &'a Attempt, held: &HeldLock) -> BoxFuture<'a, Loss> {
    let (own, check_node_at) = (held.own.clone(), held.check_node_at);
    Box::pin(async move {
        let Some(check_node_at) = check_node_at else { return pending().await };
        sleep_until(check_node_at).await;
        if attempt.client.has_in_sync(&own).await == Ok(false) { Loss::Deleted } else { pending().await }
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

/// Replaces the writer's node by a reader's node with the same number, in one transaction. Returns
/// the path of the new node.
pub(crate) async fn downgrade(attempt: &Attempt, held: &mut HeldLock) -> Result<ZnodePath, LockError> {
    let (spec, client) = (&attempt.spec, &attempt.client);
    let sequence = held.own.sequence.filter(|_| spec.algorithm.access() == Some(Access::Write));
    let Some(sequence) = sequence else { return Err(LockError::NoDowngrade { path: spec.path.clone() }) };
    let creator = attempt.creator();
    let name = spec.names.prefix(NodeMode::Read, attempt.id, client.session()) + &sequence.to_string();
    let reader = spec.path.child(&name);
    let data = creator.data(spec.names.carry_id());
    let gone = LockError::NodeDeleted { node: held.own.path.clone() };
    let mut retries = Retries::default();
    loop {
        let must_look = held.own.path_returns || retries.failures > 0;
        let version = if must_look { client.version_of(&held.own, retries.failures > 0).await? } else { None };
        if must_look && version.is_none() {
            if retries.failures == 0 {
                return Err(gone);
            }
            // A transaction whose reply was lost may have replaced it.
            break;
        }
        match client.replace_once(&held.own, version, creator.ephemeral(&reader, &data)).await {
            Ok(()) => break,
            Err(Error::NodeExists) => return Err(LockError::NoDowngrade { path: spec.path.clone() }),
            Err(Error::NoNode) => return Err(gone),
            // Somebody has changed the data since the read, or another node has the path.
            Err(Error::BadVersion) => {}
            Err(error) if retries.may_help(&error) => retries.wait().await,
            Err(error) => return Err(lock_error(error, &spec.path, "replace the node by", &reader)),
        }
    }
    client.meter.gone(&held.own.path);
    // Servers give no valid stat of a node that a transaction of several writes has created
    // (ZOOKEEPER-4667).
    let deleted = if retries.failures == 0 { LockError::NodeDeleted { node: reader.clone() } } else { gone };
    let Some(own) = creator.first_own([reader].into_iter(), &spec.names).await? else { return Err(deleted) };
    client.meter.made(&own.path);
    held.own = own;
    Ok(held.own.path.clone())
}
