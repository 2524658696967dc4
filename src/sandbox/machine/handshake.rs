//! Handshakes: the first frame of a connection opens or resumes a session.

use super::{CloseReason, Machine, millis};
use crate::session::PASSWORD_LENGTH;
use crate::wire::{Connect, Writer, frame};

impl Machine {
    /// Opens a new session, or resumes the one that the frame names.
    pub(super) fn handshake(&mut self, id: usize, frame: &[u8], now: i64) {
        let Ok(connect) = Connect::read(frame) else { return self.end(id, CloseReason::NoHeader) };
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
        let answer = match session {
            Some(session) => HandshakeAnswer { timeout, session, password: self.sessions.password(session) },
            None => HandshakeAnswer { timeout: 0, session: 0, password: [0; PASSWORD_LENGTH] },
        };
        let says_read_only = connect.says_read_only.then_some(false);
        self.push(id, |out| answer.write(out, says_read_only));
        match session {
            Some(session) => self.enter_session(id, session, timeout, now),
            None => self.end(id, CloseReason::NoSession),
        }
    }

    /// Moves a session to this connection and closes the one it was on. A real server closes that
    /// one even when the password turns out to be wrong.
    fn resume(&mut self, id: usize, connect: &Connect<'_>, timeout: i64, now: i64) -> Option<i64> {
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
}

/// The answer to a handshake.
struct HandshakeAnswer {
    timeout: i64,
    session: i64,
    password: [u8; PASSWORD_LENGTH],
}

impl HandshakeAnswer {
    fn write(&self, out: &mut Vec<u8>, read_only: Option<bool>) {
        frame(out, |out| {
            out.put_int(0); // the protocol's version
            out.put_int(i32::try_from(self.timeout).unwrap_or(i32::MAX));
            out.put_long(self.session);
            out.put_buffer(Some(&self.password));
            if let Some(read_only) = read_only {
                out.put_bool(read_only);
            }
        });
    }
}
