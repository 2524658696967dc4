//! The combined answers of all members of the ensemble, and what follows from them: whether a
//! session exists, who watches a node, which clients are silent, and which software the servers
//! run.
//!
//! Each member is asked at a time of its own. Each method says whose answers its conclusion needs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AskedBy, Connection, Ephemerals, ExpiryBounds, ListedSession, Listing, MemberView, Provenance, ServerMode,
    SessionTiming, SyncSettings, ViewExtras, WatchEventTotals, WatchedPath,
};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

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

/// Whether a session exists and is connected, as far as the servers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// A server holds a connection of the session.
    Connected,
    /// The session exists without a connection. It expires unless its client comes back.
    Disconnected {
        /// The expiry by our clock, to about a second; `None` when unknown.
        expires_at: Option<Timestamp>,
    },
    /// The session exists, but not every server listed its connections.
    Exists {
        /// The expiry by our clock, unless the client sends something before; `None` when unknown.
        expires_at: Option<Timestamp>,
    },
    /// The session did not exist at that time, by the list of the leader or the standalone server.
    /// It had ended, or it began later.
    NoSession {
        /// When the list was requested, by our clock.
        at: Timestamp,
    },
    /// Unproven: only plain-text answers say that the session has no connection or does not exist,
    /// while our own session uses TLS.
    ///
    /// Anyone on the network path can forge such answers
    /// ([`Provenance::PlainBesideTls`]).
    Unproven,
    /// The servers did not answer enough questions.
    Unknown,
}

impl Liveness {
    /// Returns the time left until the session expires, if that is known.
    pub fn expires_in(self, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Disconnected { expires_at } | Self::Exists { expires_at } => Some(expires_at?.since(now)),
            _ => None,
        }
    }
}

/// The sessions that watch a path by getData or exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchers {
    /// The sessions, in order of their ids.
    pub sessions: Vec<SessionId>,
    /// Whether the list is complete, which means that every member listed its watches.
    pub whole: bool,
}

impl ServerView {
    /// Returns the connection of a session and the member that holds it. Returns the newest one if
    /// a closed connection is still listed.
    pub fn connection_of(&self, session: SessionId) -> Option<(&MemberView, &Connection)> {
        let all = self.members.iter().flat_map(|member| {
            let connections = member.connections_of(session).iter();
            connections.map(move |connection| (member, connection))
        });
        all.max_by_key(|(_, connection)| connection.established)
    }

    /// Returns the session in the list of the leader or the standalone server. Returns the newest
    /// entry if a former leader lists it too.
    pub fn session(&self, session: SessionId) -> Option<&ListedSession> {
        let listings = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let found = listings.filter_map(|listing| Some((listing.at, listing.with_key(&session).first()?)));
        found.max_by_key(|(at, _)| *at).map(|(_, session)| session)
    }

    /// Returns the bounds of a session's expiry by our clock, and when the servers were asked.
    ///
    /// The session expires unless its client is heard before. Returns `None` where the servers'
    /// answers are not certain.
    pub fn expiry_of(&self, session: SessionId) -> Option<(ExpiryBounds, Timestamp)> {
        if !self.provenance().can_prove() {
            return None;
        }
        let found = self.members.iter().filter_map(|member| {
            let listing = member.sessions.as_ref()?;
            let listed = listing.with_key(&session).first()?;
            Some((listing.at, listed.expiry, member.timing.clock?))
        });
        let (at, expiry, clock) = found.max_by_key(|(at, ..)| *at)?;
        Some((clock.bounds(expiry)?, at))
    }

    /// Returns whether a session exists and is connected.
    ///
    /// Any answer that lists a connection counts, since a connected session only makes a deletion
    /// less likely. The opposite needs answers that can prove it.
    ///
    /// The members are asked at different times. So a client that moves between members, or is new,
    /// looks disconnected for a short time. Before relying on a disconnection, wait until
    /// [`ServerView::connections_as_of`] has passed the time at which it was first seen. A
    /// standalone server lists its connections after its sessions, so this cannot happen there.
    pub fn liveness(&self, session: SessionId) -> Liveness {
        if self.connection_of(session).is_some() {
            return Liveness::Connected;
        }
        if !self.provenance().can_prove() {
            let is_answered =
                self.members.iter().any(|member| member.connections.is_some() || member.sessions.is_some());
            return if is_answered { Liveness::Unproven } else { Liveness::Unknown };
        }
        if let Some(found) = self.session(session) {
            let expires_at = found.expires_at;
            return if self.every_member_answered() {
                Liveness::Disconnected { expires_at }
            } else {
                Liveness::Exists { expires_at }
            };
        }
        // Two servers that both list sessions are a former leader and its successor. Only what both
        // agree on counts.
        let keepers = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let mut oldest = None;
        for listing in keepers {
            if !listing.whole {
                return Liveness::Unknown;
            }
            oldest = Some(oldest.map_or(listing.at, |at: Timestamp| at.min(listing.at)));
        }
        oldest.map_or(Liveness::Unknown, |at| Liveness::NoSession { at })
    }

