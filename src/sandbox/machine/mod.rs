//! The server as a state machine: bytes of connections go in, bytes for connections come out. No socket, no clock; time is an
//! argument, in milliseconds since 1970.
//!
//! One file a family of requests. Each request is carried out whole before the next one of any connection: the order of
//! replies and events is that of a real server, where an event stands before the reply of the request that caused it.

mod auth;
mod connection;
mod handshake;
mod multi;
mod read;
mod session;
#[cfg(test)]
mod tests;
mod watches;
mod write;

use std::net::SocketAddr;

use slab::Slab;

pub use connection::{Connection, End};

use super::options::Options;
use super::session::{PASSWORD, Sessions};
use super::tree::{Acl, Change, Tree, check, known, parent, permission};
use super::watch::{Figure, Fired, Watches};
use super::wire::{Code, Cut, Header, LENGTH, NO_ZXID, Reader, Write, Writer, cut, event, op, refusal, reply};
use super::words::Word;

/// How many requests of one connection are carried out before others have their turn.
const TURN: usize = 64;

/// How many bytes of replies of one connection are gathered before they are sent.
const BATCH: usize = 256 << 10;

/// The whole server, but for its sockets and its clock.
#[derive(Debug)]
pub struct Machine {
    pub(super) options: Options,
    pub(super) tree: Tree,
    pub(super) watches: Watches,
    pub(super) sessions: Sessions,
    pub(super) connections: Slab<Connection>,
    /// The last transaction.
    pub(super) zxid: i64,
    pub(super) started: i64,
    pub(super) latency: Figure,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Connections that have something to send or are to be closed, each once.
    ready: Vec<usize>,
    next_sweep: i64,
}

impl Machine {
    /// A new server. Whoever knows the secret knows the passwords of its sessions.
    pub fn new(options: Options, secret: [u8; PASSWORD], now: i64) -> Self {
        let tick = millis(options.tick);
        let next_sweep = now.saturating_add(millis(options.sweep).max(1));
        Self {
            options,
            tree: Tree::new(),
            watches: Watches::default(),
            sessions: Sessions::new(secret, tick, now),
            connections: Slab::new(),
            zxid: 0,
            started: now,
            latency: Figure::default(),
            received: 0,
            sent: 0,
            ready: Vec::new(),
            next_sweep,
        }
    }

    /// Takes a new connection; `None` when there are as many as there may be.
    pub fn open(&mut self, peer: SocketAddr, now: i64) -> Option<usize> {
        let free = self.connections.len() < self.options.max_connections;
        free.then(|| self.connections.insert(Connection::new(peer, now)))
    }

    /// Forgets a connection whose socket is gone. Its session lives on until it expires.
    pub fn forget(&mut self, id: usize) {
        let Some(connection) = self.connections.try_remove(id) else { return };
        self.ready.retain(|ready| *ready != id);
        self.watches.forget(id);
        if let Some(session) = connection.session.and_then(|(session, _)| self.sessions.get_mut(session))
            && session.connection == Some(id)
        {
            session.connection = None;
        }
    }

    /// Carries out what a connection has sent; gives how many bytes of it are done with. When it stops before the end
    /// though there are whole frames, it is somebody else's turn: call again with the rest.
    pub fn receive(&mut self, id: usize, bytes: &[u8], now: i64) -> usize {
        let mut done = 0;
        for _ in 0..TURN {
            let Some(connection) = self.connections.get(id) else { return bytes.len() };
            if connection.end.is_some() {
                return bytes.len();
            }
            if connection.out.len() > BATCH {
                return done;
            }
            let rest = &bytes[done..];
            if connection.traffic.received == 0
                && let Some(word) = rest.first_chunk().copied().and_then(Word::of)
            {
                return self.answer(id, word, bytes.len(), now);
            }
            match cut(rest, self.options.max_frame) {
                Cut::More => return done,
                Cut::Bad(length) => {
                    self.end(id, End::BadLength(length));
                    return bytes.len();
                }
                Cut::Frame(length) => {
                    self.frame(id, &rest[LENGTH..LENGTH + length], now);
                    done += LENGTH + length;
                }
            }
        }
        done
    }

