//! The connections, and their output: replies, refusals, events, and the close.
//!
//! All that clients take from the server is bounded: a connection that does not read, that opens no
//! session in time, or that takes the most memory of all is closed with a [`CloseReason`].

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

use super::Machine;
use crate::config::ServerBehaviour;
use crate::tree::{Id, NodeAcl, TreeChange, check, known, parent, permission};
use crate::watch::{FiredEvent, Statistic};
use lockscope_base::wire::{ErrorCode, event, refusal, reply};

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A four-letter word was answered.
    Word,
    /// The client closed its session.
    Closed,
    /// The session expired.
    Expired,
    /// The session moved to another connection.
    Moved,
    /// The session does not exist, or the password is wrong.
    NoSession,
    /// The server has reached `max_sessions`.
    TooManySessions,
    /// The client has seen a zxid beyond the server's: it comes from another server.
    FromTheFuture,
    /// The length of a frame, in bytes, is negative or above the maximum.
    BadLength(i32),
    /// A frame is too short for a handshake or a header.
    NoHeader,
    /// The server rejected the credentials.
    BadCredentials,
    /// The operation's number is unknown.
    UnknownOperation(i32),
    /// More than `max_unread` bytes wait for the client.
    Unread,
    /// The answer to a word would be too long.
    LongAnswer,
    /// All connections together exceed `max_buffered`, and this one takes the most.
    Crowded,
    /// The client opened no session before the handshake timeout.
    Silent,
}

impl CloseReason {
    /// Returns whether the client misbehaved.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::Word | Self::Closed | Self::Expired | Self::Moved | Self::NoSession)
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "a four-letter word was answered",
            Self::Closed => "the client closed its session",
            Self::Expired => "the session expired",
            Self::Moved => "the session moved to another connection",
            Self::NoSession => "there is no such session, or the password is wrong",
            Self::TooManySessions => "there are as many sessions as there may be",
            Self::FromTheFuture => "the client has seen a zxid that this server has not given yet",
            Self::BadLength(length) => return write!(f, "a frame of {length} bytes is not accepted"),
            Self::NoHeader => "a frame is too short for what it must hold",
            Self::BadCredentials => "the credentials were not accepted",
            Self::UnknownOperation(op) => return write!(f, "operation {op} is not known"),
            Self::Unread => "the client does not read what it is sent",
            Self::LongAnswer => "the answer to a four-letter word is too long",
            Self::Crowded => "all connections together take too much memory, and this one takes most",
            Self::Silent => "the client asked for no session in time",
        })
    }
}

/// The figures of a connection that `cons` shows.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub since: i64,
    pub received: u64,
    pub sent: u64,
    /// The short name of the last operation.
    pub last: &'static str,
    pub last_xid: i32,
    pub last_zxid: i64,
    pub last_response: i64,
    pub latency: Statistic,
}

/// One connection, with or without a session.
#[derive(Debug)]
pub struct ClientConnection {
    pub peer: SocketAddr,
    /// The session and its timeout in milliseconds, after the handshake.
    pub session: Option<(i64, i64)>,
    /// The client's identities: its address, and those that it proved.
    pub who: Vec<Id>,
    /// The output that waits to be sent.
    pub out: Vec<u8>,
    /// The number of bytes that are being sent.
    pub sending: usize,
    /// The number of received bytes that are not processed yet.
    pub received: usize,
    /// The connection's share of the machine's `buffered`, in bytes.
    pub counted: usize,
    /// Distinguishes the connection from an earlier one with the same number.
    pub serial: u64,
    /// Set when the connection closes once `out` is sent.
    pub end: Option<CloseReason>,
    /// Whether the connection is in the machine's `ready` list.
    pub ready: bool,
    pub traffic: Traffic,
}

impl ClientConnection {
    /// Returns the approximate bytes of memory that the connection takes.
    pub fn bytes(&self) -> usize {
        let who: usize = self.who.iter().map(|id| id.scheme.len() + id.id.len()).sum();
        self.out.len() + self.sending + self.received + who
    }

    pub fn new(peer: SocketAddr, serial: u64, now: i64) -> Self {
        let traffic = Traffic {
            since: now,
            received: 0,
            sent: 0,
            last: "NA",
            last_xid: 0,
            last_zxid: -1,
            last_response: 0,
            latency: Statistic::default(),
        };
        let who = vec![Id::new("ip", &peer.ip().to_string())];
        Self {
            peer,
            session: None,
            who,
            out: Vec::new(),
            sending: 0,
            received: 0,
            counted: 0,
            serial,
            end: None,
            ready: false,
            traffic,
        }
    }
}

impl Machine {
    /// Sends the events of a change to its watchers.
    pub fn notify(&mut self, change: &TreeChange) {
        match change {
            TreeChange::Created { path, acls, above, .. } => {
                let [node, children] = self.watches.created(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&children, above);
            }
            TreeChange::Deleted { path, acls, above } => {
                let [node, itself, children] = self.watches.deleted(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&itself, acls);
                self.send(&children, above);
            }
            TreeChange::DataChanged { path, acls, .. } => {
                let [node] = self.watches.data_changed(path);
                self.send(&node, acls);
            }
            TreeChange::AclChanged { .. } | TreeChange::Checked { .. } => {}
        }
    }

