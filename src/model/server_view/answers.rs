//! Conclusions from all members' answers: whether a session exists, and who watches a node.

use std::time::Duration;

use super::{AskedBy, Connection, ExpiryBounds, ListedSession, MemberView, ServerView, WatchedPath};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

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
    /// ([`Provenance::PlainBesideTls`](super::Provenance::PlainBesideTls)).
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
