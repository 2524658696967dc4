//! What one test client has done, and how it stands. Pure: time is an argument, counted from the fleet's start.

use std::time::Duration;

use super::time_distribution::TimeDistribution;
use super::wire_state::WireState;
use super::{ClientState, Quantiles};
use lockscope_base::znode::{SessionId, Zxid};
use lockscope_lock::{Access, LockActivity};

/// How the process of a client fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Runs,
    /// It is stopped, and goes on later.
    Frozen,
    /// It was killed.
    Dead,
}

/// One client's figures.
#[derive(Debug)]
pub(super) struct ClientStats {
    pub(super) state: ClientState,
    pub(super) since: Duration,
    pub(super) process: Process,
    pub(super) session: Option<SessionId>,
    pub(super) expired: u32,
    pub(super) token: Option<Zxid>,
    pub(super) acquisitions: u64,
    pub(super) held: Duration,
    pub(super) trouble: Option<String>,
    pub(super) waits: TimeDistribution,
    pub(super) holds: TimeDistribution,
    pub(super) access: Access,
    /// Whether it found somebody before it when it asked.
    pub(super) is_behind: bool,
    pub(super) wire: WireState,
    /// What its locks did while its process was stopped: nothing of it passes the link before the process goes on.
    pub(super) put_off: Vec<LockActivity>,
}

impl ClientStats {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            state: ClientState::Connecting,
            since: now,
            process: Process::Runs,
            session: None,
            expired: 0,
            token: None,
            acquisitions: 0,
            held: Duration::ZERO,
            trouble: None,
            waits: TimeDistribution::new(),
            holds: TimeDistribution::new(),
            access: Access::Write,
            is_behind: false,
            wire: WireState::default(),
            put_off: Vec::new(),
        }
    }

    pub(super) fn enters(&mut self, state: ClientState, now: Duration) {
        (self.state, self.since) = (state, now);
    }

    /// How long it waited, and how long it held.
    pub(super) fn times(&mut self) -> (Quantiles, Quantiles) {
        (self.waits.quantiles(), self.holds.quantiles())
    }
}
