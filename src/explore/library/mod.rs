//! The simulated client library of one process: what `zookeeper-client` does, without sockets and
//! without time.
//!
//! Each call of a method of [`Requests`](lockscope_requests::Requests) puts a request into the
//! outbox. The explorer decides when a member carries it out, and when the process receives the
//! reply. The docs of `lockscope_requests` say what must happen when a connection breaks.

mod client;
mod convert;
mod watches;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use lockscope_base::wire::ErrorCode;
use tokio::sync::{Notify, oneshot};
use zookeeper_client::{Error, SessionState};

use crate::ensemble::{Answer, Message, Request};
use convert::error_of;
use watches::Watchers;

pub use client::{SimClient, shared};

/// The session timeout, in seconds. One second is a twentieth of it, the resolution of the client
/// library's clock.
pub const TIMEOUT: u32 = 20;

/// The seconds of silence after which the library gives the connection up, at the latest: 9/20 of
/// the timeout.
pub const NOTICES_SILENCE_AFTER: u32 = TIMEOUT * 9 / 20;

/// The seconds without a connection after which the library takes its session for expired: 7/5 of
/// the timeout.
const GIVES_UP_AFTER: u32 = TIMEOUT * 7 / 5;

/// What the process learns of an answer: the answer itself, and the watch that it has set.
type Answered = Result<(Answer, Option<u64>), Error>;

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
    /// The seconds without a connection.
    alone_for: u32,
    next_xid: u32,
    next_attempt: u64,
    replies: BTreeMap<u32, PendingReply>,
    watchers: Watchers,
}

#[derive(Debug)]
struct PendingReply {
    sender: oneshot::Sender<Answered>,
    /// Whether the request sets a watch.
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
            alone_for: 0,
            next_xid: 1,
            next_attempt: 0,
            replies: BTreeMap::new(),
            watchers: Watchers::default(),
        }
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

    /// Returns the requests that go on their way now: without a connection they wait.
    pub fn take_sent(&mut self) -> Vec<(u32, Request)> {
        self.remove_dropped_watches();
        if self.connected { self.outbox.drain(..).collect() } else { Vec::new() }
    }

    /// Receives a message.
    pub fn receive(&mut self, message: &Message) {
        self.remove_dropped_watches();
        match message {
            Message::Closed => self.disconnect(),
            Message::Event { kind, path, zxid } => self.watchers.fire(*kind, path, *zxid),
            Message::Reply { answer: Err(ErrorCode::SessionExpired), .. } => self.end(SessionState::Expired),
            Message::Reply { xid, answer } => {
                let Some(pending) = self.replies.remove(xid) else { return };
                let watch = self.watchers.watch(&pending.request, answer);
                let answer = answer.clone().map(|answer| (answer, watch)).map_err(error_of);
                if pending.sender.send(answer).is_err()
                    && let Some(watch) = watch
                {
                    self.watchers.drop_watch(watch);
                }
            }
        }
    }

    /// Loses the connection.
    pub fn disconnect(&mut self) {
        if !self.connected {
            return;
        }
        self.connected = false;
        self.remove_dropped_watches();
        self.outbox.clear();
        self.set_state(SessionState::Disconnected);
        self.watchers.session(SessionState::Disconnected);
        for pending in std::mem::take(&mut self.replies).into_values() {
            let _ = pending.sender.send(Err(Error::ConnectionLoss));
        }
    }

    /// Gets a connection. The watches go out first, then the requests that waited.
    pub fn connect(&mut self) {
        self.connected = true;
        self.alone_for = 0;
        self.remove_dropped_watches();
        let watches = self.watchers.to_set_again();
        if !watches.is_empty() {
            let xid = self.next_xid;
            self.next_xid += 1;
            self.outbox.push_front((xid, Request::SetWatches { seen: 0, watches }));
        }
        self.set_state(SessionState::SyncConnected);
        self.watchers.session(SessionState::SyncConnected);
    }

    /// Lets a second pass. Without a connection for too long, the library gives the session up.
    pub fn pass(&mut self) {
        self.alone_for = if self.connected { 0 } else { self.alone_for + 1 };
        if self.alone_for > GIVES_UP_AFTER && !self.is_over() {
            self.end(SessionState::Expired);
        }
    }

    /// Ends the session at the client.
    pub fn end(&mut self, state: SessionState) {
        self.connected = false;
        self.set_state(state);
        self.outbox.clear();
        let error = ended(state).unwrap_or(Error::ClientClosed);
        for pending in std::mem::take(&mut self.replies).into_values() {
            let _ = pending.sender.send(Err(error.clone()));
        }
        self.watchers.end(state);
    }

    fn remove_dropped_watches(&mut self) {
        for request in self.watchers.remove_dropped() {
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
