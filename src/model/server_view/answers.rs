//! What follows from what all members say: whether a session exists, who watches a node.

use std::time::Duration;

use super::{AskedBy, Connection, ExpiryBounds, ListedSession, MemberView, ServerView, WatchedPath};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// Whether a session exists and is connected, as far as the servers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// A server holds a connection of it.
    Connected,
    /// It exists, and no server holds a connection of it: it expires unless its client comes back.
    Disconnected {
        /// When, by our clock, to about a second; `None` when that is not known.
        expires_at: Option<Timestamp>,
    },
    /// It exists, but not every server listed its connections.
    Exists {
        /// When it expires unless its client sends something before, by our clock; `None` when that is not known.
        expires_at: Option<Timestamp>,
    },
    /// It did not exist at that time, by the list of the leader or standalone server: it ended before, or began after.
    NoSession {
        /// When the list was asked for, by our clock.
        at: Timestamp,
    },
    /// Plain text says that it has no connection or that there is none, while our session is over TLS: whoever sits between can
    /// write that ([`Provenance::PlainBesideTls`](super::Provenance::PlainBesideTls)), so nothing follows from it.
    Unproven,
    /// The servers did not answer enough.
    Unknown,
}

impl Liveness {
    /// How long it has, if it is known to expire at a time.
    pub fn expires_in(self, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Disconnected { expires_at } | Self::Exists { expires_at } => Some(expires_at?.since(now)),
            _ => None,
        }
    }
}

/// Who watches a path by getData or exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchers {
    /// Their sessions, in the order of their ids.
    pub sessions: Vec<SessionId>,
    /// Whether nobody can be missing: every member listed its watches.
    pub whole: bool,
}

impl ServerView {
    /// The connection of a session and the server that holds it; the newest, where one that has ended is still listed.
    pub fn connection_of(&self, session: SessionId) -> Option<(&MemberView, &Connection)> {
        let all = self.members.iter().flat_map(|member| {
            let connections = member.connections_of(session).iter();
            connections.map(move |connection| (member, connection))
        });
        all.max_by_key(|(_, connection)| connection.established)
    }

    /// The session in the list of the leader or standalone server; in the newest, when a leader has just lost its place.
    pub fn session(&self, session: SessionId) -> Option<&ListedSession> {
        let listings = self.members.iter().filter_map(|member| member.sessions.as_ref());
        let found = listings.filter_map(|listing| Some((listing.at, listing.with_key(&session).first()?)));
        found.max_by_key(|(at, _)| *at).map(|(_, session)| session)
    }

    /// When a session expires unless its client is heard before, by our clock, and when the servers were asked for that; `None` where
    /// they did not say it for certain.
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

    /// Whether a session exists and is connected. Any answer counts that says it is connected, since that only makes a deletion less
    /// likely; for the contrary, only answers that can prove it count.
    ///
    /// The members are asked at different times, so a client on its way from one to another, or a new one, looks disconnected for a
    /// short time. Who builds on that waits until [`ServerView::connections_as_of`] has passed the time at which it was first seen
    /// so. A standalone server lists its connections after its sessions, so that there nobody looks disconnected who is not.
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
        // Two servers that both keep sessions are an old leader and its successor; only their agreement is worth something.
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

    /// Who watches a path by getData or exists; `None` when no server listed its watches. Watches on the path's children are never known.
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

    /// Whether any server listed who watches what.
    pub fn lists_watches(&self) -> bool {
        self.members.iter().any(|member| member.watched.is_some())
    }

    /// The paths below a node that somebody watches by getData or exists, with the server that holds the watches, as far as
    /// the servers listed them. Logarithmic in what was listed, and linear in what is found.
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

    /// When the server that holds a session's connection was asked who watches what; `None` unless it listed all, and held
    /// that connection then.
    pub fn watches_as_of(&self, session: SessionId) -> Option<Timestamp> {
        let (member, connection) = self.connection_of(session)?;
        let asked = member.watched.as_ref().filter(|watched| watched.whole)?.at;
        connection.established.is_some_and(|made| asked.since(made) > MAX_CLOCK_DIFFERENCE).then_some(asked)
    }

    /// Whether a session watches a path by getData or exists; `None` when that is not known. A session's watches are with
    /// the server that holds its connection, so that this server's answer is enough, if it was asked after the connection was made.
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
        // Its clock may differ from ours; a connection that is much older than the question was there when it was answered.
        let old = connection.established.is_some_and(|made| asked.since(made) > MAX_CLOCK_DIFFERENCE);
        (lists_path(member, path) && old).then_some(false)
    }
}

/// By how much a server's clock may be wrong before an old connection is taken for a new one, or the reverse.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

/// Whether a member's list of watches shows everybody who watches that path there. Java answers four-letter words in the encoding of its
/// environment, which may have no sign for what is beyond ASCII.
fn lists_path(member: &MemberView, path: &ZnodePath) -> bool {
    member.knows_watches() && (member.asked_by == AskedBy::Http || path.as_str().is_ascii())
}
