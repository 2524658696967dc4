//! The requests of one attempt: each is counted, and sent again after a lost connection.
//!
//! [`RetryingClient::delete`] is the only way to delete a node, and it takes an [`OwnNode`]: a path
//! and a czxid, since another node may get the path. [`OneShotWatch`] is a watch as an attempt
//! waits for it. `UnansweredCreates` remembers the creates that got no reply, whose nodes may still
//! come: `task` looks for them.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::join;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use zookeeper_client::{
    CreateMode, Error, EventType, MultiWriteError, MultiWriteResult, SessionState, Stat, WatchedEvent,
};

use super::LockError;
use super::activity::{LockActivity, RequestKind, WatchPlace};
use super::cost::AttemptMeter;
use super::error::{NotAcquired, is_transient, is_unreadable, lock_error, session_ended};
use super::options::QueueNames;
use lockscope_requests::{Created, NewNode, Requests, SessionStates, Watch, Write};
use lockscope_terms::time::Backoff;
use lockscope_terms::znode::{Sequence, SessionId, ZnodePath, Zxid};

/// A listing of a parent's children.
#[derive(Debug)]
pub(crate) struct ChildList {
    pub(crate) names: Vec<String>,
    /// The zxid of the transaction that created the parent.
    pub(crate) parent_created: Zxid,
    /// The watch that the listing has set, if it was to set one.
    pub(crate) watch: Option<OneShotWatch>,
}

/// A node on which a watch was set.
#[derive(Debug)]
pub(crate) struct NodeUnderWatch {
    /// `None` where the node must not be read.
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) stat: Stat,
    pub(crate) watch: OneShotWatch,
}

/// The client as one attempt uses it. Its requests are never dropped half-way: each ends with its
/// reply, or with the session. Only waits are cancelled.
#[derive(Debug)]
pub(crate) struct RetryingClient {
    /// Only the requests of this type are sent with it: they delete what is an [`OwnNode`] and
    /// nothing else.
    raw: Arc<dyn Requests>,
    pub(crate) meter: AttemptMeter,
    /// The path of the lock, for errors.
    pub(crate) lock: ZnodePath,
    pub(crate) cancel: CancellationToken,
    pub(crate) unanswered: UnansweredCreates,
    /// The session that took the place of the client's own, if that is known.
    new_session: OnceLock<SessionId>,
}

impl RetryingClient {
    /// Creates the client of an attempt at the lock at `lock`.
    pub(crate) fn new(raw: Arc<dyn Requests>, meter: AttemptMeter, lock: ZnodePath, cancel: CancellationToken) -> Self {
        Self { raw, meter, lock, cancel, unanswered: UnansweredCreates::default(), new_session: OnceLock::new() }
    }

    /// Returns a client for the guard of the attempt, which counts for the same attempt.
    pub(crate) fn for_guard(&self) -> Self {
        Self::new(Arc::clone(&self.raw), self.meter.clone(), self.lock.clone(), self.cancel.clone())
    }

    /// Returns the session to which the attempt's nodes belong.
    pub(crate) fn session(&self) -> SessionId {
        self.new_session.get().copied().unwrap_or_else(|| self.raw.session())
    }

    /// Learns from the stat of a node that the attempt created whether its session has ended, and
    /// returns an error if so.
    ///
    /// `ClickHouse` Keeper gives a client whose session has ended a new session without notice
    /// (ClickHouse#116690). The client library goes on and keeps the old id, so only a new node
    /// shows the new one. Servers that give no stat of a new node are believed.
    pub(crate) fn check_session(&self, created: &Stat) -> Result<(), LockError> {
        let owner = SessionId(created.ephemeral_owner);
        if owner.0 == 0 || owner == self.raw.session() {
            return Ok(());
        }
        self.new_session.get_or_init(|| owner);
        Err(LockError::SessionExpired { path: self.lock.clone() })
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.raw.session_timeout()
    }

