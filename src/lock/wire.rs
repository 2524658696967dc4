//! One attempt's requests: each counted, and sent again after a cut.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Client, CreateOptions, CreateSequence, Error, EventType, OneshotWatcher, Stat, WatchedEvent};

use super::LockError;
use super::error::Stop;
use super::error::{ended, is_passing, judge};
use super::probe::Meter;
use crate::znode::{SessionId, ZnodePath};

/// How often a node is asked after that may not be read.
const POLLS: Duration = Duration::from_secs(1);

/// The names of a parent's children, and the watch that the listing set, where one was asked for.
pub(super) type Listing = (Vec<String>, Option<Watch>);

/// The client as one attempt uses it. What it asks is never dropped half-way: a request ends with its reply, or with
/// the session. Only waits are cancelled.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) client: Client,
    pub(super) meter: Meter,
    /// The path of the lock, for what errors say.
    pub(super) lock: ZnodePath,
    pub(super) cancel: CancellationToken,
}

impl Wire {
    pub(super) fn session(&self) -> SessionId {
        SessionId(self.client.session_id().0)
    }

    /// Creates a node, once: what an error leaves open is for the caller to find out.
    pub(super) async fn create(
        &self,
        path: &str,
        data: &[u8],
        options: &CreateOptions<'_>,
    ) -> Result<(Stat, CreateSequence), Error> {
        self.meter.request();
        self.client.create(path, data, options).await
    }

    /// Lists a parent's children, once.
    pub(super) async fn list_once(&self, parent: &ZnodePath, watched: bool) -> Result<Listing, Error> {
        self.meter.request();
        if watched {
            let (names, fires) = self.client.list_and_watch_children(parent.as_str()).await?;
            Ok((names, Some(Watch::new(fires, &self.meter))))
        } else {
            Ok((self.client.list_children(parent.as_str()).await?, None))
        }
    }

    /// Lists a parent's children; `None` when there is no such parent.
    pub(super) async fn list(&self, parent: &ZnodePath, watched: bool) -> Result<Option<Listing>, LockError> {
        let answer = self.again(|| self.list_once(parent, watched)).await;
        self.some(answer, "list the children of", parent)
    }

    /// Lists a parent's children as the ensemble's leader knows them at this moment, and not only the server that
    /// answers.
    pub(super) async fn list_in_sync(&self, parent: &ZnodePath) -> Result<Option<Vec<String>>, LockError> {
        let synced = || async {
            self.meter.request();
            let (synced, listed) = join(self.client.sync(parent.as_str()), self.list_once(parent, false)).await;
            synced.and(listed)
        };
        let answer = self.again(synced).await;
        Ok(self.some(answer, "list the children of", parent)?.map(|(names, _)| names))
    }

    /// Reads a node; `None` when it is not there.
    pub(super) async fn read(&self, node: &ZnodePath) -> Result<Option<(Vec<u8>, Stat)>, LockError> {
        let answer = self
            .again(|| async {
                self.meter.request();
                self.client.get_data(node.as_str()).await
            })
            .await;
        self.some(answer, "read", node)
    }

    /// Whether a node is there.
    pub(super) async fn exists(&self, node: &ZnodePath) -> Result<bool, LockError> {
        let answer = self
            .again(|| async {
                self.meter.request();
                self.client.check_stat(node.as_str()).await
            })
            .await;
        answer.map(|stat| stat.is_some()).map_err(|error| judge(error, &self.lock, "look at", node))
    }

    /// Watches a node for its end or a change, and gives its data; `None` when it is not there.
    ///
    /// A node that may not be read is asked after every second, and its data is unknown: its watch could be set, but newer
    /// servers deliver no event of it.
    pub(super) async fn watch(&self, node: &ZnodePath) -> Result<Option<(Option<Vec<u8>>, Watch)>, LockError> {
        let read = || async {
            self.meter.request();
            // Not `exists`: on a node that is gone that would leave a watch which never fires.
            match self.client.get_and_watch_data(node.as_str()).await {
                Err(Error::NoAuth) => Ok((None, Watch::polling(self.client.clone(), node.clone(), &self.meter))),
                answer => answer.map(|(data, _, watcher)| (Some(data), Watch::new(watcher, &self.meter))),
            }
        };
        let answer = self.again(read).await;
        self.some(answer, "watch", node)
    }

