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
use convert::{error_of, refused};
use watches::{NewWatch, Watchers};

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
type Answered = Result<(Answer, Option<NewWatch>), Error>;

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
    watchers: Watchers,
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
            watchers: Watchers::default(),
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
    pub fn receive(&mut self, message: &Message) {
        self.remove_dropped_watches();
        match message {
            Message::Closed => self.disconnect(),
            Message::Event { kind, path, zxid } => self.watchers.fire(*kind, path, *zxid),
            Message::Reply { answer: Err(ErrorCode::SessionExpired), .. } => self.end(SessionState::Expired),
            Message::Reply { xid, .. } if self.settles_with == Some(*xid) => self.settles_with = None,
            Message::Refused { xid, why } => {
                if let Some(pending) = self.replies.remove(xid) {
                    let _ = pending.sender.send(Err(refused(*why)));
                }
            }
            Message::Reply { xid, answer } => {
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use lockscope_sandbox::parts::Stat;

    use super::*;
    use crate::ensemble::WatchKind;

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
        let answer = Ok(Answer::Children { names: Vec::new(), stat: Stat::default() });
        lock(&library).receive(&Message::Reply { xid, answer });
        let first = (&mut first).now_or_never().expect("it is answered").expect("the node is there");
        let second = client.watch_children("/node");
        let xid = sent(&library)[0].0;
        drop(first);
        assert_eq!(sent(&library), []);
        lock(&library).receive(&Message::Reply { xid, answer: Err(ErrorCode::NoNode) });
        assert_eq!(second.now_or_never().map(|watched| watched.is_err()), Some(true));
        let removal = Request::RemoveWatch("/node".into(), WatchKind::Children);
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
        lock(&library).receive(&Message::Reply { xid, answer: Ok(Answer::Done) });
        assert!(matches!(sent(&library)[..], [(_, Request::Read { .. })]));
    }
}