    pub(crate) fn states(&self) -> Box<dyn SessionStates> {
        self.raw.states()
    }

    /// Creates a node, once: after an error the caller finds out whether it was created.
    ///
    /// An ephemeral node without a czxid cannot be told from another one of the same path. A client
    /// that asks as for a server before 3.5 gets none: its node is deleted, and the error is that
    /// of such a server ([`Unimplemented`](Error::Unimplemented)).
    pub(crate) async fn create(&self, node: &NewNode<'_>) -> Result<Created, Error> {
        self.meter.request(RequestKind::Create);
        let created = self.raw.create(node.clone()).await?;
        let is_ephemeral = matches!(node.mode, CreateMode::Ephemeral | CreateMode::EphemeralSequential);
        if created.stat.is_invalid() && is_ephemeral {
            self.take_back(node, &created.number).await;
            return Err(Error::Unimplemented);
        }
        Ok(created)
    }

    /// Deletes a node that was created without a stat. Its session and its data tell that it is the
    /// own one, and its version spares one that takes the path meanwhile. Nothing is told of a
    /// failure: the end of the session deletes the node.
    async fn take_back(&self, node: &NewNode<'_>, number: &str) {
        let path = format!("{}{number}", node.path);
        self.meter.request(RequestKind::Read);
        let Ok((data, stat)) = self.raw.data(&path).await else { return };
        if data == node.data && stat.ephemeral_owner == self.raw.session().0 {
            self.meter.request(RequestKind::Delete);
            let _ = self.raw.delete(&path, Some(stat.version)).await;
        }
    }

    /// Lists a parent's children, once.
    pub(crate) async fn list_once(&self, parent: &ZnodePath, watched: bool) -> Result<ChildList, Error> {
        self.meter.request(RequestKind::List);
        let (names, stat, watch) = if watched {
            let (names, stat, fires) = self.raw.watch_children(parent.as_str()).await?;
            let place = self.meter.place(|| WatchPlace::Children(parent.clone()));
            (names, stat, Some(OneShotWatch::new(fires, &self.meter, place)))
        } else {
            let (names, stat) = self.raw.children(parent.as_str()).await?;
            (names, stat, None)
        };
        Ok(ChildList { names, parent_created: Zxid(stat.czxid), watch })
    }

    /// Lists a parent's children; `None` when there is no such parent.
    pub(crate) async fn list(&self, parent: &ZnodePath, watched: bool) -> Result<Option<ChildList>, LockError> {
        let answer = self.until_answered(|| self.list_once(parent, watched)).await;
        self.none_if_missing(answer, "list the children of", parent)
    }

    /// Lists a parent's children after the server has caught up with the leader. `None` when there
    /// is no such parent.
    pub(crate) async fn list_in_sync(&self, parent: &ZnodePath) -> Result<Option<Vec<String>>, LockError> {
        let answer = self.in_sync(parent, || self.list_once(parent, false)).await;
        Ok(self.none_if_missing(answer, "list the children of", parent)?.map(|listing| listing.names))
    }

    /// Reads a node; `None` when it is not there.
    pub(crate) async fn read(&self, node: &ZnodePath) -> Result<Option<(Vec<u8>, Stat)>, LockError> {
        let answer = self.until_answered(|| self.read_once(node)).await;
        self.none_if_missing(answer, "read", node)
    }

    /// Reads a node, once.
    async fn read_once(&self, node: &ZnodePath) -> Result<(Vec<u8>, Stat), Error> {
        self.meter.request(RequestKind::Read);
        self.raw.data(node.as_str()).await
    }

    /// Sends a request directly after a sync with the leader, until both are answered or the
    /// session ends.
    async fn in_sync<T, F>(&self, path: &ZnodePath, send: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let synced = || async {
            self.meter.request(RequestKind::Sync);
            let (synced, answer) = join(self.raw.sync(path.as_str()), send()).await;
            synced.and(answer)
        };
        self.until_answered(synced).await
    }

