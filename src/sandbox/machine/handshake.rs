//! Handshakes: the first frame of a connection opens or resumes a session.

use super::{CloseReason, Machine, millis};
use crate::config::Behaviour;
use lockscope_base::wire::{ConnectRequest, ConnectResponse};

impl Machine {
    /// Opens a new session, or resumes the one that the frame names.
    pub(super) fn handshake(&mut self, id: usize, frame: &[u8], now: i64) {
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
            None if self.options.behaviour == Behaviour::Keeper => {
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
}
