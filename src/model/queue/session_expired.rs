//! Whether the session of a node that vanished had ended: what the servers said of it before.
//!
//! Nothing is claimed that the servers can contradict. A session lives at least until the end of its timeout after it was heard, so
//! it cannot have expired before that; and it has expired where its time had just run out and nobody was connected who could have
//! deleted the node. A timeout that is not known is the shortest that the servers grant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::SessionAtEnd;
use super::{Contender, LockTable};
use crate::server_view::{Connection, Liveness, SessionTiming};
use lockscope_base::znode::{SessionId, Timestamp};

/// How long a server takes at the most to end a session whose time has run out, and we to see that. What goes later went
/// otherwise.
const MAX_EXPIRY_DELAY: Duration = Duration::from_millis(500);

/// What the servers said longer ago than this says nothing: the client may have come back since.
const MAX_VIEW_AGE: Duration = Duration::from_secs(10);

/// By how much a node that was never read may be seen too late.
const MAX_EVENT_DELAY: Duration = Duration::from_secs(1);

/// A request may wait in a server before its time is taken, for this part of the session timeout at the most.
const WAIT_PART: u32 = 8;

/// A session is only said to have expired where it is known to this part of its timeout, and as well as this, when its time ran
/// out: somebody else may delete the node before that.
const EXPIRY_PART: u32 = 2;

/// A server writes times in words to the second, and with our errors added no time that counts is off by more.
const MAX_EXPIRY_ERROR: Duration = Duration::from_secs(2);

/// The part for a session that is connected, and may be heard at any moment.
const CONNECTED_EXPIRY_PART: u32 = 10;

/// What makes it certain how sessions end, in a recording: beside the table, in which older recordings have no place for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvidence {
    members: Vec<SessionTiming>,
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl LockTable {
    /// What makes it certain how sessions end. It is not part of what the table is stored as.
    pub fn session_evidence(&self) -> SessionEvidence {
        SessionEvidence { members: self.view.timings(), disconnected: self.sessions.disconnected().clone() }
    }

    /// The table that was stored with this.
    #[must_use]
    pub fn with_session_evidence(mut self, evidence: SessionEvidence) -> Self {
        Arc::make_mut(&mut self.view).set_timings(&evidence.members);
        self.sessions.set_disconnected(evidence.disconnected);
        self
    }

    /// What is known of the session of a contender whose node is gone now.
    pub(super) fn session_at_end(&self, contender: &Contender, now: Timestamp) -> SessionAtEnd {
        let session = contender.session();
        if session.is_none() && contender.is_read() {
            return SessionAtEnd::Lived;
        }
        let by_list = session.and_then(|session| self.view.expiry_of(session)).map(|(expiry, _)| expiry.earliest);
        if by_list.max(self.lives_by_its_node(session, contender)).is_some_and(|until| now < until) {
            return SessionAtEnd::Lived;
        }
        let expired = session.and_then(|session| self.session_expired(session, now));
        expired.map_or(SessionAtEnd::MayHaveExpired, |()| SessionAtEnd::Expired)
    }

    /// It is certain that a session which loses its node now has expired, and did not release.
    ///
    /// The servers must have said shortly before that it has no connection, or that it missed its heartbeats, and the time at which
    /// it was to expire must just have come.
    fn session_expired(&self, session: SessionId, now: Timestamp) -> Option<()> {
        let view = &*self.view;
        let (expiry, asked) = view.expiry_of(session)?;
        let timeout = self.timeout_of(session)?;
        let (is_silent, part) = match view.liveness(session) {
            Liveness::Disconnected { .. } => (self.is_disconnected_for_certain(session), EXPIRY_PART),
            // Clients send a heartbeat in each third of the timeout, so that there is always more than a third of it left.
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

    /// The members of an ensemble answer at different times: a client that moves between them, or is new, seems to be nowhere until
    /// each was asked again.
    fn is_disconnected_for_certain(&self, session: SessionId) -> bool {
        let view = &*self.view;
        let asked_again = || Some(view.connections_as_of()? >= *self.sessions.disconnected().get(&session)?);
        view.is_standalone() || asked_again().unwrap_or(false)
    }

    /// The session's timeout, or the shortest that the servers grant.
    fn timeout_of(&self, session: SessionId) -> Option<Duration> {
        let connected = self.view.connection_of(session).map(|(_, connection)| connection);
        let connection = connected.or_else(|| self.sessions.last_of(session));
        connection.and_then(Connection::timeout).or_else(|| self.view.min_session_timeout())
    }

    /// Until when the contender's session did not expire, since it was heard when it made its node.
    ///
    /// Only a standalone server hears that itself. Of an ensemble the leader ends sessions, and a follower tells it late, or never,
    /// whom it heard: there it only counts that a session which the leader did not list is new.
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
            // While the servers do not answer, events may be late, too.
            contender.enqueued_at()?.min(view.at).minus(MAX_EVENT_DELAY)
        };
        let heard_at = if view.is_standalone() { made_at } else { view.began_after(session?, made_at)? };
        Some(heard_at.plus(timeout / WAIT_PART * (WAIT_PART - 1)))
    }
}