    /// Returns a node's stat, which needs no permission to read; `None` if the node does not exist.
    pub(crate) async fn stat(&self, node: &ZnodePath) -> Result<Option<Stat>, LockError> {
        let answer = self.until_answered(|| self.stat_once(node)).await;
        answer.map_err(|error| lock_error(error, &self.lock, "look at", node))
    }

    /// Returns a node's stat after the server has caught up with the leader; `None` if the node
    /// does not exist.
    pub(crate) async fn stat_in_sync(&self, node: &ZnodePath) -> Result<Option<Stat>, LockError> {
        let answer = self.in_sync(node, || self.stat_once(node)).await;
        answer.map_err(|error| lock_error(error, &self.lock, "look at", node))
    }

    async fn stat_once(&self, node: &ZnodePath) -> Result<Option<Stat>, Error> {
        self.meter.request(RequestKind::Read);
        self.raw.stat(node.as_str()).await
    }

    /// Watches a node for its end or a change, and reads it. `None` when it is not there.
    ///
    /// A node that must not be read is polled every second: a watch could be set, but newer servers
    /// deliver no event of it.
    pub(crate) async fn watch(&self, node: &ZnodePath) -> Result<Option<NodeUnderWatch>, LockError> {
        let answer = self.until_answered(|| self.watch_once(node)).await;
        self.none_if_missing(answer, "watch", node)
    }

    async fn watch_once(&self, node: &ZnodePath) -> Result<NodeUnderWatch, Error> {
        self.meter.request(RequestKind::Read);
        // Not `exists`: for a node that is gone it would set a watch that never fires.
        match self.raw.watch_data(node.as_str()).await {
            Ok((data, stat, watcher)) => {
                let place = self.meter.place(|| WatchPlace::Node(node.clone()));
                Ok(NodeUnderWatch { data: Some(data), stat, watch: OneShotWatch::new(watcher, &self.meter, place) })
            }
            Err(Error::NoAuth) => {
                let stat = self.stat_once(node).await?.ok_or(Error::NoNode)?;
                let watch = OneShotWatch::polling(Arc::clone(&self.raw), node.clone(), Zxid(stat.czxid), &self.meter);
                Ok(NodeUnderWatch { data: None, stat, watch })
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a request until it is answered or the session ends. A request without a connection
    /// waits for the next one.
    pub(crate) async fn until_answered<T, F>(&self, send: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut retries = Retries::default();
        loop {
            match send().await {
                Err(error) if retries.may_help(&error) => retries.wait().await,
                answer => return answer,
            }
        }
    }

    fn none_if_missing<T>(
        &self,
        answer: Result<T, Error>,
        act: &'static str,
        path: &ZnodePath,
    ) -> Result<Option<T>, LockError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(lock_error(error, &self.lock, act, path)),
        }
    }

    /// Waits for a watch to fire, for a cancellation or for the end of the session.
    pub(crate) async fn wait(&self, watch: &mut OneShotWatch) -> Result<EventType, NotAcquired> {
        self.meter.record(|| LockActivity::Waits);
        tokio::select! {
            biased;
            event = watch.fired() => self.node_event(&event),
            () = self.cancel.cancelled() => Err(NotAcquired::Cancelled),
        }
    }

    /// Waits like [`wait`](Self::wait) for a watch of children, or for a new connection. `states` is
    /// older than the watch.
    ///
    /// After a reconnect the children must be listed again: `ClickHouse` Keeper, whose `pzxid` no
    /// deletion raises, does not tell what was deleted meanwhile (ClickHouse#115457), not even that
    /// the own node went with its session.
    pub(crate) async fn wait_for_children(
        &self,
        watch: &mut OneShotWatch,
        states: &mut dyn SessionStates,
    ) -> Result<(), NotAcquired> {
        let reconnected = async { while states.changed().await != SessionState::SyncConnected {} };
        tokio::select! {
            biased;
            event = self.wait(watch) => event.map(drop),
            () = reconnected => Ok(()),
        }
    }

    /// Returns the event of the watched node; an error if the session has ended.
    pub(crate) fn node_event(&self, event: &WatchedEvent) -> Result<EventType, NotAcquired> {
        match event.event_type {
            EventType::Session => Err(NotAcquired::Failed(session_ended(event.session_state, &self.lock))),
            kind => Ok(kind),
        }
    }
}

/// The number of failed tries after which a reply that cannot be read is final.
const MAX_UNREADABLE: u32 = 5;

/// The retries of one request: the first at once, the next ones after pauses that grow from 10 ms
/// to one second.
#[derive(Debug)]
pub(crate) struct Retries {
    /// The number of failed tries so far.
    pub(crate) failures: u32,
    backoff: Backoff,
}

impl Default for Retries {
    fn default() -> Self {
        Self { failures: 0, backoff: Backoff::new(Duration::from_millis(10), Duration::from_secs(1)) }
    }
}

impl Retries {
    /// Returns whether a request that has failed with this error is to be sent again. A reply that
    /// cannot be read leaves its outcome unknown, as a lost one does; but a server may send nothing
    /// else.
    pub(crate) fn may_help(&self, error: &Error) -> bool {
        is_transient(error) || is_unreadable(error) && self.failures < MAX_UNREADABLE
    }

