//! One attempt to acquire a lock: what it shares with the others, and how it creates its nodes,
//! each exactly once.
//!
//! A create whose reply is lost may have been carried out. So before a second one the node is
//! searched for: the attempt's id is in its name or at the beginning of its data.
//!
//! Attempts whose future or guard was dropped still delete their nodes. [`cleaned_up`] waits for
//! them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{join, join_all};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use zookeeper_client::{Acls, Client, CreateMode, Error, Stat};

use super::cost::AttemptMeter;
use super::error::{NotAcquired, lock_error};
use super::options::{NodeMode, QueueNames};
use super::retrying_client::{
    ChildList, CreatePlace, LastSeen, OneShotWatch, OwnNode, QueuePlace, Retries, RetryingClient,
};
use super::{Algorithm, LockError, LockOptions, Parents};
use lockscope_requests::{Created, NewNode, Requests};
use lockscope_terms::znode::{Sequence, SessionId, ZnodePath, Zxid};

/// The client, path and options of a lock.
#[derive(Debug)]
pub(crate) struct LockSpec {
    pub(crate) client: Arc<dyn Requests>,
    pub(crate) path: ZnodePath,
    pub(crate) algorithm: Algorithm,
    pub(crate) names: QueueNames,
    pub(crate) options: LockOptions,
    /// Whether the next attempt in a chain asks for its predecessor by name: it would have saved
    /// the last one a listing.
    pub(crate) asks_by_name: AtomicBool,
    /// Whether the attempts take a lease at once, since another attempt of their owner is at the
    /// head of the queue.
    pub(crate) has_turn: bool,
}

/// The result of an attempt that holds the lock.
#[derive(Debug)]
pub struct HeldLock {
    pub(super) own: OwnNode,
    /// A semaphore's node in the queue for leases. The client deletes the node after the lease is
    /// granted.
    pub(super) queue_node: Option<OwnNode>,
    /// A watch that was set while waiting and has not fired.
    pub(super) unfired_watch: Option<OneShotWatch>,
    /// The time of the one check that the own node exists, if the lock was granted without reading
    /// it.
    pub(super) check_node_at: Option<Instant>,
}

impl HeldLock {
    pub fn new(own: OwnNode) -> Self {
        Self { own, queue_node: None, unfired_watch: None, check_node_at: None }
    }
}

/// One attempt to acquire a lock.
#[derive(Debug)]
pub struct Attempt {
    pub(super) spec: Arc<LockSpec>,
    pub(super) client: RetryingClient,
    pub(super) id: Uuid,
    pub(super) waits: bool,
    _registration: AttemptRegistration,
}

impl Attempt {
    pub fn new(spec: Arc<LockSpec>, waits: bool, cancel: CancellationToken) -> Self {
        let registration = AttemptRegistration::new(spec.client.session(), cancel.clone());
        let meter = AttemptMeter::of(&spec.options.counter);
        let client = RetryingClient::new(Arc::clone(&spec.client), meter, spec.path.clone(), cancel);
        let id = spec.client.attempt_id();
        Self { spec, client, id, waits, _registration: registration }
    }

    pub fn creator(&self) -> NodeCreator<'_> {
        NodeCreator { client: &self.client, options: &self.spec.options, id: self.id }
    }
}

/// The number of times that an attempt creates a parent that keeps vanishing, before it gives up.
pub(crate) const MAX_PARENT_CREATES: u32 = 20;

/// The listing of the parent that is sent together with the creation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstListing {
    /// No listing: the predecessor's name is known without one.
    Skipped,
    Unwatched,
    Watched,
}

/// Returns whether a new node with this number is behind all earlier ones. After the last number,
/// servers up to 3.5 go on with negative numbers, and later servers repeat the last one.
fn is_in_order(sequence: Sequence) -> bool {
    (0..i32::MAX).contains(&sequence.0)
}

/// Creates the nodes of one attempt.
#[derive(Debug)]
pub(crate) struct NodeCreator<'a> {
    pub(crate) client: &'a RetryingClient,
    pub(crate) options: &'a LockOptions,
    /// The id of this attempt, random.
    pub(crate) id: Uuid,
}

