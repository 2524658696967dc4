//! The figures and the state of one test client. Pure: time is an argument, counted from the
//! fleet's start.

use std::time::Duration;

use super::time_distribution::TimeDistribution;
use super::wire_state::WireState;
use super::{ClientState, Quantiles};
use lockscope_base::znode::{SessionId, Zxid};
use lockscope_lock::{Access, LockActivity};

/// The state of a client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Runs,
    /// The process is stopped and may be resumed.
    Frozen,
    /// The process was killed.
    Dead,
}

/// The figures of one client.
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
    /// Whether the client had to wait behind others when it asked.
    pub(super) is_behind: bool,
    pub(super) wire: WireState,
    /// The activity of the client's locks while its process was stopped. Nothing of it passes the
    /// link until the process goes on.
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

    /// Returns the distributions of the waits and of the holds.
    pub(super) fn times(&mut self) -> (Quantiles, Quantiles) {
        (self.waits.quantiles(), self.holds.quantiles())
    }
}
