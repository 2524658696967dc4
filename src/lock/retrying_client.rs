//! The requests of one attempt: each is counted, and sent again after a lost connection.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Client, CreateOptions, CreateSequence, Error, EventType, OneshotWatcher, Stat, WatchedEvent};

use super::LockError;
use super::activity::{LockActivity, RequestKind, WatchPlace};
use super::cost::AttemptMeter;
use super::error::NotAcquired;
use super::error::{is_transient, lock_error, session_ended};
use super::unanswered::UnansweredCreates;
use crate::time::Backoff;
use crate::znode::{SessionId, ZnodePath};

/// How often a node is checked that must not be read.
const UNREADABLE_NODE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The names of a parent's children, and the watch that the listing has set, if it was to set one.
pub(super) type Listing = (Vec<String>, Option<OneShotWatch>);

/// The client as one attempt uses it. Its requests are never dropped half-way: each ends with its reply, or with the
/// session. Only waits are cancelled.
#[derive(Debug)]
pub(super) struct RetryingClient {
    pub(super) raw: Client,
    pub(super) meter: AttemptMeter,
    /// The path of the lock, for errors.
    pub(super) lock: ZnodePath,
    pub(super) cancel: CancellationToken,
    pub(super) unanswered: UnansweredCreates,
}

impl RetryingClient {
    pub(super) fn session(&self) -> SessionId {
        SessionId(self.raw.session_id().0)
    }

    /// Creates a node, once: after an error the caller finds out whether it was created.
    pub(super) async fn create(
        &self,
        path: &str,
        data: &[u8],
        options: &CreateOptions<'_>,
    ) -> Result<(Stat, CreateSequence), Error> {
        self.meter.request(RequestKind::Create);
        self.raw.create(path, data, options).await
    }

    /// Lists a parent's children, once.
    pub(super) async fn list_once(&self, parent: &ZnodePath, watched: bool) -> Result<Listing, Error> {
        self.meter.request(RequestKind::List);
        if watched {
            let (names, fires) = self.raw.list_and_watch_children(parent.as_str()).await?;
            let place = self.meter.place(|| WatchPlace::Children(parent.clone()));
            Ok((names, Some(OneShotWatch::new(fires, &self.meter, place))))
        } else {
            Ok((self.raw.list_children(parent.as_str()).await?, None))
        }
    }

    /// Lists a parent's children; `None` when there is no such parent.
    pub(super) async fn list(&self, parent: &ZnodePath, watched: bool) -> Result<Option<Listing>, LockError> {
        let answer = self.until_answered(|| self.list_once(parent, watched)).await;
        self.none_if_missing(answer, "list the children of", parent)
    }

    /// Lists a parent's children after the server has caught up with the leader. `None` when there is no such parent.
    pub(super) async fn list_in_sync(&self, parent: &ZnodePath) -> Result<Option<Vec<String>>, LockError> {
        let answer = self.in_sync(parent, || self.list_once(parent, false)).await;
        Ok(self.none_if_missing(answer, "list the children of", parent)?.map(|(names, _)| names))
    }

    /// Reads a node; `None` when it is not there.
    pub(super) async fn read(&self, node: &ZnodePath) -> Result<Option<(Vec<u8>, Stat)>, LockError> {
        let answer = self.until_answered(|| self.read_once(node)).await;
        self.none_if_missing(answer, "read", node)
    }

    /// Reads a node after the server has caught up with the leader; `None` when it is not there.
    pub(super) async fn read_in_sync(&self, node: &ZnodePath) -> Result<Option<(Vec<u8>, Stat)>, LockError> {
        let answer = self.in_sync(node, || self.read_once(node)).await;
        self.none_if_missing(answer, "read", node)
    }

    /// Reads a node, once.
    async fn read_once(&self, node: &ZnodePath) -> Result<(Vec<u8>, Stat), Error> {
        self.meter.request(RequestKind::Read);
        self.raw.get_data(node.as_str()).await
    }

    /// Sends a request right behind one that has the server catch up with the leader, until both are answered or the session ends.
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

    /// Whether a node is there.
    pub(super) async fn exists(&self, node: &ZnodePath) -> Result<bool, LockError> {
        Ok(self.stat(node).await?.is_some())
    }

    /// A node's stat, for which it need not be readable; `None` when it is not there.
    pub(super) async fn stat(&self, node: &ZnodePath) -> Result<Option<Stat>, LockError> {
        let answer = self
            .until_answered(|| async {
                self.meter.request(RequestKind::Read);
                self.raw.check_stat(node.as_str()).await
            })
            .await;
        answer.map_err(|error| lock_error(error, &self.lock, "look at", node))
    }