impl NodeCreator<'_> {
    fn acls(&self) -> Acls<'_> {
        Acls::new(&self.options.acls)
    }

    /// Returns an ephemeral node to create.
    pub(crate) fn ephemeral<'a>(&'a self, path: &'a ZnodePath, data: &'a [u8]) -> NewNode<'a> {
        NewNode { path: path.as_str(), data, mode: CreateMode::Ephemeral, acls: self.acls() }
    }

    /// Returns the data of a node. It begins with the id of the attempt if the name does not
    /// contain it.
    pub(crate) fn data(&self, named_by_id: bool) -> Vec<u8> {
        let mark = if named_by_id { Vec::new() } else { self.mark() };
        [mark, self.options.node_data()].concat()
    }

    /// Returns whether a node with this data is this attempt's, if its name does not contain the id.
    pub(crate) fn is_marked(&self, data: &[u8]) -> bool {
        data.starts_with(&self.mark())
    }

    /// Returns whether a node with this stat and data is this attempt's and belongs to its session,
    /// if its name does not contain the id.
    pub(crate) fn is_own(&self, data: &[u8], stat: &Stat) -> bool {
        stat.ephemeral_owner == self.client.session().0 && self.is_marked(data)
    }

    /// Returns the node that this attempt created, with its stat. Deletes it and fails if the client
    /// has got a new session: see [`RetryingClient::check_session`].
    pub(crate) async fn in_session(&self, own: OwnNode, created: &Stat) -> Result<OwnNode, LockError> {
        if let Err(ended) = self.client.check_session(created) {
            self.client.delete(&own, LastSeen::OnThisConnection).await?;
            return Err(ended);
        }
        Ok(own)
    }

    fn mark(&self) -> Vec<u8> {
        format!("{} ", self.id.simple()).into_bytes()
    }

    /// Creates a sequential node and lists its parent, both sent at once. The listing is `None`
    /// when it was not wanted or its reply was lost.
    ///
    /// A create whose reply was lost may have been carried out: before a second one the node is
    /// searched for.
    pub(crate) async fn enqueue(
        &self,
        parent: &ZnodePath,
        names: &QueueNames,
        mode: NodeMode,
        first: FirstListing,
    ) -> Result<(OwnNode, Option<ChildList>), NotAcquired> {
        let prefix = names.prefix(mode, self.id, self.client.session());
        let path = parent.child(&prefix);
        let data = self.data(names.carry_id());
        let node = NewNode { mode: CreateMode::EphemeralSequential, ..self.ephemeral(&path, &data) };
        let mut retries = Retries::default();
        loop {
            let create = async {
                let Created { stat, number } = self.client.create(&node).await?;
                let own = queue_node(parent.child(&format!("{prefix}{number}")), names, &stat);
                self.client.meter.made(&own.path);
                Ok((own, stat))
            };
            let list = async {
                match first {
                    FirstListing::Skipped => None,
                    _ => self.client.list_once(parent, first == FirstListing::Watched).await.ok(),
                }
            };
            let (created, listed) = join(create, list).await;
            match created {
                Ok((own, stat)) => {
                    let own = self.in_session(own, &stat).await?;
                    self.client.unanswered.record_created(&path, &own.path);
                    return Ok((self.in_order(own, parent).await?, listed));
                }
                Err(Error::NoNode) => {
                    if retries.failures >= MAX_PARENT_CREATES {
                        return Err(LockError::NoParent { path: parent.clone() }.into());
                    }
                    // The pause comes before the parent is created: after it, the pause would give
                    // others the time to delete the parent again.
                    self.cancelled()?;
                    retries.wait().await;
                    self.create_parents(parent).await?;
                    self.cancelled()?;
                    continue;
                }
                Err(error) if retries.may_help(&error) => {
                    let (own, after) = self.find(parent, names, &prefix).await?;
                    if let Some(own) = own {
                        self.client.meter.made(&own.path);
                        return Ok((self.in_order(own, parent).await?, None));
                    }
                    let (parent, names, prefix) = (parent.clone(), names.clone(), prefix.clone());
                    self.client.unanswered.record_lost(CreatePlace::Queue(QueuePlace { parent, names, prefix, after }));
                }
                // The server repeats the last number, and names that contain nothing else are
                // taken.
                Err(Error::NodeExists) => return Err(LockError::NumbersUsedUp { parent: parent.clone() }.into()),
                Err(Error::Unimplemented) => {
                    return Err(lock_error(Error::Unimplemented, &self.client.lock, "create", parent).into());
                }
                Err(error) => {
                    // The node may exist all the same, for example when the reply could not be
                    // decoded.
                    if let (Some(own), _) = self.find(parent, names, &prefix).await? {
                        self.client.delete(&own, LastSeen::JustNow).await?;
                    }
                    return Err(lock_error(error, &self.client.lock, "create nodes below", parent).into());
                }
            }
            self.cancelled()?;
            retries.wait().await;
        }
    }

    /// Returns the node if it is behind all earlier ones, and deletes it otherwise.
    async fn in_order(&self, own: OwnNode, parent: &ZnodePath) -> Result<OwnNode, LockError> {
        if own.sequence.is_none_or(is_in_order) {
            return Ok(own);
        }
        self.client.delete(&own, LastSeen::JustNow).await?;
        Err(LockError::NumbersUsedUp { parent: parent.clone() })
    }

    /// Finds the node of a create whose reply was lost; `None` when there is none. Gives also the
    /// highest number that a child of the parent has, as far as there are any.
    pub(crate) async fn find(
        &self,
        parent: &ZnodePath,
        names: &QueueNames,
        prefix: &str,
    ) -> Result<(Option<OwnNode>, Option<Sequence>), LockError> {
        let Some(children) = self.client.list_in_sync(parent).await? else { return Ok((None, None)) };
        let highest = children.iter().filter_map(|name| Sequence::split(name)).map(|(_, number)| number).max();
        let alike = children.iter().filter(|name| name.starts_with(prefix) && names.read(name).is_some());
        Ok((self.first_own(alike.map(|name| parent.child(name)), names).await?, highest))
    }

    /// Returns the first of these nodes that is this attempt's.
    pub(crate) async fn first_own(
        &self,
        paths: impl Iterator<Item = ZnodePath>,
        names: &QueueNames,
    ) -> Result<Option<OwnNode>, LockError> {
        let paths: Vec<ZnodePath> = paths.collect();
        let stats = join_all(paths.iter().map(|path| self.own_at(path, names))).await;
        for (path, stat) in paths.into_iter().zip(stats) {
            if let Some(stat) = stat? {
                return Ok(Some(queue_node(path, names, &stat)));
            }
        }
        Ok(None)
    }

    /// Returns the stat of this attempt's node, if that is the node at the path. Nodes of other
    /// sessions are not read, since that may be forbidden.
    async fn own_at(&self, path: &ZnodePath, names: &QueueNames) -> Result<Option<Stat>, LockError> {
        let stat = self.client.stat(path).await?.filter(|stat| stat.ephemeral_owner == self.client.session().0);
        if stat.is_none() || names.carry_id() {
            return Ok(stat);
        }
        let read = self.client.read(path).await?;
        Ok(read.filter(|(data, stat)| self.is_own(data, stat)).map(|(_, stat)| stat))
    }

    /// Creates a parent, and those above it that are missing too.
    pub(crate) async fn create_parents(&self, parent: &ZnodePath) -> Result<(), LockError> {
        if self.options.parents == Parents::Required {
            return Err(LockError::NoParent { path: parent.clone() });
        }
        let containers = self.options.parents == Parents::Container;
        let mut mode = if containers { CreateMode::Container } else { CreateMode::Persistent };
        let mut missing = vec![parent.clone()];
        while let Some(next) = missing.last().cloned() {
            if next.is_root() {
                // The chroot is missing. It cannot be created from within.
                return Err(LockError::NoParent { path: next.clone() });
            }
            let node = NewNode { mode, ..self.ephemeral(&next, &[]) };
            match self.client.until_answered(|| self.client.create(&node)).await {
                Ok(_) | Err(Error::NodeExists) => drop(missing.pop()),
                Err(Error::NoNode) => missing.extend(next.parent()),
                // A server may lack containers alone.
                Err(Error::Unimplemented) if mode == CreateMode::Container => mode = CreateMode::Persistent,
                Err(error) => return Err(lock_error(error, &self.client.lock, "create", &next)),
            }
        }
        Ok(())
    }

    pub(crate) fn cancelled(&self) -> Result<(), NotAcquired> {
        if self.client.cancel.is_cancelled() { Err(NotAcquired::Cancelled) } else { Ok(()) }
    }
}

