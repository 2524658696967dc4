//! The server as a state machine: bytes of connections go in, bytes for connections come out. No socket, no clock; time is an
//! argument, in milliseconds since 1970.
//!
//! One file a family of requests. Each request is carried out whole before the next one of any connection: the order of
//! replies and events is that of a real server, where an event stands before the reply of the request that caused it.

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
use super::session::{PASSWORD_LENGTH, SessionTable};
use super::tree::Tree;
use super::watch::{Statistic, WatchTables};
use super::wire::{Cut, LENGTH, Word, cut};

/// How many requests of one connection are carried out before others have their turn.
const MAX_REQUESTS_A_TURN: usize = 64;

/// How many bytes of replies of one connection are gathered before they are sent.
const MAX_OUTPUT_A_TURN: usize = 256 << 10;

/// The whole server, but for its sockets and its clock.
#[derive(Debug)]
pub struct Machine {
    pub(super) options: SandboxConfig,
    pub(super) tree: Tree,
    pub(super) watches: WatchTables,
    pub(super) sessions: SessionTable,
    pub(super) connections: Slab<ClientConnection>,
    /// The last transaction.
    pub(super) zxid: i64,
    pub(super) started: i64,
    pub(super) latency: Statistic,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Connections that have something to send or are to be closed, each once.
    ready: Vec<usize>,
    next_sweep: i64,
    /// Bytes that all connections take.
    buffered: usize,
    /// Until when each connection must have a session, the earliest first; with the connection's number and serial.
    handshakes: VecDeque<(i64, usize, u64)>,
    opened: u64,
}

impl Machine {
    /// A new server. The passwords of its sessions follow from the secret.
    pub fn new(options: SandboxConfig, secret: [u8; PASSWORD_LENGTH], now: i64) -> Self {
        let mut tree = Tree::new();
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

    /// Takes a new connection; `None` when there are as many as there may be.
    pub fn open(&mut self, peer: SocketAddr, now: i64) -> Option<usize> {
        if self.connections.len() >= self.options.max_connections {
            return None;
        }
        self.opened += 1;
        let id = self.connections.insert(ClientConnection::new(peer, self.opened, now));
        let due = now.saturating_add(millis(self.options.handshake_timeout));
        self.handshakes.push_back((due, id, self.opened));
        self.reckon(id);
        Some(id)
    }

    /// Forgets a connection whose socket is gone. Its session lives on until it expires.
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

    /// Carries out what a connection has sent; gives how many bytes of it are done with. It may stop before the end though there
    /// are whole frames, so that others get their turn: call again with the rest.
    pub fn receive(&mut self, id: usize, bytes: &[u8], now: i64) -> usize {
        let done = self.carry_out(id, bytes, now);
        if let Some(connection) = self.connections.get_mut(id) {
            connection.received = bytes.len() - done;
        }
        self.reckon(id);
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
    pub fn take(&mut self, id: usize, buffer: &mut Vec<u8>) -> Option<CloseReason> {
        let connection = self.connections.get_mut(id)?;
        connection.ready = false;
        buffer.clear();
        std::mem::swap(buffer, &mut connection.out);
        // What was taken before this has been sent.
        connection.sending = buffer.len();
        let end = connection.end;
        self.reckon(id);
        end
    }

    /// What was taken for a connection has been sent.
    pub fn sent(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.sending = 0;
        }
        self.reckon(id);
    }

    /// Whether a connection is to be closed without sending what it was being sent.
    pub fn is_cut(&self, id: usize) -> bool {
        let end = self.connections.get(id).and_then(|connection| connection.end);
        matches!(end, Some(CloseReason::Unread | CloseReason::Crowded))
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

    /// When [`tick`](Self::tick) is next of use.
    pub fn next_tick(&self) -> i64 {
        let handshake = self.handshakes.front().map(|(due, ..)| *due);
        let first = self.sessions.next_expiry().into_iter().chain(handshake).min();
        first.map_or(self.next_sweep, |first| first.min(self.next_sweep))
    }
}

/// A duration as the wire and the clock have it.
pub(super) fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
