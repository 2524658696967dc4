//! Sessions: their ids and passwords, how a handshake opens or resumes one, and how each ends.
//!
//! The first frame of a connection is the handshake. Time is an argument, in milliseconds.

use std::collections::{BTreeSet, HashMap};

use sha1_smol::Sha1;

use super::{CloseReason, Machine, millis};
use crate::config::ServerBehaviour;
use crate::tree::TreeChange;
use lockscope_base::wire::{ConnectRequest, ConnectResponse, PASSWORD_BYTES};

/// The server's number, which stands in the top byte of a session's id.
const SERVER_ID: i64 = 1;

/// One session.
#[derive(Clone, Debug)]
pub struct SessionEntry {
    /// The session's connection, if any.
    pub connection: Option<usize>,
    /// The time at which the session expires unless its client sends something, in milliseconds
    /// since 1970.
    pub expires: i64,
}

/// The sessions of a server.
#[derive(Debug)]
pub struct SessionTable {
    secret: [u8; PASSWORD_BYTES],
    next: i64,
    /// Sessions expire at multiples of this, in milliseconds.
    tick: i64,
    known: HashMap<i64, SessionEntry>,
    by_expiry: BTreeSet<(i64, i64)>,
}

impl SessionTable {
    /// Creates an empty table. The ids begin with a number derived from the time, so that a
    /// restarted server does not take the sessions of the previous one for its own. Passwords are
    /// derived from the secret.
    pub fn new(secret: [u8; PASSWORD_BYTES], tick: i64, now: i64) -> Self {
        let start = (now << 24).cast_unsigned() >> 8;
        let next = start.cast_signed() & 0x00ff_ffff_ffff_ffff | SERVER_ID << 56;
        Self { secret, next, tick: tick.max(1), known: HashMap::new(), by_expiry: BTreeSet::new() }
    }

    /// Creates a session on a connection and returns its id.
    pub fn create(&mut self, connection: usize, timeout: i64, now: i64) -> i64 {
        let id = self.next;
        self.next += 1;
        let expires = self.round(now, timeout);
        self.known.insert(id, SessionEntry { connection: Some(connection), expires });
        self.by_expiry.insert((expires, id));
        id
    }

    pub fn get(&self, id: i64) -> Option<&SessionEntry> {
        self.known.get(&id)
    }

    pub fn get_mut(&mut self, id: i64) -> Option<&mut SessionEntry> {
        self.known.get_mut(&id)
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the password of a session, whether it exists or not.
    pub fn password(&self, id: i64) -> [u8; PASSWORD_BYTES] {
        let mut hash = Sha1::from(self.secret);
        hash.update(&id.to_be_bytes());
        let mut password = [0; PASSWORD_BYTES];
        password.copy_from_slice(&hash.digest().bytes()[..PASSWORD_BYTES]);
        password
    }

    /// Postpones a session's expiry after its client sent something. Returns `false` if the session
    /// does not exist.
    pub fn touch(&mut self, id: i64, timeout: i64, now: i64) -> bool {
        let expires = self.round(now, timeout);
        let Some(session) = self.known.get_mut(&id) else { return false };
        if session.expires != expires {
            self.by_expiry.remove(&(session.expires, id));
            self.by_expiry.insert((expires, id));
            session.expires = expires;
        }
        true
    }

    /// Removes a session.
    pub fn remove(&mut self, id: i64) -> Option<SessionEntry> {
        let session = self.known.remove(&id)?;
        self.by_expiry.remove(&(session.expires, id));
        Some(session)
    }

    /// Returns a session that has expired, if any.
    pub fn expired(&self, now: i64) -> Option<i64> {
        self.by_expiry.first().filter(|(expires, _)| *expires <= now).map(|(_, id)| *id)
    }

    /// Returns the time of the next expiry, unless that session's client sends something.
    pub fn next_expiry(&self) -> Option<i64> {
        self.by_expiry.first().map(|(expires, _)| *expires)
    }

    /// Returns the expiry and the id of each session, the earliest expiry first.
    pub fn by_expiry(&self) -> impl Iterator<Item = (i64, i64)> {
        self.by_expiry.iter().copied()
    }

    /// Returns the first tick after the timeout.
    fn round(&self, now: i64, timeout: i64) -> i64 {
        (now.saturating_add(timeout) / self.tick + 1).saturating_mul(self.tick)
    }
}

impl Machine {
    /// Opens a new session, or resumes the one that the frame names.
    pub fn handshake(&mut self, id: usize, frame: &[u8], now: i64) {
        let Ok(connect) = ConnectRequest::read(frame) else { return self.end(id, CloseReason::NoHeader) };
        if connect.last_zxid > self.zxid {
            return self.end(id, CloseReason::FromTheFuture);
        }
        let (least, most) = (millis(self.options.min_session_timeout), millis(self.options.max_session_timeout));
        let timeout = i64::from(connect.timeout).min(most).max(least);
        let session = if connect.session == 0 {
            if self.sessions.len() >= self.options.max_sessions {
                return self.end(id, CloseReason::TooManySessions);
            }
            self.zxid += 1;
            Some(self.sessions.create(id, timeout, now))
        } else {
            self.resume(id, &connect, timeout, now)
        };
        let session = match session {
            // Keeper begins a new session in place of one that has ended, and does not say so.
            None if self.options.behaviour == ServerBehaviour::Keeper => {
                self.zxid += 1;
                Some(self.sessions.create(id, timeout, now))
            }
            session => session,
        };
        let read_only = connect.read_only.and(Some(false));
        let answer = match session {
            Some(session) => ConnectResponse {
                timeout: i32::try_from(timeout).unwrap_or(i32::MAX),
                session,
                password: self.sessions.password(session).to_vec(),
                read_only,
            },
            None => ConnectResponse { read_only, ..ConnectResponse::expired() },
        };
        self.push(id, |out| out.extend(answer.to_frame()));
        match session {
            Some(session) => self.enter_session(id, session, timeout, now),
            None => self.end(id, CloseReason::NoSession),
        }
    }

