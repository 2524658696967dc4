//! The combined answers of all members of the ensemble.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Ephemerals, Listing, MemberView, Provenance, ServerMode, SessionTiming, SyncSettings, ViewExtras, WatchEventTotals,
};
use lockscope_base::znode::{SessionId, Timestamp};

/// The cost of our questions to the servers since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The number of questions, each on its own connection, plus the requests on our session.
    pub requests: u64,
    /// The size of the answers, in bytes.
    pub bytes: u64,
    /// The time in which a server was busy with us, or silent, in milliseconds.
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

/// Maximum age of a member's answers. A member that has not answered for longer proves nothing new.
pub const MAX_ANSWER_AGE: Duration = Duration::from_secs(10);

/// The answers of all members of the ensemble. Each was asked at a time of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerView {
    /// When the answers were combined, by our clock.
    pub at: Timestamp,
    /// All known members: those in the connect string, then those that only the ensemble's config
    /// names.
    pub members: Vec<MemberView>,
    /// Whether the ensemble's own config was read, so that no member can be missing from the list.
    pub members_known: bool,
    /// Our own session, which contends for no lock. `None` when no session was used.
    pub own_session: Option<SessionId>,
    /// When we began to connect that session, by our clock. Its connection was made after that.
    #[serde(default)]
    pub own_session_since: Option<Timestamp>,
    /// The cost of our questions.
    pub asked: Load,
    /// The number of members that vote, by the ensemble's own config. Recordings store it apart.
    #[serde(skip)]
    pub voters: Option<u16>,
}