    /// Whether [`receive`](Self::receive) would get on with these bytes.
    pub fn has_frame(&self, bytes: &[u8]) -> bool {
        !matches!(cut(bytes, self.options.max_frame), Cut::More)
    }

    /// What is to be sent to a connection, and whether it is to be closed after that. The buffer that is handed in takes the
    /// place of the one that is given.
    pub fn take(&mut self, id: usize, buffer: &mut Vec<u8>) -> Option<End> {
        let connection = self.connections.get_mut(id)?;
        connection.ready = false;
        buffer.clear();
        std::mem::swap(buffer, &mut connection.out);
        connection.end
    }

    /// Puts the connections that have something to send, or are to be closed, into a list.
    pub fn ready(&mut self, list: &mut Vec<usize>) {
        list.append(&mut self.ready);
    }

    /// Lets time pass: sessions expire, containers and nodes with a time to live go.
    pub fn tick(&mut self, now: i64) {
        while let Some(session) = self.sessions.expired(now) {
            self.expire(session);
        }
        if self.next_sweep <= now {
            self.next_sweep = now.saturating_add(millis(self.options.sweep).max(1));
            for path in self.tree.due(now) {
                self.zxid += 1;
                if let Ok((change, _)) = self.tree.delete(&path, -1, self.zxid) {
                    self.tell(&change);
                }
            }
        }
    }

    /// When [`tick`](Self::tick) is next of use.
    pub fn next_tick(&self) -> i64 {
        self.sessions.next_expiry().map_or(self.next_sweep, |expiry| expiry.min(self.next_sweep))
    }

    fn answer(&mut self, id: usize, word: Word, received: usize, now: i64) -> usize {
        let text = word.answer(self, now);
        if let Some(connection) = self.connections.get_mut(id) {
            connection.out.extend_from_slice(text.as_bytes());
        }
        self.end(id, End::Word);
        received
    }

    fn frame(&mut self, id: usize, frame: &[u8], now: i64) {
        self.received += 1;
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.traffic.received += 1;
        let Some((session, timeout)) = connection.session else { return self.handshake(id, frame, now) };
        self.sessions.touch(session, timeout, now);
        let mut from = Reader::new(frame);
        match Header::read(&mut from) {
            Ok(header) => self.dispatch(id, header, from, now),
            Err(_) => self.end(id, End::NoHeader),
        }
    }

    fn dispatch(&mut self, id: usize, header: Header, mut from: Reader<'_>, now: i64) {
        let name = name(header.op);
        match header.op {
            op::PING => self.reply(id, PING_XID, |_| {}),
            op::AUTH => return self.auth(id, header.xid, from),
            // A server that knows no SASL answers with an empty token.
            op::SASL => return self.push(id, |out| reply(out, header.xid, 0, |out| out.put_buffer(None))),
            op::CLOSE_SESSION => self.close_session(id, header.xid),
            op::MULTI => self.multi(id, header.xid, from, now),
            op::SET_WATCHES | op::SET_WATCHES2 => self.set_watches(id, header, from),
            op::ADD_WATCH => self.add_watch(id, header.xid, from),
            op::CHECK_WATCHES | op::REMOVE_WATCHES => self.take_watches(id, header, from),
            op::RECONFIG => self.never(id, header.xid, Code::ReconfigDisabled),
            // Servers delete containers by it; of a client they do not understand it.
            op::DELETE_CONTAINER => self.never(id, header.xid, Code::BadArguments),
            op if Write::is(op) => {
                let write = Write::read(op, &mut from);
                self.write(id, header, write, now);
            }
            op if read::knows(op) => self.read(id, header, from),
            op => {
                self.push(id, |out| refusal(out, header.xid, NO_ZXID, Code::Unimplemented));
                return self.end(id, End::UnknownOperation(op));
            }
        }
        self.latency.add(0);
        let zxid = self.zxid;
        if let Some(connection) = self.connections.get_mut(id) {
            let traffic = &mut connection.traffic;
            (traffic.last, traffic.last_xid, traffic.last_zxid, traffic.last_response) = (name, header.xid, zxid, now);
            traffic.latency.add(0);
        }
    }

    /// Refuses a change that nobody can make; it takes a zxid all the same.
    fn never(&mut self, id: usize, xid: i32, code: Code) {
        self.zxid += 1;
        self.refuse(id, xid, code);
    }

