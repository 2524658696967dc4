//! The simulated client library of one process: what `zookeeper-client` does, without sockets and
//! without time.
//!
//! Each call of a method of [`Requests`](lockscope_requests::Requests) puts a request into the
//! outbox. The explorer decides when a member carries it out, and when the process receives the
//! reply. The docs of `lockscope_requests` say what must happen when a connection breaks.
//!
//! The library also keeps its client's watches: it sets them again after a reconnect, and removes
//! those that were dropped.

mod client;

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::{Notify, oneshot};
use zookeeper_client::{Error, EventType, SessionState, WatchedEvent};

use crate::ensemble::{ReadOp, Request, Response, SimulatedEventKind, SimulatedMessage, SimulatedWatchKind, is_below};
use client::{error_of, refused};
use lockscope_base::wire::ErrorCode;

pub use client::{SimClient, shared};

/// The session timeout, in seconds. One second is a twentieth of it, the resolution of the client
/// library's clock.
pub const TIMEOUT: u32 = 20;

/// The seconds of silence after which the library gives the connection up, at the latest: 9/20 of
/// the timeout.
pub const NOTICES_SILENCE_AFTER: u32 = TIMEOUT * 9 / 20;

/// The seconds without a message after which the library takes its session for expired: 7/5 of the
/// timeout.
const GIVES_UP_AFTER: u32 = TIMEOUT * 7 / 5;

/// What the process learns of an answer: the answer itself, and the watch that it has set.
type Answered = Result<(Response, Option<NewWatch>), Error>;

/// The state of one process's client library.
#[derive(Debug)]
pub struct Library {
    /// The process.
    pub index: usize,
    /// Whether it has a connection.
    pub connected: bool,
    /// Requests that were made and are not on their way yet.
    pub outbox: VecDeque<(u32, Request)>,
    state: SessionState,
    /// The number of changes of the state.
    changes: u64,
    changed: Arc<Notify>,
    /// The request that sets the watches on a new connection. Until its reply the connection is not
    /// settled: other requests wait.
    settles_with: Option<u32>,
    /// The seconds without a settled connection, and those of the silence before.
    alone_for: u32,
    next_xid: u32,
    next_attempt: u64,
    replies: BTreeMap<u32, PendingReply>,
    watchers: SimulatedWatchers,
}

#[derive(Debug)]
struct PendingReply {
    sender: oneshot::Sender<Answered>,
    request: Request,
}

/// A library that its client and its process share.
pub type SharedLibrary = Arc<Mutex<Library>>;

/// Locks a library.
pub fn lock(library: &SharedLibrary) -> MutexGuard<'_, Library> {
    library.lock().expect("no step panics while it holds the lock")
}

impl Library {
    /// Creates the library of a process that is connected.
    pub fn new(index: usize) -> Self {
        Self {
            index,
            connected: true,
            outbox: VecDeque::new(),
            state: SessionState::SyncConnected,
            changes: 0,
            changed: Arc::default(),
            settles_with: None,
            alone_for: 0,
            next_xid: 1,
            next_attempt: 0,
            replies: BTreeMap::new(),
            watchers: SimulatedWatchers::default(),
        }
    }

    /// Returns the number of requests that were made so far, and one.
    pub fn next_request(&self) -> u32 {
        self.next_xid
    }

    /// Returns whether a write was made and is not answered.
    pub fn awaits_write(&self) -> bool {
        self.replies.values().any(|pending| !pending.request.writes().is_empty())
    }

    /// Returns whether the session has ended, as the library sees it.
    pub fn is_over(&self) -> bool {
        self.state.is_terminated()
    }

    fn set_state(&mut self, state: SessionState) {
        self.state = state;
        self.changes += 1;
        self.changed.notify_waiters();
    }

    /// Tells the program and its recursive watches of a new state.
    fn tell(&mut self, state: SessionState) {
        self.set_state(state);
        self.watchers.session(state);
    }

    fn request(&mut self, request: Request) -> oneshot::Receiver<Answered> {
        let (sender, receiver) = oneshot::channel();
        if let Some(error) = ended(self.state) {
            let _ = sender.send(Err(error));
            return receiver;
        }
        self.remove_dropped_watches();
        let xid = self.send(request.clone());
        self.replies.insert(xid, PendingReply { sender, request });
        receiver
    }

    fn send(&mut self, request: Request) -> u32 {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.outbox.push_back((xid, request));
        xid
    }

    /// Returns the requests that go on their way now: without a settled connection they wait.
    pub fn take_sent(&mut self) -> Vec<(u32, Request)> {
        self.remove_dropped_watches();
        let ready = match self.settles_with {
            _ if !self.connected => 0,
            Some(first) => self.outbox.iter().take_while(|(xid, _)| *xid == first).count(),
            None => self.outbox.len(),
        };
        self.outbox.drain(..ready).collect()
    }

