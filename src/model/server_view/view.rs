//! What all members of the ensemble say about themselves, together.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Listing, MemberView, Provenance, ServerMode, SessionTiming, SyncSettings, WatchEventTotals};
use lockscope_base::znode::{SessionId, Timestamp};

/// What asking cost the servers since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Questions that were sent, each on a connection of its own, and requests on our session.
    pub requests: u64,
    /// Bytes of the answers.
    pub bytes: u64,
    /// Milliseconds in which a server was busy with us, or silent.
    pub time_ms: u64,
}

impl Load {
    /// Counts one question.
    pub fn count(&mut self, bytes: usize, took: Duration) {
        self.add(Self {
            requests: 1,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            time_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Adds another load.
    pub fn add(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ms = self.time_ms.saturating_add(other.time_ms);
    }
}

/// What all members of the ensemble answered about themselves. Each was asked at a time of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerView {
    /// When this was put together, by our clock.
    pub at: Timestamp,
    /// Every member that is known of: those of the connect string, then those that only the ensemble's config names.
    pub members: Vec<MemberView>,
    /// Whether the ensemble's own config was read, so that no member can be missing from the list.
    pub members_known: bool,
    /// The session that asked: it contends for no lock. `None` when nothing was asked through a session.
    pub own_session: Option<SessionId>,
    /// When we began to ask for that session, by our clock: its connection was made after that.
    #[serde(default)]
    pub own_session_since: Option<Timestamp>,
    /// What asking cost.
    pub asked: Load,
}

impl ServerView {
    /// The sessions that it has anywhere: connected, listed, or watching. Some of them come several times.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.members.iter().flat_map(|member| {
            let connected = member.connections.iter().flat_map(Listing::items).map(|connection| connection.session);
            let listed = member.sessions.iter().flat_map(Listing::items).map(|session| session.id);
            let watching = member.watched.iter().flat_map(Listing::items).flat_map(|watched| &watched.sessions);
            connected.chain(listed).chain(watching.copied())
        })
    }

    /// Whether the members are known to be all, and each listed all of its connections. Only then it can be said that a
    /// session has none.
    pub fn every_member_answered(&self) -> bool {
        self.members_known && !self.members.is_empty() && self.members.iter().all(MemberView::knows_connections)
    }

    /// What makes the times of each member's sessions certain.
    pub fn timings(&self) -> Vec<SessionTiming> {
        self.members.iter().map(|member| member.timing).collect()
    }

    /// Takes what [`timings`](Self::timings) gave of this view.
    pub fn set_timings(&mut self, timings: &[SessionTiming]) {
        for (member, timing) in self.members.iter_mut().zip(timings) {
            member.timing = *timing;
        }
    }

    /// Whether the ensemble is one standalone server.
    pub fn is_standalone(&self) -> bool {
        self.members_known && matches!(&*self.members, [member] if member.mode == Some(ServerMode::Standalone))
    }

    /// The shortest session timeout that any member grants; `None` unless every member said so, in a way that can prove it.
    pub fn min_session_timeout(&self) -> Option<Duration> {
        if !self.members_known || !self.provenance().can_prove() {
            return None;
        }
        let shortest = self.members.iter().map(|member| Some(member.timing.settings?.min_session_timeout()));
        shortest.min_by_key(|timeout| timeout.unwrap_or_default()).flatten()
    }

    /// When the session that is not listed began, at the earliest, if it was alive at `alive_at`: a list of all sessions was asked
    /// for before that. `None` when it is listed, and when no list or more than one can say so.
    pub fn began_after(&self, session: SessionId, alive_at: Timestamp) -> Option<Timestamp> {
        if !self.every_member_answered() || !self.provenance().can_prove() {
            return None;
        }
        let mut listings = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let (Some(listing), None) = (listings.next(), listings.next()) else { return None };
        let is_new = listing.whole && listing.at <= alive_at && listing.with_key(&session).is_empty();
        is_new.then_some(listing.at)
    }

    /// What all of it together is worth: no more than the least of it. That a client is nowhere is said by all members.
    pub fn provenance(&self) -> Provenance {
        let doubtful = self.members.iter().find(|member| !member.provenance.can_prove());
        doubtful.map_or(Provenance::AsSession, |member| member.provenance)
    }

    /// Every member's connections were listed at this time or later, by our clock; `None` unless every member answered.
    pub fn connections_as_of(&self) -> Option<Timestamp> {
        if !self.every_member_answered() {
            return None;
        }
        self.members.iter().filter_map(|member| Some(member.connections.as_ref()?.at)).min()
    }

    /// The ensemble's sessions, and every member's connections, were listed at this time or later, by our clock; `None` unless
    /// a member that keeps the sessions listed them all and every member answered.
    pub fn sessions_as_of(&self) -> Option<Timestamp> {
        let listed = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let oldest = listed.filter(|listing| listing.whole).map(|listing| listing.at).min()?;
        Some(oldest.min(self.connections_as_of()?))
    }

    /// The members that answered nothing, or not everything: each address, and what to change there.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().filter_map(|member| Some((member.address.as_str(), member.error.as_deref()?)))
    }

    /// The shortest session timeout that no member outlasts which lost its leader; `None` unless a member reports its settings
    /// in a way that proves them. See [`SyncSettings::safe_session_timeout`].
    pub fn safe_session_timeout(&self) -> Option<Duration> {
        let believed = self.members.iter().filter(|member| member.provenance.can_prove());
        believed.filter_map(|member| member.sync_settings).map(SyncSettings::safe_session_timeout).max()
    }

    /// The watch events that all servers sent since each was started; `None` unless all answered.
    pub fn fired(&self) -> Option<WatchEventTotals> {
        if !self.members_known || self.members.is_empty() {
            return None;
        }
        let mut sum = WatchEventTotals::default();
        for member in &self.members {
            sum = sum.plus(&member.fired?);
        }
        Some(sum)
    }

    /// How many watches on children all servers hold; `None` unless all answered. See [`MemberView::child_watches`].
    pub fn child_watches(&self) -> Option<u64> {
        if !self.members_known || self.members.is_empty() {
            return None;
        }
        self.members.iter().map(MemberView::child_watches).try_fold(0_u64, |sum, count| sum.checked_add(count?))
    }
}