    pub(crate) async fn wait(&mut self) {
        if self.failures > 0 {
            sleep(self.backoff.next_pause()).await;
        }
        self.failures = self.failures.saturating_add(1);
    }
}

/// A node that an attempt created. Path and czxid together are the node: when it is gone, another
/// one may get its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNode {
    pub(crate) path: ZnodePath,
    /// The node's number; `None` if the node is not sequential.
    pub(crate) sequence: Option<Sequence>,
    /// The zxid of the transaction that created the node.
    pub(crate) created: Zxid,
    /// Whether another attempt may create a node with the same path once this one is gone. A path
    /// with the attempt's id never returns. A path with a number returns only when the parent is
    /// created again.
    pub(crate) path_returns: bool,
}

impl OwnNode {
    /// Returns whether a stat from the node's path is that of this node.
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        Zxid(stat.czxid) == self.created
    }
}

/// The time at which a reply last showed the own node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastSeen {
    /// The attempt has waited for nothing since.
    JustNow,
    /// Any time ago, without a lost connection since.
    OnThisConnection,
    /// Any time ago.
    Before,
}

impl RetryingClient {
    /// Deletes the own node. Returns `false` if somebody else has deleted it before.
    ///
    /// ZooKeeper deletes by path. If another node can have the path, the own node is read before
    /// the deletion is sent, and again before it is resent after a lost reply, since the first one
    /// may have been carried out.
    ///
    /// After a lost connection the server catches up with the leader first, since one that lags
    /// behind still shows a deleted node. The servers refuse a late deletion on a connection whose
    /// session has moved.
    ///
    /// Cost: one request; one more to look, two after a lost connection.
    pub(crate) async fn delete(&self, own: &OwnNode, mut seen: LastSeen) -> Result<bool, LockError> {
        let mut retries = Retries::default();
        loop {
            let version = if own.path_returns && seen != LastSeen::JustNow {
                let Some(version) = self.version_of(own, seen == LastSeen::Before).await? else { break };
                Some(version)
            } else {
                None
            };
            self.meter.request(RequestKind::Delete);
            match self.raw.delete(own.path.as_str(), version).await {
                Ok(()) => {
                    self.meter.gone(&own.path);
                    return Ok(true);
                }
                Err(Error::NoNode) => break,
                // Somebody has changed the data since the read, or another node has the path.
                Err(Error::BadVersion) => seen = LastSeen::OnThisConnection,
                Err(error) if retries.may_help(&error) => {
                    seen = LastSeen::Before;
                    retries.wait().await;
                }
                Err(error) => return Err(lock_error(error, &self.lock, "delete", &own.path)),
            }
        }
        self.meter.gone(&own.path);
        // After a lost reply, this attempt's own deletion was carried out.
        Ok(retries.failures > 0)
    }