    /// Sends an event to the watchers that may read the node. A watcher that may not read it still
    /// loses its one-shot watch and is counted, as on servers with the fix of CVE-2024-23944.
    fn send(&mut self, FiredEvent { kind, path, watchers }: &FiredEvent<'_>, acls: &[NodeAcl]) {
        for watcher in watchers {
            let who = self.connections.get(*watcher).map(|connection| &*connection.who).unwrap_or_default();
            if check(acls, permission::READ, who).is_ok() {
                let named = self.named_in_event(path, *watcher);
                self.push(*watcher, |out| event(out, *kind, &named));
            }
        }
    }

    /// Returns the node that an event names: the changed one, or on Keeper the one with the recursive
    /// watch.
    fn named_in_event<'p>(&self, path: &'p str, watcher: usize) -> Cow<'p, str> {
        let above = || self.watches.data.recursive_above(path, watcher).map(ToOwned::to_owned);
        match self.options.behaviour {
            ServerBehaviour::ZooKeeper | ServerBehaviour::ZooKeeper35 => path.into(),
            ServerBehaviour::Keeper => above().map_or(path.into(), Cow::from),
        }
    }

    pub fn reply(&mut self, id: usize, xid: i32, body: impl FnOnce(&mut Vec<u8>)) {
        let zxid = self.zxid;
        self.push(id, |out| reply(out, xid, zxid, body));
    }

    pub fn refuse(&mut self, id: usize, xid: i32, code: ErrorCode) {
        let zxid = self.zxid;
        self.push(id, |out| refusal(out, xid, zxid, code));
    }

    /// Appends a frame to a connection's output, unless the connection is closing.
    pub fn push(&mut self, id: usize, frame: impl FnOnce(&mut Vec<u8>)) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.end.is_some() {
            return;
        }
        frame(&mut connection.out);
        self.sent += 1;
        connection.traffic.sent += 1;
        let is_too_much = connection.out.len() > self.options.max_unread;
        Self::mark(&mut self.ready, id, connection);
        self.recount_output(id);
        if is_too_much {
            // The client does not read, and a partial frame is of no use to it.
            self.end(id, CloseReason::Unread);
            self.drop_output(id);
        }
    }

    /// Closes a connection once its output is sent.
    pub fn end(&mut self, id: usize, end: CloseReason) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.end.get_or_insert(end);
        Self::mark(&mut self.ready, id, connection);
        self.watches.forget(id);
    }

    fn mark(ready: &mut Vec<usize>, id: usize, connection: &mut ClientConnection) {
        if !connection.ready {
            connection.ready = true;
            ready.push(id);
        }
    }

    /// Updates the memory count of a connection. Closes the largest connections while all together
    /// exceed `max_buffered`.
    pub fn recount_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let is = connection.bytes();
        self.buffered = self.buffered + is - std::mem::replace(&mut connection.counted, is);
        while self.buffered > self.options.max_buffered && self.end_largest() {}
    }

    /// Closes the connection that takes the most memory and drops its output. Returns `false` when
    /// all connections are closing already. Output that is being sent is freed with the socket.
    fn end_largest(&mut self) -> bool {
        let waiting = self.connections.iter().filter(|(_, connection)| connection.end.is_none());
        let Some(id) = waiting.max_by_key(|(_, connection)| connection.counted).map(|(id, _)| id) else { return false };
        self.end(id, CloseReason::Crowded);
        self.drop_output(id);
        true
    }

    /// Drops the output of a connection that is closing.
    fn drop_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.out = Vec::new();
        // The connection no longer counts: its task is about to drop all its buffers.
        self.buffered -= std::mem::take(&mut connection.counted);
        (connection.sending, connection.received) = (0, 0);
        connection.who.clear();
    }

    /// Returns the approximate bytes that all connections take: output that waits or is being sent,
    /// partial frames, and identities.
    #[cfg(test)]
    pub fn buffered(&self) -> usize {
        self.buffered
    }

    /// Closes the connections that opened no session before the handshake timeout.
    pub fn end_silent(&mut self, now: i64) {
        while let Some((_, id, serial)) = self.handshakes.front().copied().filter(|(due, ..)| *due <= now) {
            self.handshakes.pop_front();
            let is_silent =
                self.connections.get(id).is_some_and(|known| known.serial == serial && known.session.is_none());
            if is_silent {
                self.end(id, CloseReason::Silent);
            }
        }
    }

    /// Returns whether `more` bytes would exceed `max_memory`.
    pub fn is_full(&self, more: usize) -> bool {
        self.memory() + more > self.options.max_memory
    }

    /// Returns the approximate bytes that nodes and watches take.
    pub(crate) fn memory(&self) -> usize {
        self.tree.memory() + self.watches.memory()
    }
}
