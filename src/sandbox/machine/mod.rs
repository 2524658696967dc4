//! The server as a state machine: received bytes go in, bytes to send come out. It has no socket
//! and no clock. Time is an argument, in milliseconds since 1970.
//!
//! Each family of requests has a file. The machine completes a request before the next one of any
//! connection. Replies and events have a real server's order: an event precedes the reply of the
//! request that caused it.

mod auth;
mod bounds;
mod connection;
mod dispatch;
mod handshake;
mod multi;
mod output;
mod read;
mod session;
#[cfg(test)]
mod tests;
mod watches;
mod write;

use std::collections::VecDeque;
use std::net::SocketAddr;

use slab::Slab;

pub use connection::{ClientConnection, CloseReason};

use super::config::SandboxConfig;
use super::session::SessionTable;
use super::tree::Tree;
use super::watch::{Statistic, WatchTables};
use super::wire::Word;
use lockscope_base::wire::{Cut, LENGTH_BYTES, PASSWORD_BYTES, cut};

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
                && let Some(word) = rest.first_chunk().copied().and_then(Word::of)
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
pub(super) fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