    /// Receives a message.
    pub fn receive(&mut self, message: &SimulatedMessage) {
        self.remove_dropped_watches();
        match message {
            SimulatedMessage::Closed => self.disconnect(),
            SimulatedMessage::Event { kind, path, zxid } => self.watchers.fire(*kind, path, *zxid),
            SimulatedMessage::Reply { answer: Err(ErrorCode::SessionExpired), .. } => self.end(SessionState::Expired),
            SimulatedMessage::Reply { xid, .. } if self.settles_with == Some(*xid) => self.settles_with = None,
            SimulatedMessage::Refused { xid, why } => {
                if let Some(pending) = self.replies.remove(xid) {
                    let _ = pending.sender.send(Err(refused(*why)));
                }
            }
            SimulatedMessage::Reply { xid, answer } => {
                let Some(pending) = self.replies.remove(xid) else { return };
                let watch = self.watchers.watch(&pending.request, answer);
                let answer = answer.clone().map(|answer| (answer, watch)).map_err(error_of);
                // Drops the watch if nobody waits for the reply any more.
                let _ = pending.sender.send(answer);
            }
        }
    }

    /// Loses the connection. If it was not settled, the library tells nobody, and the requests that
    /// waited for it go on waiting.
    pub fn disconnect(&mut self) {
        if !self.connected {
            return;
        }
        self.connected = false;
        self.remove_dropped_watches();
        if let Some(first) = self.settles_with.take() {
            self.outbox.retain(|(xid, _)| *xid != first);
            return;
        }
        self.outbox.clear();
        self.tell(SessionState::Disconnected);
        for pending in std::mem::take(&mut self.replies).into_values() {
            let _ = pending.sender.send(Err(Error::ConnectionLoss));
        }
    }

    /// Loses the connection because nothing has come for [`NOTICES_SILENCE_AFTER`].
    pub fn notice_silence(&mut self) {
        if self.settles_with.is_none() {
            self.alone_for = NOTICES_SILENCE_AFTER;
        }
        self.disconnect();
    }

    /// Gets a connection. The watches go out first; without any, this is the heartbeat that the
    /// library sends. The requests that waited follow after the reply.
    pub fn connect(&mut self) {
        self.connected = true;
        self.remove_dropped_watches();
        let watches = self.watchers.to_set_again();
        self.outbox.push_front((self.next_xid, Request::SetWatches { seen: 0, watches }));
        self.settles_with = Some(self.next_xid);
        self.next_xid += 1;
        if self.state == SessionState::SyncConnected {
            // A connection before this one has broken before it was settled.
            self.tell(SessionState::Disconnected);
        }
        self.tell(SessionState::SyncConnected);
    }

    /// Lets a second pass. Without a connection for too long, the library gives the session up. It
    /// first waits for the end of a connection that is not settled.
    pub fn pass(&mut self) {
        self.alone_for = if self.connected && self.settles_with.is_none() { 0 } else { self.alone_for + 1 };
        if self.alone_for > GIVES_UP_AFTER && !self.connected && !self.is_over() {
            self.end(SessionState::Expired);
        }
    }

    /// Ends the session at the client.
    pub fn end(&mut self, state: SessionState) {
        self.connected = false;
        self.settles_with = None;
        self.set_state(state);
        self.outbox.clear();
        let error = ended(state).unwrap_or(Error::ClientClosed);
        for pending in std::mem::take(&mut self.replies).into_values() {
            let _ = pending.sender.send(Err(error.clone()));
        }
        self.watchers.end(state);
    }

    fn remove_dropped_watches(&mut self) {
        let under_way = self.replies.values().map(|pending| &pending.request);
        for request in self.watchers.remove_dropped(&under_way) {
            if self.connected {
                self.send(request);
            }
        }
    }
}

/// Returns the error of requests after the end of a session.
fn ended(state: SessionState) -> Option<Error> {
    match state {
        SessionState::Expired => Some(Error::SessionExpired),
        SessionState::AuthFailed => Some(Error::AuthFailed),
        SessionState::Closed => Some(Error::ClientClosed),
        SessionState::Disconnected | SessionState::SyncConnected | SessionState::ConnectedReadOnly => None,
    }
}

/// A node that is watched, and for what.
type WatchKey = (Arc<str>, SimulatedWatchKind);

/// The watchers that were dropped. They may be dropped while the library is locked.
type Dropped = Arc<Mutex<Vec<u64>>>;

/// The watches of one client, by the number of the watcher.
#[derive(Debug, Default)]
struct SimulatedWatchers {
    next: u64,
    one_shot: BTreeMap<u64, (WatchKey, Option<oneshot::Sender<WatchedEvent>>)>,
    recursive: BTreeMap<u64, (Arc<str>, mpsc::UnboundedSender<WatchedEvent>)>,
    dropped: Dropped,
    /// The requests that remove dropped watches at the member, while a request under way may set
    /// the same watch.
    removals: Vec<Request>,
}

