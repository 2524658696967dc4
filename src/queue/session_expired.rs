//! Whether the session of a node that vanished had ended: what the servers said of it before.

use std::time::Duration;

use super::event::SessionAtEnd;
use super::{Contender, LockTable};
use crate::server_view::{Connection, Liveness, ServerView};
use crate::znode::{SessionId, Timestamp};

/// How far the servers' times may be wrong.
const EXPIRY_TOLERANCE: Duration = Duration::from_secs(1);

/// What the servers said longer ago than this says nothing: the client may have come back since.
const MAX_VIEW_AGE: Duration = Duration::from_secs(10);

/// The shortest session timeout that a server grants by default: two ticks of two seconds.
const MIN_SESSION_TIMEOUT: Duration = Duration::from_secs(4);

impl LockTable {
    /// What is known of the session of a contender whose node is gone now.
    pub(super) fn session_at_end(&self, contender: &Contender, now: Timestamp) -> SessionAtEnd {
        let session = match contender.session() {
            Some(session) if self.session_expired(session, now) => return SessionAtEnd::Expired,
            None if contender.is_read() => return SessionAtEnd::Lived,
            session => session,
        };
        if self.lives_until(session, contender) >= now { SessionAtEnd::Lived } else { SessionAtEnd::MayHaveExpired }
    }

    /// Whether it is to be taken for certain that a session which loses its node now has expired, and did not release.
    ///
    /// The servers must have said shortly before that it has no connection, or that it missed its heartbeats, and the time at which
    /// it was to expire must have come.
    fn session_expired(&self, session: SessionId, now: Timestamp) -> bool {
        let view = &*self.view;
        let has_come =
            |expires_at: Timestamp| now.plus(EXPIRY_TOLERANCE) >= expires_at && now.since(view.at) <= MAX_VIEW_AGE;
        match view.liveness(session) {
            Liveness::Disconnected { expires_at } => expires_at.is_some_and(has_come),
            // Its silence, too, is only known from answers that can prove it.
            Liveness::Connected if view.provenance().can_prove() => silent_until(view, session).is_some_and(has_come),
            Liveness::Connected
            | Liveness::Exists { .. }
            | Liveness::NoSession { .. }
            | Liveness::Unproven
            | Liveness::Unknown => false,
        }
    }

    /// Until when the contender's session did not expire, since it was heard before: when it made its node, or by what the servers said
    /// last.
    fn lives_until(&self, session: Option<SessionId>, contender: &Contender) -> Timestamp {
        let connection = session.and_then(|session| self.view.connection_of(session)).map(|(_, connection)| connection);
        let timeout = connection.and_then(Connection::timeout);
        let came = contender.contends_since(self.clock.ahead_ms());
        let by_node = came.plus(timeout.unwrap_or(MIN_SESSION_TIMEOUT));
        let by_list = session.and_then(|session| self.view.session(session)?.expires_at);
        let by_connection = connection.and_then(|connection| Some(connection.last_heard?.plus(timeout?)));
        let by_servers = by_list.max(by_connection).map(|at| at.minus(EXPIRY_TOLERANCE));
        by_servers.map_or(by_node, |at| at.max(by_node))
    }
}

/// When a connected session expires that has missed its heartbeats. Clients send one in each third of the timeout, so that there
/// is always more than a third of it left.
fn silent_until(view: &ServerView, session: SessionId) -> Option<Timestamp> {
    let (_, connection) = view.connection_of(session)?;
    let expires_at = view.session(session)?.expires_at?;
    let left = expires_at.since(view.at) + EXPIRY_TOLERANCE;
    (left < connection.timeout()? / 3).then_some(expires_at)
}
