//! Whether a session's time ran out: what the servers said of it before its nodes vanished.

use std::time::Duration;

use super::LockTable;
use crate::server_view::{Liveness, ServerView};
use crate::znode::{SessionId, Timestamp};

/// How far the servers' times may be wrong.
const EXPIRY_TOLERANCE: Duration = Duration::from_secs(1);

/// What the servers said longer ago than this says nothing: the client may have come back since.
const MAX_VIEW_AGE: Duration = Duration::from_secs(10);

impl LockTable {
    /// Whether it is to be taken for certain that a session which loses its node now has expired, and did not release.
    ///
    /// The servers must have said shortly before that it has no connection, or that it missed its heartbeats, and the time at which
    /// it was to expire must have come.
    pub(super) fn session_expired(&self, session: Option<SessionId>, now: Timestamp) -> bool {
        let (Some(session), view) = (session, &*self.view) else { return false };
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
}

/// When a connected session expires that has missed its heartbeats. Clients send one in each third of the timeout, so that there
/// is always more than a third of it left.
fn silent_until(view: &ServerView, session: SessionId) -> Option<Timestamp> {
    let (_, connection) = view.connection_of(session)?;
    let expires_at = view.session(session)?.expires_at?;
    let left = expires_at.since(view.at) + EXPIRY_TOLERANCE;
    (left < connection.timeout()? / 3).then_some(expires_at)
}