/// A new watch. Dropping it removes it.
#[derive(Debug)]
enum NewWatch {
    OneShot(SimWatch),
    Recursive(SimEvents),
}

impl SimulatedWatchers {
    /// Adds the watch that a request has set, and returns it.
    fn watch(&mut self, request: &Request, answer: &Result<Response, ErrorCode>) -> Option<NewWatch> {
        let id = self.next;
        let watch = match (request, answer) {
            (Request::Read { read, watch: true }, Ok(answer)) => {
                let (sender, receiver) = oneshot::channel();
                self.one_shot.insert(id, (key(read, answer)?, Some(sender)));
                NewWatch::OneShot(SimWatch { receiver, on_drop: self.on_drop(id) })
            }
            (Request::WatchRecursively(root), Ok(_)) => {
                let (sender, events) = mpsc::unbounded();
                self.recursive.insert(id, (Arc::clone(root), sender));
                NewWatch::Recursive(SimEvents { events, _on_drop: self.on_drop(id) })
            }
            _ => return None,
        };
        self.next += 1;
        Some(watch)
    }

    fn on_drop(&self, id: u64) -> OnDrop {
        OnDrop { dropped: Arc::clone(&self.dropped), id }
    }

    /// Delivers an event of a node.
    fn fire(&mut self, kind: SimulatedEventKind, path: &Arc<str>, zxid: i64) {
        let event = match kind {
            SimulatedEventKind::Created => EventType::NodeCreated,
            SimulatedEventKind::Deleted => EventType::NodeDeleted,
            SimulatedEventKind::DataChanged => EventType::NodeDataChanged,
            SimulatedEventKind::ChildrenChanged => EventType::NodeChildrenChanged,
        };
        let event = WatchedEvent::new(event, &**path).with_zxid(zxid);
        self.one_shot.retain(|_, ((watched, watch), sender)| {
            let fires = watched == path && fires(*watch, kind);
            if fires && let Some(sender) = sender.take() {
                let _ = sender.send(event.clone());
            }
            !fires
        });
        if kind != SimulatedEventKind::ChildrenChanged {
            for (root, sender) in self.recursive.values() {
                if is_below(path, root) {
                    let _ = sender.unbounded_send(event.clone());
                }
            }
        }
    }

    /// Tells the recursive watches of a new state of the session.
    fn session(&mut self, state: SessionState) {
        for (_, sender) in self.recursive.values() {
            let _ = sender.unbounded_send(WatchedEvent::new_session(state));
        }
    }

    /// Ends all watches with the session.
    fn end(&mut self, state: SessionState) {
        self.session(state);
        self.recursive.clear();
        for (_, sender) in std::mem::take(&mut self.one_shot).into_values() {
            let _ = sender.map(|sender| sender.send(WatchedEvent::new_session(state)));
        }
    }

    /// Returns the one-shot watches that a new connection sets again.
    fn to_set_again(&self) -> Vec<WatchKey> {
        let mut keys: Vec<WatchKey> = self.one_shot.values().map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Forgets the watchers that were dropped. Returns the requests that remove their watches at
    /// the member, unless another watcher shares them. While a request is under way that may set
    /// the same watch, its removal waits: the member has one watch for both.
    fn remove_dropped<'a>(&mut self, under_way: &(impl Iterator<Item = &'a Request> + Clone)) -> Vec<Request> {
        for id in std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner)) {
            if let Some(((path, kind), _)) = self.one_shot.remove(&id) {
                self.removals.push(Request::RemoveWatch(path, kind));
            } else if let Some((root, _)) = self.recursive.remove(&id) {
                self.removals.push(Request::RemoveRecursive(root));
            }
        }
        let removals = std::mem::take(&mut self.removals);
        let needless = |removal: &Request| match removal {
            Request::RemoveWatch(path, kind) => self.one_shot.values().any(|(key, _)| is_same(key, path, *kind)),
            Request::RemoveRecursive(root) => self.recursive.values().any(|(other, _)| other == root),
            _ => true,
        };
        let wanted = removals.into_iter().filter(|removal| !needless(removal));
        let (early, due) = wanted.partition(|removal| under_way.clone().any(|request| may_set(request, removal)));
        self.removals = early;
        due
    }
}

/// Returns whether a request may set the watch that a removal names.
fn may_set(request: &Request, removal: &Request) -> bool {
    match (request, removal) {
        (Request::Read { read, watch: true }, Request::RemoveWatch(path, kind)) => match read {
            ReadOp::Data(own) | ReadOp::Stat(own) => own == path && *kind != SimulatedWatchKind::Children,
            ReadOp::Children(own) => own == path && *kind == SimulatedWatchKind::Children,
            ReadOp::Count(_) => false,
        },
        (Request::WatchRecursively(root), Request::RemoveRecursive(other)) => root == other,
        _ => false,
    }
}