    /// Returns whether the own node exists.
    pub(crate) async fn has(&self, own: &OwnNode) -> Result<bool, LockError> {
        Ok(self.version_of(own, false).await?.is_some())
    }

    /// Returns whether the own node exists, once the server has caught up with the leader.
    ///
    /// This proves that the session lives. [`has`](Self::has) does not: a server that has lost its
    /// leader goes on for `syncLimit` ticks, and reads for its clients from a tree in which sessions
    /// that have ended still have their nodes. A sync is answered by the leader.
    ///
    /// Cost: two requests in one round trip.
    pub(crate) async fn has_in_sync(&self, own: &OwnNode) -> Result<bool, LockError> {
        Ok(self.version_of(own, true).await?.is_some())
    }

    /// Returns the version of the own node's data; `None` if the node is gone.
    pub(crate) async fn version_of(&self, own: &OwnNode, in_sync: bool) -> Result<Option<i32>, LockError> {
        let stat = if in_sync { self.stat_in_sync(&own.path).await? } else { self.stat(&own.path).await? };
        Ok(stat.filter(|stat| own.is(stat)).map(|stat| stat.version))
    }

    /// Creates a node and deletes the own one, in one transaction, once. With a version only if the
    /// data of the own one has it.
    pub(crate) async fn replace_once(
        &self,
        own: &OwnNode,
        version: Option<i32>,
        new: NewNode<'_>,
    ) -> Result<(), Error> {
        self.meter.request(RequestKind::Create);
        self.raw.write(&[Write::Create(new), Write::Delete(own.path.as_str(), version)]).await?;
        Ok(())
    }
}

impl RetryingClient {
    /// Carries out an application's transaction, once. A server that is overloaded has not done it,
    /// and is asked again.
    pub(crate) async fn write(&self, writes: &[Write<'_>]) -> Result<Vec<MultiWriteResult>, MultiWriteError> {
        let mut retries = Retries::default();
        loop {
            self.meter.request(RequestKind::Write);
            match self.raw.write(writes).await {
                Err(MultiWriteError::RequestFailed { source: Error::Throttled }) => retries.wait().await,
                answer => return answer,
            }
        }
    }
}

/// The interval between checks of a node that must not be read.
const UNREADABLE_NODE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A one-shot watch, or the polling that replaces one.
pub(crate) struct OneShotWatch {
    event: Watch,
    meter: AttemptMeter,
    /// Whether the watch is set at the server and its event has not come yet.
    set: bool,
    /// The place of the watch, if a recorder needs it.
    place: Option<WatchPlace>,
}

impl OneShotWatch {
    fn new(event: Watch, meter: &AttemptMeter, place: Option<WatchPlace>) -> Self {
        meter.note_watch(place.as_ref(), LockActivity::Watches);
        Self { event, meter: meter.clone(), set: true, place }
    }

    /// Polls the node that the transaction `created` created. A later node with the same path is
    /// another node.
    fn polling(client: Arc<dyn Requests>, node: ZnodePath, created: Zxid, meter: &AttemptMeter) -> Self {
        let counted = meter.clone();
        let event = async move {
            loop {
                sleep(UNREADABLE_NODE_POLL_INTERVAL).await;
                counted.request(RequestKind::Read);
                match client.stat(node.as_str()).await {
                    Ok(Some(stat)) if Zxid(stat.czxid) == created => {}
                    Ok(_) => return WatchedEvent::new(EventType::NodeDeleted, node.as_str()),
                    Err(_) if client.state().is_terminated() => return WatchedEvent::new_session(client.state()),
                    Err(_) => {}
                }
            }
        };
        Self { event: Box::pin(event), meter: meter.clone(), set: false, place: None }
    }

