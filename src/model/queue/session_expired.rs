//! Decides whether a deleted node's session had expired, from what the servers said before. What
//! they say later settles some of the other ends ([`settled_ends`](super::settled_ends)).
//!
//! The table claims nothing that the servers can contradict. A session lives at least until its
//! timeout has passed since it was last heard. It certainly expired if its time had just run out
//! and no connected client could have deleted the node. An unknown timeout counts as the shortest
//! that the servers grant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::SessionAtEnd;
use super::{Contender, LockTable};
use crate::server_view::{Connection, ExpiredSession, Liveness, SessionTiming};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum delay between the end of a session's timeout and our seeing the deletion. A node that is
/// deleted later was deleted for another reason.
const MAX_EXPIRY_DELAY: Duration = Duration::from_millis(500);

/// Maximum age of the servers' answers. After that the client may have come back.
const MAX_VIEW_AGE: Duration = Duration::from_secs(10);

/// Maximum delay of the event for a node that was never read.
const MAX_EVENT_DELAY: Duration = Duration::from_secs(1);

/// A request may wait in the server before it counts as a sign of life: at most the session timeout
/// divided by this.
const WAIT_PART: u32 = 8;

/// The expiry time of a disconnected session must be known to within its timeout divided by this.
/// Otherwise another client may have deleted the node before the session expired.
const EXPIRY_PART: u32 = 2;

/// Maximum uncertainty of an expiry time. Servers print times with a resolution of a second; with
/// our own errors, no usable time is less certain than this.
const MAX_EXPIRY_ERROR: Duration = Duration::from_secs(2);

/// The same divisor as [`EXPIRY_PART`] for a connected session, which may be heard at any moment.
const CONNECTED_EXPIRY_PART: u32 = 10;

/// The evidence about the ends of sessions, as a recording stores it. The evidence is stored beside
/// the table, because older recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvidence {
    members: Vec<SessionTiming>,
    /// Since when sessions have no connection.
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl LockTable {
    /// Returns the evidence about the ends of sessions. It is not part of the serialized table.
    pub fn session_evidence(&self) -> SessionEvidence {
        SessionEvidence { members: self.view.timings(), disconnected: self.sessions.disconnected().clone() }
    }

    /// Returns the table with the evidence that was stored beside it.
    #[must_use]
    pub fn with_session_evidence(mut self, evidence: SessionEvidence) -> Self {
        Arc::make_mut(&mut self.view).set_timings(&evidence.members);
        self.sessions.set_disconnected(evidence.disconnected);
        self
    }

    /// Returns what is known about the session of a contender whose node was just deleted.
    pub(super) fn session_at_end(&self, contender: &Contender, now: Timestamp) -> SessionAtEnd {
        let session = contender.session();
        if session.is_none() && contender.is_read() {
            return SessionAtEnd::Lived;
        }
        if session.is_some_and(|session| self.was_counted_as_expired(session, now)) {
            return SessionAtEnd::Expired;
        }
        let by_list = session.and_then(|session| self.view.expiry_of(session)).map(|(expiry, _)| expiry.earliest);
        if by_list.max(self.lives_by_its_node(session, contender)).is_some_and(|until| now < until) {
            return SessionAtEnd::Lived;
        }
        let expired = session.and_then(|session| self.session_expired(session, now));
        expired.map_or(SessionAtEnd::MayHaveExpired, |()| SessionAtEnd::Expired)
    }

    /// Returns `Some` if a session that just lost a node certainly expired, and did not release.
    ///
    /// The servers must have said shortly before that the session has no connection or missed its
    /// heartbeats, and its expiry time must just have come.
    fn session_expired(&self, session: SessionId, now: Timestamp) -> Option<()> {
        let view = &*self.view;
        let (expiry, asked) = view.expiry_of(session)?;
        let timeout = self.timeout_of(session)?;
        let (is_silent, part) = match view.liveness(session) {
            Liveness::Disconnected { .. } => (self.is_disconnected_for_certain(session), EXPIRY_PART),
            // Clients send a heartbeat in each third of the timeout, so more than a third of it is
            // always left.
            Liveness::Connected => (expiry.latest.since(asked) < timeout / 3, CONNECTED_EXPIRY_PART),
            Liveness::Exists { .. } | Liveness::NoSession { .. } | Liveness::Unproven | Liveness::Unknown => {
                return None;
            }
        };
        let error = expiry.latest.since(expiry.earliest);
        let is_known = error <= MAX_EXPIRY_ERROR.min(timeout / part) && now.since(view.at) <= MAX_VIEW_AGE;
        let has_come = now >= expiry.earliest && now <= expiry.latest.plus(MAX_EXPIRY_DELAY);
        (is_silent && is_known && has_come).then_some(())
    }

    /// Returns whether the session of a node that goes now expired, by the servers' count.
    fn was_counted_as_expired(&self, session: SessionId, now: Timestamp) -> bool {
        let expired = self.pending_ends.expired(session);
        expired.is_some_and(|expired| self.is_end_of_node(expired, now))
    }

    /// Returns whether the expiry of a session deleted its node, which went at a time.
    ///
    /// Before the expiry, another client may have deleted the node of a client that was gone.
    pub(super) fn is_end_of_node(&self, expired: ExpiredSession, went_at: Timestamp) -> bool {
        let Some(timeout) = self.timeout_of(expired.session) else { return false };
        let error = expired.at.latest.since(expired.at.earliest);
        error <= MAX_EXPIRY_ERROR.min(timeout / EXPIRY_PART) && went_at >= expired.at.earliest
    }

    /// Returns whether the session has no connection on any member.
    ///
    /// The members of an ensemble answer at different times. A client that moves between them, or
    /// is new, seems to be disconnected until each member was asked again.
    fn is_disconnected_for_certain(&self, session: SessionId) -> bool {
        let view = &*self.view;
        let asked_again = || Some(view.connections_as_of()? >= *self.sessions.disconnected().get(&session)?);
        view.is_standalone() || asked_again().unwrap_or(false)
    }

    /// Returns the session's timeout, or the shortest that the servers grant.
    fn timeout_of(&self, session: SessionId) -> Option<Duration> {
        let connected = self.view.connection_of(session).map(|(_, connection)| connection);
        let connection = connected.or_else(|| self.sessions.last_of(session));
        connection.and_then(Connection::timeout).or_else(|| self.view.min_session_timeout())
    }

    /// Returns the time until which the contender's session was certainly alive, since it was heard
    /// when it created its node.
    ///
    /// Only a standalone server hears the session itself. In an ensemble the leader expires
    /// sessions, and followers tell it late or never which sessions they heard. So there the node
    /// only proves that a session which the leader did not list is new.
    fn lives_by_its_node(&self, session: Option<SessionId>, contender: &Contender) -> Option<Timestamp> {
        let view = &*self.view;
        if !view.provenance().can_prove() {
            return None;
        }
        let timeout = match session {
            Some(session) => self.timeout_of(session)?,
            None => view.min_session_timeout()?,
        };
        let made_at = if contender.is_read() {
            Timestamp(contender.created_at.0.saturating_add(self.clock.ahead_at_least()))
        } else {
            // Events may be late as well while the servers do not answer.
            contender.enqueued_at()?.min(view.at).minus(MAX_EVENT_DELAY)
        };
        let heard_at = if view.is_standalone() { made_at } else { view.began_after(session?, made_at)? };
        Some(heard_at.plus(timeout / WAIT_PART * (WAIT_PART - 1)))
    }
}
