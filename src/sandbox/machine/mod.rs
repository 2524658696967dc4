//! The server as a state machine: received bytes go in, bytes to send come out. It has no socket
//! and no clock. Time is an argument, in milliseconds since 1970.
//!
//! The machine completes a request before the next one of any connection. Replies and events have a
//! real server's order: an event precedes the reply of the request that caused it. `read` and
//! `write` answer the two families of requests, `sessions` opens and ends sessions, and `output`
//! keeps the connections.

mod output;
mod read;
mod sessions;
mod write;

use std::collections::VecDeque;
use std::net::SocketAddr;

use slab::Slab;

use super::config::SandboxConfig;
use super::tree::Tree;
use super::watch::{Statistic, WatchTables};
use super::wire::SandboxWord;
use crate::config::ServerBehaviour;
use crate::tree::Id;
use crate::wire::{AuthRequest, WriteRequest};
use lockscope_base::wire::{
    Cut, ErrorCode, LENGTH_BYTES, NO_ZXID, PASSWORD_BYTES, PING_XID, Reader, RequestHead, Writer, cut, op, refusal,
    reply,
};
use sessions::SessionTable;

pub use output::{ClientConnection, CloseReason};

#[cfg(test)]
mod tests;

/// The number of requests of one connection that run before other connections have their turn.
const MAX_REQUESTS_A_TURN: usize = 64;

/// The bytes of replies to one connection after which they are sent.
const MAX_OUTPUT_A_TURN: usize = 256 << 10;

/// The whole server except its sockets and its clock.
#[derive(Debug)]
pub struct Machine {
    pub(super) options: SandboxConfig,
    pub(super) tree: Tree,
    pub(super) watches: WatchTables,
    pub(super) sessions: SessionTable,
    pub(super) connections: Slab<ClientConnection>,
    /// The zxid of the last transaction.
    pub(super) zxid: i64,
    pub(super) started: i64,
    pub(super) latency: Statistic,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Connections that have output or must be closed, each listed once.
    ready: Vec<usize>,
    next_sweep: i64,
    /// The bytes of memory that all connections take.
    buffered: usize,
    /// The deadlines by which connections must have a session, the earliest first, each with the
    /// connection's number and serial.
    handshakes: VecDeque<(i64, usize, u64)>,
    opened: u64,
}

impl Machine {
    /// Creates a server without nodes or sessions of clients. The passwords of the sessions are
    /// derived from the secret.
    pub fn new(options: SandboxConfig, secret: [u8; PASSWORD_BYTES], now: i64) -> Self {
        let mut tree = Tree::new(options.behaviour);
        tree.first_sequence = options.first_sequence;
        let tick = millis(options.tick);
        let next_sweep = now.saturating_add(millis(options.sweep).max(1));
        Self {
            options,
            tree,
            watches: WatchTables::default(),
            sessions: SessionTable::new(secret, tick, now),
            connections: Slab::new(),
            zxid: 0,
            started: now,
            latency: Statistic::default(),
            received: 0,
            sent: 0,
            ready: Vec::new(),
            next_sweep,
            buffered: 0,
            handshakes: VecDeque::new(),
            opened: 0,
        }
    }

    /// Accepts a connection and returns its number, or `None` at `max_connections`.
    pub fn open(&mut self, peer: SocketAddr, now: i64) -> Option<usize> {
        if self.connections.len() >= self.options.max_connections {
            return None;
        }
        self.opened += 1;
        let id = self.connections.insert(ClientConnection::new(peer, self.opened, now));
        let due = now.saturating_add(millis(self.options.handshake_timeout));
        self.handshakes.push_back((due, id, self.opened));
        self.recount_output(id);
        Some(id)
    }

    /// Removes a connection whose socket is gone. Its session lives until it expires.
    pub fn forget(&mut self, id: usize) {
        let Some(connection) = self.connections.try_remove(id) else { return };
        self.buffered -= connection.counted;
        if connection.ready {
            self.ready.retain(|ready| *ready != id);
        }
        self.watches.forget(id);
        if let Some(session) = connection.session.and_then(|(session, _)| self.sessions.get_mut(session))
            && session.connection == Some(id)
        {
            session.connection = None;
        }
    }

    /// Runs the requests in `bytes` and returns how many bytes it consumed. It may stop before the
    /// end although whole frames remain, so that other connections get their turn. The caller then
    /// calls again with the rest.
    pub fn receive(&mut self, id: usize, bytes: &[u8], now: i64) -> usize {
        let done = self.carry_out(id, bytes, now);
        if let Some(connection) = self.connections.get_mut(id) {
            connection.received = bytes.len() - done;
        }
        self.recount_output(id);
        done
    }

