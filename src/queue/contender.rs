use std::sync::Arc;

use super::Held;
use crate::recipe::{Mode, Role};
use crate::znode::{NodeData, Sequence, SessionId, Timestamp, Zxid};

/// Whether a contender has what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It holds the lock.
    Holds,
    /// It waits for its turn.
    Waits,
    /// Not known: the table is not in step with the ensemble, or the tree does not tell (Curator's read under one's
    /// own write).
    Unknown,
}

impl State {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Waits => "waits",
            Self::Unknown => "unknown",
        }
    }
}

/// One node in a lock's queue.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The node's name.
    pub node: Arc<str>,
    /// What the node is to its lock.
    pub role: Role,
    /// What it asks for.
    pub mode: Mode,
    /// Its number.
    pub sequence: Option<Sequence>,
    /// The session that owns the node; `None` for a node that no session's end deletes.
    pub session: Option<SessionId>,
    /// When it was created, by the server's clock.
    pub created_at: Timestamp,
    /// The transaction that created it: its fencing token.
    pub czxid: Zxid,
    /// The transaction that last changed its data.
    pub mzxid: Zxid,
    /// How often its data was changed.
    pub version: i32,
    /// The beginning of its data.
    pub data: NodeData,
    /// All of its data, in bytes.
    pub data_length: i32,
    /// When it was seen to become a holder, by this machine's clock; `None` for a waiter, and for a holder that held
    /// already when it was first seen.
    pub acquired_at: Option<Timestamp>,
    /// When it was seen to come, by this machine's clock; `None` when it was there already.
    pub enqueued_at: Option<Timestamp>,
    pub(super) epoch: u32,
    pub(super) holds: bool,
}

impl Contender {
    /// Since when it holds, if it does.
    pub fn held(&self) -> Held {
        match (self.holds, self.acquired_at) {
            (false, _) => Held::Free,
            (true, Some(since)) => Held::Since(since),
            (true, None) => Held::AtMostSince(self.created_at),
        }
    }

    /// Since when it contends, by this machine's clock: when it was seen to come, else when the server created its
    /// node; `ahead_ms` is how far this clock is ahead ([`LockTable::clock_ahead_ms`](super::LockTable::clock_ahead_ms)).
    pub fn contends_since(&self, ahead_ms: i64) -> Timestamp {
        self.enqueued_at.unwrap_or(Timestamp(self.created_at.0.saturating_add(ahead_ms)))
    }
}