/// Returns an attempt's node in a queue.
pub(crate) fn queue_node(path: ZnodePath, names: &QueueNames, stat: &Stat) -> OwnNode {
    let sequence = Sequence::split(path.name()).map(|(_, sequence)| sequence);
    OwnNode { path, sequence, created: Zxid(stat.czxid), path_returns: !names.carry_id() }
}

/// All attempts of this process that have not ended. A client can carry no state of ours, so they are
/// found by their session. Clients of two ensembles with the same session id wait for each other's.
static ATTEMPTS: Mutex<BTreeMap<(SessionId, u64), RunningAttempt>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct RunningAttempt {
    /// Cancelled when the future or the guard was dropped.
    dropped: CancellationToken,
    ended: CancellationToken,
}

/// Registers an attempt until it has nothing left to do, its search for late nodes included. Dropped
/// with the attempt's task, also at the end of the runtime.
#[derive(Debug)]
pub(crate) struct AttemptRegistration {
    key: (SessionId, u64),
    ended: CancellationToken,
}

impl AttemptRegistration {
    pub(crate) fn new(session: SessionId, dropped: CancellationToken) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = (session, NEXT.fetch_add(1, Ordering::Relaxed));
        let ended = CancellationToken::new();
        attempts().insert(key, RunningAttempt { dropped, ended: ended.clone() });
        Self { key, ended }
    }
}

