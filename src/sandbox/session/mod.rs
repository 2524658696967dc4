//! Sessions: their ids and passwords, and when each expires. Time is an argument, in milliseconds.

use std::collections::{BTreeSet, HashMap};

use lockscope_base::wire::PASSWORD_BYTES;
use sha1::{Digest, Sha1};

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
        let hash = Sha1::new().chain_update(self.secret).chain_update(id.to_be_bytes()).finalize();
        let mut password = [0; PASSWORD_BYTES];
        password.copy_from_slice(&hash[..PASSWORD_BYTES]);
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