impl ServerView {
    /// Returns all sessions that are connected, listed or watching. Some are returned several
    /// times.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.members.iter().flat_map(|member| {
            let connected = member.connections.iter().flat_map(Listing::items).map(|connection| connection.session);
            let listed = member.sessions.iter().flat_map(Listing::items).map(|session| session.id);
            let watching = member.watched.iter().flat_map(Listing::items).flat_map(|watched| &watched.sessions);
            connected.chain(listed).chain(watching.copied())
        })
    }

    /// Returns whether all members are known and each listed all its connections. Only then can a
    /// session be said to have none.
    pub fn every_member_answered(&self) -> bool {
        self.members_known && !self.members.is_empty() && self.members.iter().all(MemberView::knows_connections)
    }

    /// Returns the evidence for the expiry times of each member.
    pub fn timings(&self) -> Vec<SessionTiming> {
        self.members.iter().map(|member| member.timing).collect()
    }

    /// Restores what [`timings`](Self::timings) returned for this view.
    pub fn set_timings(&mut self, timings: &[SessionTiming]) {
        for (member, timing) in self.members.iter_mut().zip(timings) {
            member.timing = *timing;
        }
    }

    /// Returns what recordings store beside the view.
    pub fn extras(&self) -> ViewExtras {
        ViewExtras { voters: self.voters, members: self.members.iter().map(|member| member.extras).collect() }
    }

    /// Restores what [`extras`](Self::extras) returned for this view.
    pub fn set_extras(&mut self, extras: &ViewExtras) {
        self.voters = extras.voters;
        for (member, extras) in self.members.iter_mut().zip(&extras.members) {
            member.extras = *extras;
        }
    }

    /// Returns whether the ensemble is one standalone server.
    pub fn is_standalone(&self) -> bool {
        self.members_known && matches!(&*self.members, [member] if member.mode == Some(ServerMode::Standalone))
    }

    /// Returns the shortest session timeout that any member grants. `None` unless every member
    /// reported its own in answers that can prove it.
    pub fn min_session_timeout(&self) -> Option<Duration> {
        if !self.members_known || !self.provenance().can_prove() {
            return None;
        }
        let shortest = self.members.iter().map(|member| Some(member.timing.settings?.min_session_timeout()));
        shortest.min_by_key(|timeout| timeout.unwrap_or_default()).flatten()
    }

    /// Returns the earliest beginning of an unlisted session that was alive at `alive_at`.
    ///
    /// This is when a list of all sessions was requested, if that was before `alive_at`. Returns
    /// `None` when the session is listed, and when no list or more than one is available.
    pub fn began_after(&self, session: SessionId, alive_at: Timestamp) -> Option<Timestamp> {
        if !self.every_member_answered() || !self.provenance().can_prove() {
            return None;
        }
        let mut listings = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let (Some(listing), None) = (listings.next(), listings.next()) else { return None };
        let is_new = listing.whole && listing.at <= alive_at && listing.with_key(&session).is_empty();
        is_new.then_some(listing.at)
    }

    /// Returns the provenance of the combined answers, which is the weakest of all. All members
    /// must answer before a client is known to be disconnected.
    pub fn provenance(&self) -> Provenance {
        let doubtful = self.members.iter().find(|member| !member.provenance.can_prove());
        doubtful.map_or(Provenance::AsSession, |member| member.provenance)
    }

    /// Returns a time, by our clock, since which every member listed its connections. `None` unless
    /// every member answered.
    pub fn connections_as_of(&self) -> Option<Timestamp> {
        if !self.every_member_answered() {
            return None;
        }
        self.members.iter().filter_map(|member| Some(member.connections.as_ref()?.at)).min()
    }

    /// Returns a time, by our clock, since which the ensemble's sessions and every member's
    /// connections were listed.
    ///
    /// Returns `None` unless a member listed all sessions and every member answered.
    pub fn sessions_as_of(&self) -> Option<Timestamp> {
        let listed = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let oldest = listed.filter(|listing| listing.whole).map(|listing| listing.at).min()?;
        Some(oldest.min(self.connections_as_of()?))
    }

    /// Returns a time, by our clock, since which every member that answers now listed its
    /// connections, and its sessions if it knows them. `None` when no member answers.
    ///
    /// Unlike [`connections_as_of`](Self::connections_as_of), does not wait for a member that is
    /// gone or hangs.
    pub fn answers_as_of(&self) -> Option<Timestamp> {
        let answers = |member: &&MemberView| member.answered_at.is_some_and(|at| self.at.since(at) <= MAX_ANSWER_AGE);
        let listed = self.members.iter().filter(answers).flat_map(|member| {
            let connections = member.connections.as_ref().map(|listing| listing.at);
            connections.into_iter().chain(member.sessions.as_ref().map(|listing| listing.at))
        });
        listed.min()
    }

    /// Returns the ephemeral nodes of all sessions, from the first server that listed them; `None`
    /// when none did.
    pub fn ephemerals(&self) -> Option<&Ephemerals> {
        self.members.iter().find_map(|member| member.ephemerals.as_ref())
    }

    /// Returns the members with missing answers: each address, and what to change there.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().filter_map(|member| Some((member.address.as_str(), member.error.as_deref()?)))
    }

    /// Returns those of the members with missing answers that do not answer at all.
    pub fn silent(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing_of(|member| !member.answers())
    }

    /// Returns those of the members with missing answers that answer something: they refuse words, or
    /// serve no clients now.
    pub fn refusing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing_of(MemberView::answers)
    }

    /// Returns whether a member serves clients, and not only reads.
    pub fn is_served(&self) -> bool {
        self.members.iter().any(|member| member.mode.is_some_and(|mode| mode != ServerMode::ReadOnly))
    }

    /// Returns the members that do not serve clients, as two rounds in a row showed: one round may
    /// meet a restart or a slow moment.
    pub fn out_of_service(&self) -> impl Iterator<Item = &MemberView> {
        self.members.iter().filter(|member| {
            // A recording counts no rounds.
            let is_long_ago = |at: Timestamp| self.at.since(at) > MAX_ANSWER_AGE;
            let is_silent = member.error.is_some() && !member.answers() && member.answered_at.is_some_and(is_long_ago);
            member.rounds_out.map_or(is_silent, |rounds| rounds >= 2)
        })
    }

    fn missing_of(&self, is: fn(&MemberView) -> bool) -> impl Iterator<Item = (&str, &str)> {
        let of_kind = self.members.iter().filter(move |member| is(member));
        of_kind.filter_map(|member| Some((member.address.as_str(), member.error.as_deref()?)))
    }

    /// Returns the shortest session timeout that exceeds the time in which any member still serves
    /// clients without its leader.
    ///
    /// Returns `None` unless a member reports its settings in answers that can prove them. See
    /// [`SyncSettings::safe_session_timeout`].
    pub fn safe_session_timeout(&self) -> Option<Duration> {
        let believed = self.members.iter().filter(|member| member.provenance.can_prove());
        believed.filter_map(|member| member.extras.sync_settings).map(SyncSettings::safe_session_timeout).max()
    }

    /// Returns the watch events that all servers sent since each was started. `None` unless all
    /// answered.
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

    /// Returns the number of watches on children on all servers. `None` unless all answered. See
    /// [`MemberView::child_watches`].
    pub fn child_watches(&self) -> Option<u64> {
        if !self.members_known || self.members.is_empty() {
            return None;
        }
        self.members.iter().map(MemberView::child_watches).try_fold(0_u64, |sum, count| sum.checked_add(count?))
    }
}