impl Drop for AttemptRegistration {
    fn drop(&mut self) {
        attempts().remove(&self.key);
        self.ended.cancel();
    }
}

/// Waits until the futures and guards over this client's session that were dropped before have left
/// nothing behind. Call it before the runtime is shut down: that stops the background tasks, and
/// their nodes then stay until the session ends.
///
/// It does not wait for guards that exist, nor for futures that are still polled.
///
/// Usually this takes one or two round trips. Without a connection it waits for the next one, or for
/// the end of the session, which the client notices `1.4` to `1.8` session timeouts after the last
/// message. It also waits for the search for [late nodes](crate#what-a-lock-guarantees): up to two
/// session timeouts, but only if the reply to a create was lost. A `tokio::time::timeout` around it
/// bounds all of that.
///
/// Sends no request of its own. Cancel safe: the background tasks go on. It returns also if another
/// runtime that ran them was shut down.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, cleaned_up, zookeeper_client::Client};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("localhost:2181").await?;
/// let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
/// drop(guard);
/// cleaned_up(&client).await;
/// # Ok(())
/// # }
/// ```
pub async fn cleaned_up(client: &Client) {
    until_ended(SessionId(client.session_id().0)).await;
}

async fn until_ended(session: SessionId) {
    let dropped: Vec<CancellationToken> = attempts()
        .range((session, 0)..=(session, u64::MAX))
        .filter(|(_, attempt)| attempt.dropped.is_cancelled())
        .map(|(_, attempt)| attempt.ended.clone())
        .collect();
    for ended in dropped {
        ended.cancelled().await;
    }
}

fn attempts() -> MutexGuard<'static, BTreeMap<(SessionId, u64), RunningAttempt>> {
    ATTEMPTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn it_waits_for_what_was_dropped_in_the_session_and_for_nothing_else() {
        let (own, other) = (SessionId(-0x10c4), SessionId(-0x10c5));
        let [dropped, held, elsewhere] = [(); 3].map(|()| CancellationToken::new());
        let first = AttemptRegistration::new(own, dropped.clone());
        let _held = AttemptRegistration::new(own, held);
        let _elsewhere = AttemptRegistration::new(other, elsewhere.clone());
        assert_eq!(until_ended(own).now_or_never(), Some(()), "nothing was dropped");
        dropped.cancel();
        elsewhere.cancel();
        let mut waits = Box::pin(until_ended(own));
        assert_eq!((&mut waits).now_or_never(), None);
        drop(first);
        assert_eq!(waits.now_or_never(), Some(()));
        assert_eq!(attempts().range((own, 0)..=(own, u64::MAX)).count(), 1, "the one that is held");
    }
}