    /// Returns the sessions that watch a path by getData or exists; `None` when no server listed
    /// its watches. No server tells who watches the path's children.
    pub fn watchers_of(&self, path: &ZnodePath) -> Option<Watchers> {
        let listings = self.members.iter().filter_map(|member| member.watched.as_ref());
        let mut sessions: Option<Vec<SessionId>> = None;
        for listing in listings {
            let found = listing.with_key(path).iter().flat_map(|watched| watched.sessions.iter().copied());
            sessions.get_or_insert_default().extend(found);
        }
        let mut sessions = sessions?;
        sessions.sort_unstable();
        sessions.dedup();
        let whole = self.members_known && self.members.iter().all(|member| lists_path(member, path));
        Some(Watchers { sessions, whole })
    }

    /// Returns whether any server listed its watches.
    pub fn lists_watches(&self) -> bool {
        self.members.iter().any(|member| member.watched.is_some())
    }

    /// Returns the watched paths below a node, each with the server that holds the watches, as far
    /// as the servers listed them.
    ///
    /// Only watches by getData or exists are listed. Logarithmic in the number of listed paths, and
    /// linear in the number found.
    pub fn watched_below<'a>(
        &'a self,
        path: &ZnodePath,
    ) -> impl Iterator<Item = (&'a MemberView, &'a WatchedPath)> + use<'a> {
        let first = path.child("");
        let below = path.clone();
        self.members.iter().filter_map(|member| Some((member, member.watched.as_ref()?))).flat_map(
            move |(member, listing)| {
                let items = listing.items();
                let from = items.partition_point(|watched| watched.path < first);
                let below = below.clone();
                items[from..]
                    .iter()
                    .take_while(move |watched| watched.path.is_within(&below))
                    .map(move |watched| (member, watched))
            },
        )
    }

    /// Returns when the server with the session's connection was asked for its watches.
    ///
    /// Returns `None` unless that server listed all watches and already held the connection then.
    pub fn watches_as_of(&self, session: SessionId) -> Option<Timestamp> {
        let (member, connection) = self.connection_of(session)?;
        let asked = member.watched.as_ref().filter(|watched| watched.whole)?.at;
        connection.established.is_some_and(|made| asked.since(made) > MAX_CLOCK_DIFFERENCE).then_some(asked)
    }

    /// Returns whether a session watches a path by getData or exists; `None` when unknown.
    ///
    /// A session's watches are on the server that holds its connection. So the answer of that
    /// server is enough, if it was asked after the connection was made.
    pub fn watches(&self, session: SessionId, path: &ZnodePath) -> Option<bool> {
        let listed = |member: &MemberView| {
            let watched = member.watched.as_ref().map_or(&[][..], |watched| watched.with_key(path));
            watched.iter().any(|watched| watched.sessions.binary_search(&session).is_ok())
        };
        if self.members.iter().any(listed) {
            return Some(true);
        }
        let (member, connection) = self.connection_of(session)?;
        let asked = member.watched.as_ref()?.at;
        // The server's clock may differ from ours. A connection that is much older than the
        // question existed when the server answered.
        let old = connection.established.is_some_and(|made| asked.since(made) > MAX_CLOCK_DIFFERENCE);
        (lists_path(member, path) && old).then_some(false)
    }
}

/// Maximum difference to a server's clock. Beyond it, an old connection could be taken for a new
/// one, or a new one for an old one.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

/// Returns whether a member's list of watches is complete for a path. Java answers four-letter
/// words in the encoding of its environment, which may not be able to express non-ASCII characters.
fn lists_path(member: &MemberView, path: &ZnodePath) -> bool {
    member.knows_watches() && (member.asked_by == AskedBy::Http || path.as_str().is_ascii())
}

/// An answer that took longer than the timeout divided by this may come from a server that stood
/// still meanwhile and heard no client.
const PROMPT_SHARE: u32 = 8;