    /// Waits for the event. Cancel safe. Must not be called again after it has returned one.
    pub(crate) async fn fired(&mut self) -> WatchedEvent {
        poll_fn(|context| self.poll_fired(context)).await
    }

    /// Polls for the event. Must not be called again after it has returned one.
    pub(crate) fn poll_fired(&mut self, context: &mut Context<'_>) -> Poll<WatchedEvent> {
        let event = self.event.poll_unpin(context);
        if let Poll::Ready(event) = &event {
            self.count_event(event);
        }
        event
    }

    /// Takes the event if it has come already: then the watch need not be removed.
    pub(crate) fn check_fired(&mut self) {
        let _ = self.fired().now_or_never();
    }

    fn count_event(&mut self, event: &WatchedEvent) {
        if self.set && event.event_type != EventType::Session {
            self.meter.event(self.place.as_ref());
        }
        self.set = false;
    }
}

impl std::fmt::Debug for OneShotWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Drop for OneShotWatch {
    fn drop(&mut self) {
        if self.set {
            // The client library removes the watch at the server, with a request.
            self.meter.note_watch(self.place.as_ref(), LockActivity::Unwatches);
            self.meter.request(RequestKind::RemoveWatch);
        }
    }
}

/// The place where an unanswered create may still make a node.
#[derive(Clone, Debug)]
pub(crate) enum CreatePlace {
    /// In a queue.
    Queue(QueuePlace),
    /// At this path.
    Node(ZnodePath),
}

/// The nodes of a queue that an unanswered create may still make.
#[derive(Clone, Debug)]
pub(crate) struct QueuePlace {
    pub(crate) parent: ZnodePath,
    pub(crate) names: QueueNames,
    /// The beginning of the node's name.
    pub(crate) prefix: String,
    /// The highest number in the parent at the unsuccessful search: the node gets a higher one.
    pub(crate) after: Option<Sequence>,
}

/// A place of an unanswered create, and the attempt's knowledge of it.
#[derive(Clone, Debug)]
pub(crate) struct UnansweredCreate {
    pub(crate) place: CreatePlace,
    /// The time of the last loss of the connection.
    pub(crate) lost_at: Instant,
    /// The node that the attempt finally created there.
    pub(crate) own: Option<ZnodePath>,
}

/// The unanswered creates of one attempt. Each place is kept once, so that few are in doubt however
/// often a connection is lost.
#[derive(Debug, Default)]
pub(crate) struct UnansweredCreates {
    creates: Mutex<Vec<UnansweredCreate>>,
    /// An attempt has created its node after a lost reply.
    settled: Notify,
}

impl UnansweredCreates {
    /// Records that the connection was lost before the reply to a create.
    pub(crate) fn record_lost(&self, place: CreatePlace) {
        let (mut creates, lost_at) = (self.creates(), Instant::now());
        match creates.iter_mut().find(|known| known.place.path() == place.path()) {
            Some(known) => known.lost_at = lost_at,
            None => creates.push(UnansweredCreate { place, lost_at, own: None }),
        }
    }

    /// Records that the attempt has created a node whose path begins with `prefix`.
    pub(crate) fn record_created(&self, prefix: &ZnodePath, own: &ZnodePath) {
        if let Some(known) = self.creates().iter_mut().find(|known| known.place.path() == *prefix) {
            known.own = Some(own.clone());
            self.settled.notify_one();
        }
    }

    /// Waits until the attempt has created a node after a lost reply. Cancel safe.
    pub(crate) async fn settled(&self) {
        self.settled.notified().await;
    }

    /// Returns all unanswered creates.
    pub(crate) fn all(&self) -> Vec<UnansweredCreate> {
        self.creates().clone()
    }

    fn creates(&self) -> MutexGuard<'_, Vec<UnansweredCreate>> {
        self.creates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CreatePlace {
    fn path(&self) -> ZnodePath {
        match self {
            Self::Queue(QueuePlace { parent, prefix, .. }) => parent.child(prefix),
            Self::Node(path) => path.clone(),
        }
    }
}