    /// Tells watchers of a change.
    fn tell(&mut self, change: &Change) {
        match change {
            Change::Created { path, acls, above, .. } => {
                let [node, children] = self.watches.created(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&children, above);
            }
            Change::Deleted { path, acls, above } => {
                let [node, itself, children] = self.watches.deleted(path, known(parent(path).unwrap_or_default()));
                self.send(&node, acls);
                self.send(&itself, acls);
                self.send(&children, above);
            }
            Change::DataChanged { path, acls, .. } => {
                let [node] = self.watches.data_changed(path);
                self.send(&node, acls);
            }
            Change::AclChanged { .. } | Change::Checked { .. } => {}
        }
    }

    /// Sends an event to those who may read the node. Who may not has lost a watch that fires once all the same, and was
    /// counted, as on servers with the fix of CVE-2024-23944.
    fn send(&mut self, Fired { kind, path, watchers }: &Fired<'_>, acls: &[Acl]) {
        for watcher in watchers {
            let who = self.connections.get(*watcher).map(|connection| &*connection.who).unwrap_or_default();
            if check(acls, permission::READ, who).is_ok() {
                self.push(*watcher, |out| event(out, *kind, path));
            }
        }
    }

    fn reply(&mut self, id: usize, xid: i32, body: impl FnOnce(&mut Vec<u8>)) {
        let zxid = self.zxid;
        self.push(id, |out| reply(out, xid, zxid, body));
    }

    fn refuse(&mut self, id: usize, xid: i32, code: Code) {
        let zxid = self.zxid;
        self.push(id, |out| refusal(out, xid, zxid, code));
    }

    /// Appends a frame to what a connection is sent, unless it is being closed.
    fn push(&mut self, id: usize, frame: impl FnOnce(&mut Vec<u8>)) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.end.is_some() {
            return;
        }
        frame(&mut connection.out);
        self.sent += 1;
        connection.traffic.sent += 1;
        if connection.out.len() > self.options.max_unread {
            // What waits is not wanted, and what is cut in two is of no use.
            connection.out = Vec::new();
            connection.end = Some(End::Unread);
        }
        Self::mark(&mut self.ready, id, connection);
    }

    /// Closes a connection after what waits for it was sent.
    fn end(&mut self, id: usize, end: End) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.end.get_or_insert(end);
        Self::mark(&mut self.ready, id, connection);
        self.watches.forget(id);
    }

    fn mark(ready: &mut Vec<usize>, id: usize, connection: &mut Connection) {
        if !connection.ready {
            connection.ready = true;
            ready.push(id);
        }
    }

    /// Whether so many bytes more would be too many.
    fn is_full(&self, more: usize) -> bool {
        self.tree.memory() + self.watches.memory() + more > self.options.max_memory
    }
}

/// A heartbeat's answer bears this number, whatever the heartbeat bore.
const PING_XID: i32 = -2;

/// A duration as the wire and the clock have it.
pub(super) fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// An operation's short name in `cons`.
fn name(op: i32) -> &'static str {
    match op {
        op::PING => "PING",
        op::CREATE | op::CREATE2 | op::CREATE_TTL | op::CREATE_CONTAINER => "CREA",
        op::DELETE | op::DELETE_CONTAINER => "DELE",
        op::EXISTS => "EXIS",
        op::GET_DATA => "GETD",
        op::SET_DATA => "SETD",
        op::GET_ACL => "GETA",
        op::SET_ACL => "SETA",
        op::GET_CHILDREN | op::GET_CHILDREN2 => "GETC",
        op::GET_ALL_CHILDREN_NUMBER => "GETACN",
        op::GET_EPHEMERALS => "GETE",
        op::SYNC => "SYNC",
        op::CHECK => "CHEC",
        op::MULTI => "MULT",
        op::MULTI_READ => "MLTR",
        op::SET_WATCHES => "SETW",
        op::SET_WATCHES2 => "STW2",
        op::ADD_WATCH => "ADDW",
        op::CHECK_WATCHES => "CHKW",
        op::REMOVE_WATCHES => "REMW",
        op::WHO_AM_I => "HOMI",
        op::CLOSE_SESSION => "CLOS",
        _ => "NA",
    }
}