/// A connected client that has not been heard for at least half of its session timeout.
///
/// Clients send a heartbeat in each third of the timeout, even when they are idle. So a client that
/// is silent for half of it has missed one. Its session expires at the end of the timeout unless it
/// is heard before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When the client was last answered, by our clock. The true time may be earlier, never later.
    pub heard: Timestamp,
    /// The session timeout.
    pub timeout: Duration,
    /// Until when the client is known to have been silent, by our clock: when its server was asked.
    /// The client may have been heard since.
    pub as_of: Timestamp,
}

impl Silence {
    /// Returns the silence of a connection, as its server reported it; `None` if the client is not
    /// silent.
    fn of(member: &MemberView, connection: &Connection) -> Option<Self> {
        // Older recordings contain the 0 of a connection before its first answer, and a time that
        // was computed from it.
        if connection.last_response == Some(0) {
            return None;
        }
        let (heard, timeout) = (connection.last_heard?, connection.timeout()?);
        let asked = member.connections.as_ref()?.at;
        let took = member.answered_at?.since(asked);
        let as_of = if took <= timeout / PROMPT_SHARE { asked } else { newest(member)?.min(asked) };
        (as_of.since(heard) >= timeout / 2 && !timeout.is_zero()).then_some(Self { heard, timeout, as_of })
    }

    /// Returns how long the client has been silent at `now` if it was not heard since its server
    /// was asked. At most the timeout.
    pub fn lasted(&self, now: Timestamp) -> Duration {
        now.since(self.heard).min(self.timeout)
    }

    /// Returns how long the session has left at `now` unless the client is heard before. Servers
    /// end sessions at ticks, so it may live a little longer.
    pub fn left(&self, now: Timestamp) -> Duration {
        self.timeout.saturating_sub(now.since(self.heard))
    }
}

/// Returns when a server last answered any client.
fn newest(member: &MemberView) -> Option<Timestamp> {
    member.connections.as_ref()?.items().iter().filter_map(|connection| connection.last_heard).max()
}

impl ServerView {
    /// Returns the silence of a session's client if it is connected and silent.
    ///
    /// Returns `None` as well where its server did not report when it heard the client, and where
    /// the report proves nothing.
    pub fn silence_of(&self, session: SessionId) -> Option<Silence> {
        if !self.provenance().can_prove() {
            return None;
        }
        let (member, connection) = self.connection_of(session)?;
        Silence::of(member, connection)
    }
}

/// The beginning of a version of `ClickHouse` Keeper.
pub const KEEPER: &str = "ClickHouse Keeper";

/// The software of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Software {
    /// Apache `ZooKeeper`.
    ZooKeeper,
    /// `ClickHouse` Keeper.
    Keeper,
    /// The server did not answer.
    Unknown,
}

impl Software {
    /// Returns the software that reports this version.
    pub fn of_version(version: Option<&str>) -> Self {
        match version {
            Some(version) if version.starts_with(KEEPER) => Self::Keeper,
            Some(_) => Self::ZooKeeper,
            None => Self::Unknown,
        }
    }

    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::ZooKeeper => "zookeeper",
            Self::Keeper => "clickhouse-keeper",
            Self::Unknown => "unknown",
        }
    }
}

impl MemberView {
    /// Returns which software the server runs.
    pub fn software(&self) -> Software {
        Software::of_version(self.version.as_deref())
    }

    /// Returns the version without what describes the build: `3.8.0`, `ClickHouse Keeper 25.12`.
    pub fn short_version(&self) -> Option<String> {
        let version = self.version.as_deref()?;
        let Some(keepers) = version.strip_prefix(KEEPER) else {
            return Some(version.split('-').next().unwrap_or(version).to_owned());
        };
        let numbers: Vec<&str> = keepers.trim_start().trim_start_matches('v').split(['.', '-']).take(2).collect();
        Some(format!("{KEEPER} {}", numbers.join(".")))
    }
}

impl ServerView {
    /// Returns whether a server says that it is `ClickHouse` Keeper.
    pub fn runs_keeper(&self) -> bool {
        self.members.iter().any(|member| member.software() == Software::Keeper)
    }

    /// Returns `ClickHouse Keeper 25.12` if a server says that it is one.
    pub fn keeper_version(&self) -> Option<String> {
        self.members.iter().find(|member| member.software() == Software::Keeper)?.short_version()
    }
}

#[cfg(test)]
mod tests {
    use super::super::four_letter;
    use super::*;
    use crate::server_view::{FirstListed, Listing};

    const ASKED: Timestamp = Timestamp(100_000);