/// Returns whether a member has one watch for both: it knows no difference between a node's data and
/// its creation.
fn is_same(key: &WatchKey, path: &str, kind: SimulatedWatchKind) -> bool {
    &*key.0 == path && (key.1 == SimulatedWatchKind::Children) == (kind == SimulatedWatchKind::Children)
}

/// Returns what a read watches, according to its answer.
fn key(read: &ReadOp, answer: &Response) -> Option<WatchKey> {
    Some(match (read, answer) {
        (ReadOp::Data(path), _) | (ReadOp::Stat(path), Response::Stat(Some(_))) => {
            (Arc::clone(path), SimulatedWatchKind::Data)
        }
        (ReadOp::Stat(path), _) => (Arc::clone(path), SimulatedWatchKind::Exists),
        (ReadOp::Children(path), _) => (Arc::clone(path), SimulatedWatchKind::Children),
        (ReadOp::Count(_), _) => return None,
    })
}

/// Returns whether a watch of the node takes an event. The client library is no stricter.
fn fires(watch: SimulatedWatchKind, event: SimulatedEventKind) -> bool {
    match event {
        SimulatedEventKind::Created | SimulatedEventKind::DataChanged => watch != SimulatedWatchKind::Children,
        SimulatedEventKind::Deleted => true,
        SimulatedEventKind::ChildrenChanged => watch == SimulatedWatchKind::Children,
    }
}

/// Reports that a watcher was dropped.
#[derive(Debug)]
struct OnDrop {
    dropped: Dropped,
    id: u64,
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
    }
}

/// A one-shot watch. Dropping it before its event removes it.
#[derive(Debug)]
struct SimWatch {
    receiver: oneshot::Receiver<WatchedEvent>,
    on_drop: OnDrop,
}

impl Future for SimWatch {
    type Output = WatchedEvent;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WatchedEvent> {
        let _ = &self.on_drop;
        self.receiver.poll_unpin(context).map(|event| event.expect("a watcher is removed with its event only"))
    }
}

/// The events of a recursive watch.
#[derive(Debug)]
struct SimEvents {
    events: mpsc::UnboundedReceiver<WatchedEvent>,
    _on_drop: OnDrop,
}

impl Stream for SimEvents {
    type Item = WatchedEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchedEvent>> {
        self.events.poll_next_unpin(context)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::ensemble::SimulatedWatchKind;
    use lockscope_sandbox::parts::Stat;

    /// Sends what the client wants to send.
    fn sent(library: &SharedLibrary) -> Vec<(u32, Request)> {
        lock(library).take_sent()
    }

    #[test]
    fn a_dropped_watch_is_not_removed_while_a_request_may_set_it_too() {
        let library: SharedLibrary = Arc::new(Mutex::new(Library::new(0)));
        let client = shared(&library);
        let mut first = client.watch_children("/node");
        let xid = sent(&library)[0].0;
        let answer = Ok(Response::Children { names: Vec::new(), stat: Stat::default() });
        lock(&library).receive(&SimulatedMessage::Reply { xid, answer });
        let first = (&mut first).now_or_never().expect("it is answered").expect("the node is there");
        let second = client.watch_children("/node");
        let xid = sent(&library)[0].0;
        drop(first);
        assert_eq!(sent(&library), []);
        lock(&library).receive(&SimulatedMessage::Reply { xid, answer: Err(ErrorCode::NoNode) });
        assert_eq!(second.now_or_never().map(|watched| watched.is_err()), Some(true));
        let removal = Request::RemoveWatch("/node".into(), SimulatedWatchKind::Children);
        assert_eq!(sent(&library), [(xid + 1, removal)]);
    }

    #[test]
    fn a_connection_that_is_not_settled_breaks_unnoticed_and_requests_wait_for_the_next() {
        let library: SharedLibrary = Arc::new(Mutex::new(Library::new(0)));
        let client = shared(&library);
        lock(&library).disconnect();
        let mut waiting = client.data("/node");
        lock(&library).connect();
        assert!(matches!(sent(&library)[..], [(_, Request::SetWatches { .. })]));
        lock(&library).disconnect();
        assert_eq!(client.state(), SessionState::SyncConnected);
        assert!((&mut waiting).now_or_never().is_none());
        lock(&library).connect();
        let xid = sent(&library)[0].0;
        lock(&library).receive(&SimulatedMessage::Reply { xid, answer: Ok(Response::Done) });
        assert!(matches!(sent(&library)[..], [(_, Request::Read { .. })]));
    }
}
