//! What one member reports about itself, and what its answers can prove.

use serde::{Deserialize, Serialize};

use super::{
    Connection, Ephemerals, Health, ListedSession, Listing, SessionTiming, SyncSettings, WatchEventTotals, WatchTotals,
    WatchedPath,
};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

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

/// How far a server is with the ensemble's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberProgress {
    /// When the server was asked, by our clock.
    pub asked_at: Timestamp,
    /// The last transaction that the server had processed; `None` when it reported that it has no
    /// leader.
    pub zxid: Option<Zxid>,
}

/// Further facts about a server. Recordings store them apart from its view, because older ones have
/// no place for them there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberExtras {
    /// How far the server was with the ensemble's transactions; `None` if it did not report that.
    pub progress: Option<MemberProgress>,
    /// Why the server did not answer the last round of questions; `None` if it did.
    pub absence: Option<Absence>,
    /// How long the server continues without its leader. `None` for a standalone server, and where
    /// `conf` is not answered.
    pub sync_settings: Option<SyncSettings>,
    /// How many sessions the server expired since it started, asked after it listed the sessions;
    /// `None` if it was not asked in the last round. Only the server that keeps the sessions counts
    /// them, from ZooKeeper 3.6 on ([`EndLedger`](super::EndLedger)).
    pub expired_sessions: Option<u64>,
    /// How often the server took part in an election of the ensemble's leader.
    pub elections: Option<u64>,
    /// The 99th percentile of the time of a write, or of its acknowledgement by a majority,
    /// whichever is longer.
    pub write_p99_ms: Option<u32>,
}

impl MemberExtras {
    /// Takes over the server's own figures.
    pub fn set_figures(&mut self, health: &Health, sync_settings: Option<SyncSettings>) {
        let slowest = health.write_p99.max(health.proposal_p99);
        *self = Self {
            sync_settings,
            expired_sessions: health.expired_sessions,
            elections: health.elections,
            write_p99_ms: slowest.map(|time| u32::try_from(time.as_millis()).unwrap_or(u32::MAX)),
            ..*self
        };
    }
}

/// A round of questions that a server did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// When the round began, by our clock.
    pub asked_at: Timestamp,
    /// Why there was no answer.
    pub why: AbsenceReason,
}

/// Why a server did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbsenceReason {
    /// No process listens at its address.
    Refused,
    /// No answer arrived in time.
    Silent,
    /// It answered that it serves no clients, for lack of a leader.
    Leaderless,
    /// It could not be asked, or its answer was of no use: this tells nothing about the ensemble.
    NotAsked,
}

/// What recordings store beside a view of the servers, since format 6.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewExtras {
    /// The number of members that vote.
    pub voters: Option<u16>,
    /// The facts about each member, in the order of the view.
    pub members: Vec<MemberExtras>,
}

/// How data travels between a server and us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireSecurity {
    /// Unencrypted: anyone on the network path can read and change it.
    Plain,
    /// Encrypted, from a server whose certificate was checked.
    Tls,
}

/// What a server's answers about itself can prove, depending on how they were transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// The answers are as trustworthy as our session with the ensemble: both over TLS, or the
    /// session in plain text.
    #[default]
    AsSession,
    /// The answers arrived in plain text while our session uses TLS. Anyone on the network path can
    /// have forged them, so they prove nothing.
    PlainBesideTls,
}

impl Provenance {
    /// Returns the provenance of answers, given the transports of the answers and of our session.
    pub fn of(answers: WireSecurity, session: WireSecurity) -> Self {
        match (answers, session) {
            (WireSecurity::Plain, WireSecurity::Tls) => Self::PlainBesideTls,
            _ => Self::AsSession,
        }
    }

    /// Returns whether such answers can prove anything.
    pub fn can_prove(self) -> bool {
        self == Self::AsSession
    }
}
