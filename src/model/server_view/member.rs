//! What one member reports about itself.

use serde::{Deserialize, Serialize};

use super::{
    Connection, Ephemerals, Health, ListedSession, Listing, MemberExtras, Provenance, SessionTiming, WatchEventTotals,
    WatchTotals, WatchedPath,
};
use lockscope_base::znode::{SessionId, Timestamp};

/// The role of a server in its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerMode {
    /// Orders the writes and expires the sessions.
    Leader,
    /// Votes.
    Follower,
    /// Serves reads and does not vote.
    Observer,
    /// Is the only server, and expires the sessions.
    Standalone,
    /// Is cut off from the majority, and serves only reads.
    ReadOnly,
}

impl ServerMode {
    /// Returns the mode with the servers' own name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "leader" => Some(Self::Leader),
            "follower" => Some(Self::Follower),
            "observer" => Some(Self::Observer),
            "standalone" => Some(Self::Standalone),
            "read-only" => Some(Self::ReadOnly),
            _ => None,
        }
    }

    /// Returns the servers' own name for the mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Observer => "observer",
            Self::Standalone => "standalone",
            Self::ReadOnly => "read-only",
        }
    }

    /// Returns whether such a server knows when the ensemble's sessions expire.
    pub fn keeps_sessions(self) -> bool {
        matches!(self, Self::Leader | Self::Standalone)
    }
}

/// The interface by which a server was asked about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedBy {
    /// Four-letter words.
    Words,
    /// AdminServer.
    Http,
    /// None: the server did not answer, or was not asked yet.
    #[default]
    None,
}

/// What one server reports about itself. Missing answers are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The server's address for clients, `HOST:PORT`, or its name in the ensemble's config where
    /// that has no client address.
    pub address: String,
    /// The server's role.
    pub mode: Option<ServerMode>,
    /// The server's version, in its own words.
    pub version: Option<String>,
    /// The interface by which the server was asked.
    pub asked_by: AskedBy,
    /// What the server's answers can prove.
    #[serde(default)]
    pub provenance: Provenance,
    /// A sentence that tells what is wrong and what to change on the server; `None` when it
    /// answered everything.
    pub error: Option<String>,
    /// When the server last answered any question, by our clock.
    pub answered_at: Option<Timestamp>,
    /// The server's connections with a session.
    pub connections: Option<Listing<Connection>>,
    /// All sessions of the ensemble, if the server knows them.
    pub sessions: Option<Listing<ListedSession>>,
    /// The evidence that makes expiry times certain. Recordings store it apart, because older ones
    /// have no place for it here.
    #[serde(skip)]
    pub timing: SessionTiming,
    /// The watches by getData or exists on the server, within our chroot. Older than the other
    /// answers, because this question costs the server much.
    pub watched: Option<Listing<WatchedPath>>,
    /// When the server was asked for the following counts, by our clock. They are requested less
    /// often.
    pub counted_at: Option<Timestamp>,
    /// The total number of data and exists watches on the server.
    pub watch_totals: Option<WatchTotals>,
    /// The total number of watches of all kinds on the server.
    pub watch_count: Option<u64>,
    /// The number of watch events that the server sent since it started.
    pub fired: Option<WatchEventTotals>,
    /// Further facts. Recordings store them apart, because older ones have no place for them here.
    #[serde(skip)]
    pub extras: MemberExtras,
    /// The number of rounds in a row in which the server was found not to serve clients: it has no
    /// majority, or it is silent. Silence counts only for a server that the user named or that
    /// answered before, because another one may be out of reach from here. `None` in a recording.
    #[serde(skip)]
    pub rounds_out: Option<u32>,
    /// How the server is doing; `None` if it was not asked. Recordings leave this out.
    #[serde(skip)]
    pub health: Option<Health>,
    /// The ephemeral nodes of all sessions, if the server was asked for its sessions. Recordings
    /// leave this out, because it would be most of them.
    #[serde(skip)]
    pub ephemerals: Option<Ephemerals>,
}

impl MemberView {
    /// Creates the view of a server that was not asked yet.
    pub fn unasked(address: String) -> Self {
        Self { address, ..Self::default() }
    }

    /// Returns whether the server answers at all, be it that it serves no clients now. Servers answer
    /// only the words of their whitelist, by default `srvr`.
    pub fn answers(&self) -> bool {
        self.mode.is_some() || self.extras.progress.is_some()
    }

    /// Returns the number of watches on children, those of herd waiters.
    ///
    /// Servers do not report this number: it is the number of all watches minus the data and exists
    /// watches. Before 3.9.0 it includes each persistent recursive watch, such as that of a
    /// console's observer.
    pub fn child_watches(&self) -> Option<u64> {
        self.watch_count?.checked_sub(self.watch_totals?.watches)
    }

    /// Returns whether [`child_watches`](Self::child_watches) includes persistent recursive
    /// watches, as it does before 3.9.0.
    pub fn counts_recursive_watches(&self) -> bool {
        let mut numbers = self.version.as_deref().unwrap_or_default().split(['.', '-']).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (3, 9),
            _ => false,
        }
    }

    /// Returns the server's connections with this session, usually none or one.
    pub fn connections_of(&self, session: SessionId) -> &[Connection] {
        self.connections.as_ref().map_or(&[], |connections| connections.with_key(&session))
    }

    /// Returns whether the server listed all its connections.
    pub fn knows_connections(&self) -> bool {
        self.connections.as_ref().is_some_and(|connections| connections.whole)
    }

    /// Returns whether the server listed all its data and exists watches.
    pub fn knows_watches(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.whole)
    }
}
