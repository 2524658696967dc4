//! What a server reports about itself that recordings store beside its view.

use serde::{Deserialize, Serialize};

use super::{Health, SyncSettings};
use lockscope_base::znode::{Timestamp, Zxid};

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