    /// Returns a session with a timeout of 10 s that was heard some time before its server was
    /// asked. The server answered after `took_ms`.
    fn view(silent_ms: i64, took_ms: i64, other_heard_ms: i64) -> ServerView {
        let connection = |session, heard_ms: i64| Connection {
            session: SessionId(session),
            client: "10.0.0.1:7".to_owned(),
            timeout_ms: Some(10_000),
            established: Some(Timestamp(0)),
            last_operation: None,
            last_cxid: None,
            last_zxid: None,
            last_response: None,
            last_heard: Some(Timestamp(ASKED.0 - heard_ms)),
            received: 0,
            sent: 0,
        };
        let connections = vec![connection(1, silent_ms), connection(2, other_heard_ms)];
        let member = MemberView {
            connections: Some(Listing::new(connections, true, ASKED)),
            answered_at: Some(Timestamp(ASKED.0 + took_ms)),
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        ServerView { members: vec![member], members_known: true, ..ServerView::default() }
    }

    #[test]
    fn a_client_is_silent_after_half_of_its_timeout() {
        for (millis, silent) in [(0, false), (3_400, false), (4_999, false), (5_000, true), (9_400, true)] {
            assert_eq!(view(millis, 20, 0).silence_of(SessionId(1)).is_some(), silent, "{millis}");
        }
        let silence = view(9_000, 20, 0).silence_of(SessionId(1)).expect("the client is silent");
        let later = ASKED.plus(Duration::from_millis(400));
        let (lasted, left) = (silence.lasted(later), silence.left(later));
        assert_eq!((lasted, left), (Duration::from_millis(9_400), Duration::from_millis(600)));
        let end = ASKED.plus(Duration::from_secs(50));
        assert_eq!((silence.lasted(end), silence.left(end)), (Duration::from_secs(10), Duration::ZERO));
    }

    #[test]
    fn a_server_that_stood_still_proves_no_silence() {
        let stood_still = view(6_000, 3_000, 5_900);
        assert_eq!(stood_still.silence_of(SessionId(1)), None);
        assert!(view(6_000, 3_000, 10).silence_of(SessionId(1)).is_some(), "it heard others meanwhile");
    }

    #[test]
    fn a_client_that_has_just_moved_is_silent_only_after_half_of_its_timeout_without_an_answer() {
        let mut first = FirstListed::default();
        let mut listed = |at: i64| {
            let mut view = view(0, 20, 0);
            let member = &mut view.members[0];
            let mut connections = member.connections.take().expect("they are listed").items().to_vec();
            connections[0].last_heard = None;
            connections[1].last_response = Some(1);
            first.place(&mut connections, Timestamp(at + 20));
            connections[1].last_heard = Some(Timestamp(at));
            member.connections = Some(Listing::new(connections, true, Timestamp(at)));
            member.answered_at = Some(Timestamp(at + 20));
            view.silence_of(SessionId(1)).map(|silence| silence.heard.0)
        };
        for (at, heard) in [(100_000, None), (102_000, None), (105_000, None), (105_020, Some(100_020))] {
            assert_eq!(listed(at), heard, "{at}");
        }
    }

    #[test]
    fn a_zero_of_an_older_recording_proves_no_silence() {
        let mut view = view(9_000, 20, 0);
        let member = &mut view.members[0];
        let mut connections = member.connections.take().expect("they are listed").items().to_vec();
        connections[0].last_response = Some(0);
        member.connections = Some(Listing::new(connections, true, ASKED));
        assert_eq!(view.silence_of(SessionId(1)), None);
    }

    #[test]
    fn a_missing_report_proves_no_silence() {
        assert_eq!(view(9_000, 20, 0).silence_of(SessionId(3)), None);
        let mut untold = view(9_000, 20, 0);
        untold.members[0].answered_at = None;
        assert_eq!(untold.silence_of(SessionId(1)), None);
    }

    #[test]
    fn keeper_is_recognized_by_its_version_which_is_shortened() {
        let version = four_letter::srvr("ClickHouse Keeper version: v25.12.1.1-testing-abc\nMode: leader\n").version;
        let member = MemberView { version, ..MemberView::unasked("ch1:9181".to_owned()) };
        let view = ServerView { members: vec![MemberView::default(), member], ..ServerView::default() };
        assert_eq!((view.runs_keeper(), view.keeper_version().as_deref()), (true, Some("ClickHouse Keeper 25.12")));
        assert!(!ServerView::default().runs_keeper());
        let zookeeper = MemberView { version: Some("3.8.0-x".to_owned()), ..MemberView::default() };
        assert_eq!(zookeeper.software().id(), "zookeeper");
        assert_eq!(MemberView::default().software(), Software::Unknown);
    }
}