    /// Deletes a node that nobody else can have made. `false` when it was gone before, though no earlier reply of
    /// this deletion was lost.
    pub(super) async fn delete(&self, node: &ZnodePath) -> Result<bool, LockError> {
        let mut pause = Pause::default();
        loop {
            self.meter.request();
            match self.client.delete(node.as_str(), None).await {
                Ok(()) => {
                    self.meter.gone(node);
                    return Ok(true);
                }
                Err(Error::NoNode) => {
                    self.meter.gone(node);
                    return Ok(pause.rounds > 0);
                }
                Err(error) if is_passing(&error) => pause.wait().await,
                Err(error) => return Err(judge(error, &self.lock, "delete", node)),
            }
        }
    }

    /// Sends a request until it is answered or the session ends. What is sent while there is no connection waits for
    /// the next one.
    pub(super) async fn again<T, F>(&self, send: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut pause = Pause::default();
        loop {
            match send().await {
                Err(error) if is_passing(&error) => pause.wait().await,
                answer => return answer,
            }
        }
    }

    fn some<T>(&self, answer: Result<T, Error>, act: &'static str, path: &ZnodePath) -> Result<Option<T>, LockError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::NoNode) => Ok(None),
            Err(error) => Err(judge(error, &self.lock, act, path)),
        }
    }

    /// Waits for a watch to fire, for a cancellation or for the end of the session.
    pub(super) async fn wait(&self, watch: &mut Watch) -> Result<EventType, Stop> {
        tokio::select! {
            biased;
            event = watch.fired() => self.node_event(&event),
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
        }
    }

    /// What a watch says of its node; an error when it only says that the session is over.
    pub(super) fn node_event(&self, event: &WatchedEvent) -> Result<EventType, Stop> {
        match event.event_type {
            EventType::Session => Err(Stop::Failed(ended(event.session_state, &self.lock))),
            kind => Ok(kind),
        }
    }
}

/// A one-shot watch that is set, or what stands for one.
pub(super) struct Watch {
    event: BoxFuture<'static, WatchedEvent>,
    meter: Meter,
    /// Whether the server has it and has not delivered its event yet.
    set: bool,
}

impl Watch {
    fn new(watcher: OneshotWatcher, meter: &Meter) -> Self {
        Self { event: Box::pin(watcher.changed()), meter: meter.clone(), set: true }
    }

    fn polling(client: Client, node: ZnodePath, meter: &Meter) -> Self {
        let counted = meter.clone();
        let event = async move {
            loop {
                sleep(POLLS).await;
                counted.request();
                match client.check_stat(node.as_str()).await {
                    Ok(None) => return WatchedEvent::new(EventType::NodeDeleted, node.as_str()),
                    Err(_) if client.state().is_terminated() => return WatchedEvent::new_session(client.state()),
                    _ => {}
                }
            }
        };
        Self { event: Box::pin(event), meter: meter.clone(), set: false }
    }

    /// What it delivers. Cancel safe; not to be asked again after it has answered.
    pub(super) async fn fired(&mut self) -> WatchedEvent {
        let event = (&mut self.event).await;
        self.note(&event);
        event
    }

    /// Takes the event that is there already, if one is: then the watch need not be taken back.
    pub(super) fn settle(&mut self) {
        if let Some(event) = (&mut self.event).now_or_never() {
            self.note(&event);
        }
    }

    fn note(&mut self, event: &WatchedEvent) {
        if self.set && event.event_type != EventType::Session {
            self.meter.event();
        }
        self.set = false;
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.set {
            // The client library takes it back from the server.
            self.meter.request();
        }
    }
}

/// Waiting times after failures: none, then from 10 milliseconds doubling to one second.
#[derive(Debug, Default)]
pub(super) struct Pause {
    pub(super) rounds: u32,
}

impl Pause {
    pub(super) async fn wait(&mut self) {
        if let Some(doublings) = self.rounds.checked_sub(1) {
            sleep(Duration::from_millis(10 << doublings.min(7)).min(Duration::from_secs(1))).await;
        }
        self.rounds = self.rounds.saturating_add(1);
    }
}