    fn carry_out(&mut self, id: usize, bytes: &[u8], now: i64) -> usize {
        let mut done = 0;
        for _ in 0..MAX_REQUESTS_A_TURN {
            let Some(connection) = self.connections.get(id) else { return bytes.len() };
            if connection.end.is_some() {
                return bytes.len();
            }
            if connection.out.len() > MAX_OUTPUT_A_TURN {
                return done;
            }
            let rest = &bytes[done..];
            if connection.traffic.received == 0
                && let Some(word) = rest.first_chunk().copied().and_then(SandboxWord::of)
            {
                return self.answer(id, word, bytes.len(), now);
            }
            match cut(rest, self.options.max_frame) {
                Cut::More => return done,
                Cut::Bad(length) => {
                    self.end(id, CloseReason::BadLength(length));
                    return bytes.len();
                }
                Cut::Frame(length) => {
                    self.frame(id, &rest[LENGTH_BYTES..LENGTH_BYTES + length], now);
                    done += LENGTH_BYTES + length;
                }
            }
        }
        done
    }

    /// Returns whether [`receive`](Self::receive) would consume any of these bytes.
    pub fn has_frame(&self, bytes: &[u8]) -> bool {
        !matches!(cut(bytes, self.options.max_frame), Cut::More)
    }

    /// Swaps a connection's output into `buffer`, and returns the reason when the connection must
    /// be closed after it is sent. The old `buffer` becomes the connection's next output buffer.
    pub fn take_output(&mut self, id: usize, buffer: &mut Vec<u8>) -> Option<CloseReason> {
        let connection = self.connections.get_mut(id)?;
        connection.ready = false;
        buffer.clear();
        std::mem::swap(buffer, &mut connection.out);
        // The output of the previous call has been sent by now.
        connection.sending = buffer.len();
        let end = connection.end;
        self.recount_output(id);
        end
    }

    /// Records that the output taken last has been sent.
    pub fn sent(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.sending = 0;
        }
        self.recount_output(id);
    }

    /// Returns whether a connection must be closed without sending the rest of its output.
    pub fn is_cut(&self, id: usize) -> bool {
        let end = self.connections.get(id).and_then(|connection| connection.end);
        matches!(end, Some(CloseReason::Unread | CloseReason::Crowded))
    }

    /// Moves the connections that have output or must be closed into `list`.
    pub fn ready(&mut self, list: &mut Vec<usize>) {
        list.append(&mut self.ready);
    }

    /// Advances time: expires sessions, and deletes empty containers and expired TTL nodes.
    pub fn tick(&mut self, now: i64) {
        while let Some(session) = self.sessions.expired(now) {
            self.expire(session);
        }
        self.end_silent(now);
        if self.next_sweep <= now {
            self.next_sweep = now.saturating_add(millis(self.options.sweep).max(1));
            for path in self.tree.due(now) {
                self.zxid += 1;
                if let Ok((change, _)) = self.tree.delete(&path, -1, self.zxid) {
                    self.notify(&change);
                }
            }
        }
    }

    /// Returns the time at which [`tick`](Self::tick) next has work.
    pub fn next_tick(&self) -> i64 {
        let handshake = self.handshakes.front().map(|(due, ..)| *due);
        let first = self.sessions.next_expiry().into_iter().chain(handshake).min();
        first.map_or(self.next_sweep, |first| first.min(self.next_sweep))
    }
}

/// Converts a duration to milliseconds, the unit of the wire and of the clock.
pub fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The requests of ZooKeeper that Keeper does not know.
const UNKNOWN_TO_KEEPER: [i32; 4] = [op::SASL, op::GET_EPHEMERALS, op::GET_ALL_CHILDREN_NUMBER, op::WHO_AM_I];

/// The requests of `ZooKeeper` that came with 3.6, and `whoAmI` of 3.7.
const UNKNOWN_TO_3_5: [i32; 6] =
    [op::ADD_WATCH, op::SET_WATCHES2, op::MULTI_READ, op::GET_EPHEMERALS, op::GET_ALL_CHILDREN_NUMBER, op::WHO_AM_I];

impl ServerBehaviour {
    /// Returns the requests that this server does not know, of those that the sandbox knows.
    fn unknown_requests(self) -> &'static [i32] {
        match self {
            Self::ZooKeeper => &[],
            Self::ZooKeeper35 => &UNKNOWN_TO_3_5,
            Self::Keeper => &UNKNOWN_TO_KEEPER,
        }
    }
}