    /// Takes over a session and ends its previous connection, if any. A real server ends that
    /// connection even when the password turns out to be wrong.
    fn resume(&mut self, id: usize, connect: &ConnectRequest, timeout: i64, now: i64) -> Option<i64> {
        let session = connect.session;
        let before = self.sessions.get_mut(session)?.connection.take();
        if let Some(before) = before {
            self.end(before, CloseReason::Moved);
        }
        if connect.password != self.sessions.password(session) {
            return None;
        }
        self.sessions.touch(session, timeout, now);
        self.sessions.get_mut(session)?.connection = Some(id);
        Some(session)
    }

    fn enter_session(&mut self, id: usize, session: i64, timeout: i64, now: i64) {
        let zxid = self.zxid;
        if let Some(connection) = self.connections.get_mut(id) {
            connection.session = Some((session, timeout));
            let traffic = &mut connection.traffic;
            (traffic.last, traffic.last_zxid, traffic.last_response) = ("SESS", zxid, now);
        }
    }

    /// Closes the session at the client's request. Events of its own nodes, where it watched them,
    /// precede the reply.
    pub fn close_session(&mut self, id: usize, xid: i32) {
        let Some((session, _)) = self.connections.get(id).and_then(|connection| connection.session) else { return };
        self.end_session(session);
        self.reply(id, xid, |_| {});
        self.end(id, CloseReason::Closed);
    }

    /// Expires a session.
    pub fn expire(&mut self, session: i64) {
        let connection = self.sessions.get(session).and_then(|session| session.connection);
        self.end_session(session);
        if let Some(connection) = connection {
            self.end(connection, CloseReason::Expired);
        }
    }

    /// Ends a session and deletes its ephemeral nodes, in one transaction.
    fn end_session(&mut self, session: i64) {
        self.sessions.remove(session);
        self.zxid += 1;
        let paths: Vec<_> = self.tree.ephemerals_of(session).cloned().collect();
        for path in paths {
            // The node exists and has no children: an ephemeral node cannot have any.
            if let Ok((change @ TreeChange::Deleted { .. }, _)) = self.tree.delete(&path, -1, self.zxid) {
                self.notify(&change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> SessionTable {
        SessionTable::new([7; PASSWORD_BYTES], 100, 1_714_574_467_250)
    }

    #[test]
    fn a_session_expires_at_the_tick_after_its_timeout_unless_touched() {
        let mut sessions = sessions();
        let id = sessions.create(0, 250, 1000);
        assert_eq!((sessions.next_expiry(), sessions.expired(1299)), (Some(1300), None));
        assert!(sessions.touch(id, 250, 1200));
        assert_eq!((sessions.expired(1300), sessions.expired(1500)), (None, Some(id)));
        sessions.remove(id);
        assert_eq!((sessions.next_expiry(), sessions.touch(id, 250, 1200)), (None, false));
    }

    #[test]
    fn ids_rise_and_contain_the_servers_id() {
        let mut sessions = sessions();
        let (first, second) = (sessions.create(0, 100, 0), sessions.create(0, 100, 0));
        assert_eq!((second, first >> 56), (first + 1, 1));
        assert_ne!(first, SessionTable::new([7; PASSWORD_BYTES], 100, 1_714_574_467_251).create(0, 100, 0));
    }

    #[test]
    fn passwords_do_not_follow_from_ids() {
        let other = SessionTable::new([8; PASSWORD_BYTES], 100, 0);
        assert_ne!(sessions().password(1), sessions().password(2));
        assert_ne!(sessions().password(1), other.password(1));
    }
}
