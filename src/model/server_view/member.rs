//! What one member says about itself.

use serde::{Deserialize, Serialize};

use super::{
    Connection, ListedSession, Listing, Provenance, SessionTiming, SyncSettings, WatchEventTotals, WatchTotals,
    WatchedPath,
};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// What a server is within its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerMode {
    /// It orders the writes, and knows when sessions expire.
    Leader,
    /// It votes.
    Follower,
    /// It serves reads and does not vote.
    Observer,
    /// It is alone, and knows when sessions expire.
    Standalone,
    /// It is cut off from the majority and serves reads only.
    ReadOnly,
}

impl ServerMode {
    /// From the servers' own word for it.
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

    /// The servers' own word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Observer => "observer",
            Self::Standalone => "standalone",
            Self::ReadOnly => "read-only",
        }
    }

    /// Whether such a server keeps the times at which the ensemble's sessions expire.
    pub fn keeps_sessions(self) -> bool {
        matches!(self, Self::Leader | Self::Standalone)
    }
}

/// How a server was asked about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedBy {
    /// By four-letter words.
    Words,
    /// By AdminServer.
    Http,
    /// It answered nothing, or was not asked yet.
    #[default]
    None,
}

/// How far a server is with the ensemble's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberProgress {
    /// When it was asked, by our clock.
    pub asked_at: Timestamp,
    /// The last transaction that it had taken in then; `None` when it said that it has no leader.
    pub zxid: Option<Zxid>,
}

/// What one server answered about itself. What it did not answer is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// `HOST:PORT` for clients, or how the ensemble's config calls it where that does not say.
    pub address: String,
    /// What it is.
    pub mode: Option<ServerMode>,
    /// Its version, as it writes it.
    pub version: Option<String>,
    /// How it was asked.
    pub asked_by: AskedBy,
    /// What its answers are worth.
    #[serde(default)]
    pub provenance: Provenance,
    /// One sentence with what is wrong and what to change there; `None` when it answered everything.
    pub error: Option<String>,
    /// When it last answered anything, by our clock.
    pub answered_at: Option<Timestamp>,
    /// Its connections with sessions.
    pub connections: Option<Listing<Connection>>,
    /// All sessions of the ensemble, if it keeps them.
    pub sessions: Option<Listing<ListedSession>>,
    /// What makes the times of its sessions certain. A recording has it apart, since older ones have no place for it here.
    #[serde(skip)]
    pub timing: SessionTiming,
    /// Who watches what on it by getData or exists, within our chroot. Older than the rest, since asking for it costs the server much.
    pub watched: Option<Listing<WatchedPath>>,
    /// When it was asked for the figures that follow, by our clock: less often than for the rest.
    pub counted_at: Option<Timestamp>,
    /// How many data and exists watches it holds, in all.
    pub watch_totals: Option<WatchTotals>,
    /// How many watches of all kinds it holds, in all.
    pub watch_count: Option<u64>,
    /// The watch events that it sent since it started.
    pub fired: Option<WatchEventTotals>,
    /// How long it goes on without its leader. `None` for a standalone server, and where `conf` is not answered.
    /// Recordings leave it out: only a hint depends on it, and the format has no room for another field.
    #[serde(skip)]
    pub sync_settings: Option<SyncSettings>,
    /// How far it was with the ensemble's transactions; `None` where it did not say so. Recordings
    /// have what follows from it: that the recorder's own member lags.
    #[serde(skip)]
    pub progress: Option<MemberProgress>,
}

impl MemberView {
    /// A server that was not asked yet.
    pub fn unasked(address: String) -> Self {
        Self { address, ..Self::default() }
    }

    /// How many watches it holds on the children of nodes: those of herd waiters. The servers do not count them: they are what
    /// is left of all watches without the data and exists watches.
    ///
    /// Before 3.9.0, each persistent recursive watch counts here too, that of a console with its observer included.
    pub fn child_watches(&self) -> Option<u64> {
        self.watch_count?.checked_sub(self.watch_totals?.watches)
    }

    /// Whether its count of watches on children holds each persistent recursive watch too: before 3.9.0.
    pub fn counts_recursive_watches(&self) -> bool {
        let mut numbers = self.version.as_deref().unwrap_or_default().split(['.', '-']).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (3, 9),
            _ => false,
        }
    }

    /// Its connections with that session; usually none or one.
    pub fn connections_of(&self, session: SessionId) -> &[Connection] {
        self.connections.as_ref().map_or(&[], |connections| connections.with_key(&session))
    }

    /// Whether it listed all of its connections.
    pub fn knows_connections(&self) -> bool {
        self.connections.as_ref().is_some_and(|connections| connections.whole)
    }

    /// Whether it listed everybody's data and exists watches.
    pub fn knows_watches(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.whole)
    }
}