impl Machine {
    /// Answers a four-letter word and closes the connection. As on a real server, nothing more is
    /// read from it.
    fn answer(&mut self, id: usize, word: SandboxWord, received: usize, now: i64) -> usize {
        self.received += 1;
        if let Some(connection) = self.connections.get_mut(id) {
            connection.traffic.received += 1;
        }
        self.end(id, CloseReason::Word);
        let answer = self.answer_to(word, now, self.options.max_unread);
        self.sent += 1;
        if let Some(connection) = self.connections.get_mut(id) {
            match answer {
                Some(text) => connection.out.extend_from_slice(text.as_bytes()),
                None => connection.end = Some(CloseReason::LongAnswer),
            }
        }
        self.recount_output(id);
        received
    }

    fn frame(&mut self, id: usize, frame: &[u8], now: i64) {
        self.received += 1;
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.traffic.received += 1;
        let Some((session, timeout)) = connection.session else { return self.handshake(id, frame, now) };
        self.sessions.touch(session, timeout, now);
        let mut from = Reader::new(frame);
        match RequestHead::read(&mut from) {
            Ok(header) => self.dispatch(id, header, from, now),
            Err(_) => self.end(id, CloseReason::NoHeader),
        }
    }

    fn dispatch(&mut self, id: usize, header: RequestHead, mut from: Reader<'_>, now: i64) {
        let name = name(header.op);
        match header.op {
            op if self.options.behaviour.unknown_requests().contains(&op) => return self.unknown(id, header),
            // Whatever number the heartbeat bore.
            op::PING => self.reply(id, PING_XID, |_| {}),
            op::AUTH => return self.auth(id, header.xid, from),
            // A server without SASL answers with an empty token.
            op::SASL => return self.push(id, |out| reply(out, header.xid, 0, |out| out.put_buffer(None))),
            op::CLOSE_SESSION => self.close_session(id, header.xid),
            op::MULTI => self.multi(id, header.xid, from, now),
            op::SET_WATCHES | op::SET_WATCHES2 => self.set_watches(id, header, from),
            op::ADD_WATCH => self.add_watch(id, header.xid, from),
            op::CHECK_WATCHES | op::REMOVE_WATCHES => self.take_watches(id, header, from),
            op::RECONFIG => self.never(id, header.xid, ErrorCode::ReconfigDisabled),
            // Only servers send it, to delete containers. They reject it from a client.
            op::DELETE_CONTAINER => self.never(id, header.xid, ErrorCode::BadArguments),
            op if WriteRequest::is(op) => {
                let write = WriteRequest::read(op, &mut from);
                self.write(id, header, write, now);
            }
            op if read::is_known(op) => self.read(id, header, from),
            _ => return self.unknown(id, header),
        }
        self.latency.add(0);
        let zxid = self.zxid;
        if let Some(connection) = self.connections.get_mut(id) {
            let traffic = &mut connection.traffic;
            (traffic.last, traffic.last_xid, traffic.last_zxid, traffic.last_response) = (name, header.xid, zxid, now);
            traffic.latency.add(0);
        }
    }

    fn unknown(&mut self, id: usize, header: RequestHead) {
        self.push(id, |out| refusal(out, header.xid, NO_ZXID, ErrorCode::Unimplemented));
        self.end(id, CloseReason::UnknownOperation(header.op));
    }

    /// Refuses a change that no client may make. It still takes a zxid.
    fn never(&mut self, id: usize, xid: i32, code: ErrorCode) {
        self.zxid += 1;
        self.refuse(id, xid, code);
    }
}

/// Returns an operation's short name in `cons`.
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

/// The maximum number of identities of one connection.
const MAX_IDENTITIES: usize = 64;

impl Machine {
    /// Adds an identity to the connection. Rejected credentials close the connection, as on a real
    /// server.
    fn auth(&mut self, id: usize, xid: i32, mut from: Reader<'_>) {
        let Ok(auth) = AuthRequest::read(&mut from) else { return self.end(id, CloseReason::NoHeader) };
        let Some(connection) = self.connections.get_mut(id) else { return };
        let known = match &*auth.scheme {
            "digest" => Some(Id::of_digest(&String::from_utf8_lossy(auth.credentials))),
            // No new fact: the server knows the address already.
            "ip" => connection.who.first().cloned(),
            _ => None,
        };
        match known {
            Some(known) if connection.who.contains(&known) => {}
            Some(known) if connection.who.len() < MAX_IDENTITIES => connection.who.push(known),
            _ => {
                self.push(id, |out| refusal(out, xid, 0, ErrorCode::AuthFailed));
                return self.end(id, CloseReason::BadCredentials);
            }
        }
        self.push(id, |out| reply(out, xid, 0, |_| {}));
    }
}