    /// Watches a node for its end or a change, and gives its data. `None` when it is not there.
    ///
    /// A node that must not be read is polled every second, and its data is `None`: a watch could be set, but newer servers
    /// deliver no event of it.
    pub(super) async fn watch(&self, node: &ZnodePath) -> Result<Option<(Option<Vec<u8>>, OneShotWatch)>, LockError> {
        let read = || async {
            self.meter.request(RequestKind::Read);
            // Not `exists`: for a node that is gone it would set a watch that never fires.
            match self.raw.get_and_watch_data(node.as_str()).await {
                Err(Error::NoAuth) => Ok((None, OneShotWatch::polling(self.raw.clone(), node.clone(), &self.meter))),
                answer => answer.map(|(data, _, watcher)| {
                    let place = self.meter.place(|| WatchPlace::Node(node.clone()));
                    (Some(data), OneShotWatch::new(watcher, &self.meter, place))
                }),
            }
        };
        let answer = self.until_answered(read).await;
        self.none_if_missing(answer, "watch", node)
    }

    /// Deletes a node whose path nobody else uses. `false` when somebody else has deleted it before.
    pub(super) async fn delete(&self, node: &ZnodePath) -> Result<bool, LockError> {
        let mut retries = Retries::default();
        loop {
            self.meter.request(RequestKind::Delete);
            match self.raw.delete(node.as_str(), None).await {
                Ok(()) => {
                    self.meter.gone(node);
                    return Ok(true);
                }
                Err(Error::NoNode) => {
                    self.meter.gone(node);
                    return Ok(retries.failures > 0);
                }
                Err(error) if is_transient(&error) => retries.wait().await,
                Err(error) => return Err(lock_error(error, &self.lock, "delete", node)),
            }
        }
    }

    /// Sends a request until it is answered or the session ends. What is sent while there is no connection waits for
    /// the next one.
    pub(super) async fn until_answered<T, F>(&self, send: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut retries = Retries::default();
        loop {
            match send().await {
                Err(error) if is_transient(&error) => retries.wait().await,
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
    pub(super) async fn wait(&self, watch: &mut OneShotWatch) -> Result<EventType, NotAcquired> {
        self.meter.note(|| LockActivity::Waits);
        tokio::select! {
            biased;
            event = watch.fired() => self.node_event(&event),
            () = self.cancel.cancelled() => Err(NotAcquired::Cancelled),
        }
    }

    /// What has happened to the watched node; an error when the session has ended.
    pub(super) fn node_event(&self, event: &WatchedEvent) -> Result<EventType, NotAcquired> {
        match event.event_type {
            EventType::Session => Err(NotAcquired::Failed(session_ended(event.session_state, &self.lock))),
            kind => Ok(kind),
        }
    }
}

/// A one-shot watch, or the polling that replaces one.
pub(super) struct OneShotWatch {
    event: BoxFuture<'static, WatchedEvent>,
    meter: AttemptMeter,
    /// Whether it is set at the server and its event has not come yet.
    set: bool,
    /// What it is set on, where somebody records that.
    place: Option<WatchPlace>,
}

impl OneShotWatch {
    fn new(watcher: OneshotWatcher, meter: &AttemptMeter, place: Option<WatchPlace>) -> Self {
        meter.note_watch(place.as_ref(), LockActivity::Watches);
        Self { event: Box::pin(watcher.changed()), meter: meter.clone(), set: true, place }
    }

    fn polling(client: Client, node: ZnodePath, meter: &AttemptMeter) -> Self {
        let counted = meter.clone();
        let event = async move {
            loop {
                sleep(UNREADABLE_NODE_POLL_INTERVAL).await;
                counted.request(RequestKind::Read);
                match client.check_stat(node.as_str()).await {
                    Ok(None) => return WatchedEvent::new(EventType::NodeDeleted, node.as_str()),
                    Err(_) if client.state().is_terminated() => return WatchedEvent::new_session(client.state()),
                    _ => {}
                }
            }
        };
        Self { event: Box::pin(event), meter: meter.clone(), set: false, place: None }
    }

    /// Waits for its event. Cancel safe. Must not be called again after it has given one.
    pub(super) async fn fired(&mut self) -> WatchedEvent {
        poll_fn(|context| self.poll_fired(context)).await
    }

    /// Its event, if it has come. Must not be called again after it has given one.
    pub(super) fn poll_fired(&mut self, context: &mut Context<'_>) -> Poll<WatchedEvent> {
        let event = self.event.poll_unpin(context);
        if let Poll::Ready(event) = &event {
            self.note(event);
        }
        event
    }

    /// Takes its event if it has come already: then the watch need not be removed.
    pub(super) fn settle(&mut self) {
        let _ = self.fired().now_or_never();
    }

    fn note(&mut self, event: &WatchedEvent) {
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
            // The client library removes it at the server, with a request.
            self.meter.note_watch(self.place.as_ref(), LockActivity::Unwatches);
            self.meter.request(RequestKind::RemoveWatch);
        }
    }
}

/// The retries of one request: the first at once, the next ones after pauses that grow from 10 ms to one second.
#[derive(Debug)]
pub(super) struct Retries {
    /// How many tries have failed so far.
    pub(super) failures: u32,
    backoff: Backoff,
}

impl Default for Retries {
    fn default() -> Self {
        Self { failures: 0, backoff: Backoff::new(Duration::from_millis(10), Duration::from_secs(1)) }
    }
}

impl Retries {
    pub(super) async fn wait(&mut self) {
        if self.failures > 0 {
            sleep(self.backoff.next_pause()).await;
        }
        self.failures = self.failures.saturating_add(1);
    }
}
