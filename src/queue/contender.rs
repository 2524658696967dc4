//! One contender, and its identity.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::hold::FoundHolding;
use crate::recipe::{Classification, RequestMode, Role};
use crate::znode::{Node, NodeData, Sequence, SessionId, Timestamp, Zxid};

/// Whether a contender has what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContenderState {
    /// It holds the lock.
    Holds,
    /// It waits for its turn.
    Waits,
    /// Not known: the table is not in step with the ensemble, or the tree does not show it (Curator's read under one's
    /// own write).
    Unknown,
}

impl ContenderState {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Waits => "waits",
            Self::Unknown => "unknown",
        }
    }
}

/// Since when a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldSince {
    /// Nobody holds it.
    Free,
    /// The acquisition was seen, at this time by this machine's clock.
    Since(Timestamp),
    /// It was held already when it was first seen: not longer than since then, when the holder's node was created,
    /// by the server's clock.
    AtMostSince(Timestamp),
}

/// The identity of a contender: the node by which it came, and the transaction that created that.
///
/// It stays the same for as long as the contender stands in its lock, also where its node changes: a semaphore's contender
/// comes by a node in the queue and holds by a lease. As text it is `NODE@CZXID`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContenderId {
    /// The node's name.
    pub node: Arc<str>,
    /// The transaction that created it.
    pub czxid: Zxid,
}

impl fmt::Display for ContenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.node, self.czxid)
    }
}

/// How a contender stood in the queue whose node was another then, or was not read yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Queued {
    pub id: ContenderId,
    enqueued_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl Queued {
    pub(super) fn new(id: ContenderId, enqueued_at: Option<Timestamp>, created_at: Timestamp) -> Self {
        Self { id, enqueued_at, created_at }
    }
}

/// How a holder held until a returned node stood before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct HeldBeforeReturn {
    /// As [`Contender::acquired_at`].
    pub acquired_at: Option<Timestamp>,
}

/// One node in a lock's queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contender {
    /// The node's name.
    pub node: Arc<str>,
    /// What the node is to its lock.
    pub role: Role,
    /// What it asks for.
    pub mode: RequestMode,
    /// Its number.
    pub sequence: Option<Sequence>,
    /// The session that owns the node; `None` for a node that no session's end deletes, and while it is not
    /// [read](Self::is_read).
    pub session: Option<SessionId>,
    /// When it was created, by the server's clock.
    pub created_at: Timestamp,
    /// The transaction that created it: its fencing token. Negative while it is not [read](Self::is_read).
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
    /// When it was seen to come, by this machine's clock; `None` when it was there already. A lease's owner came by its node in
    /// the queue.
    pub enqueued_at: Option<Timestamp>,
    /// Whether its node was read again after it had been deleted. The member that is read shows what the ensemble deleted, or is
    /// behind: what it says of this contender proves nothing.
    pub returned: bool,
    pub(super) epoch: u32,
    pub(super) holds: bool,
    /// For a holder before which a returned node stands now: that it held.
    pub(super) held_before_return: Option<Box<HeldBeforeReturn>>,
    /// For a lease: how its owner stood in the queue, where that was seen. For who was seen before it was read: as whom.
    pub(super) queued: Option<Box<Queued>>,
    /// For who held already when it was found: what is known of the time before.
    pub(super) found_holding: Option<Box<FoundHolding>>,
}

impl Contender {
    /// One whose node was just read, or whose creation was seen, during the reading of everything with the number `epoch`.
    pub(super) fn new(name: &str, place: &Classification, node: Node, epoch: u32) -> Self {
        let Node { stat, data } = node;
        Self {
            node: name.into(),
            role: place.role,
            mode: place.mode,
            sequence: place.sequence,
            session: stat.ephemeral_owner,
            created_at: stat.ctime,
            czxid: stat.czxid,
            mzxid: stat.mzxid,
            version: stat.version,
            data,
            data_length: stat.data_length,
            acquired_at: None,
            enqueued_at: None,
            returned: false,
            epoch,
            holds: false,
            held_before_return: None,
            queued: None,
            found_holding: None,
        }
    }

    /// Since when it holds, if it does.
    pub fn held(&self) -> HeldSince {
        match (self.holds, self.acquired_at) {
            (false, _) => HeldSince::Free,
            (true, Some(since)) => HeldSince::Since(since),
            (true, None) => HeldSince::AtMostSince(self.created_at),
        }
    }

    /// Its identity.
    pub fn id(&self) -> ContenderId {
        match &self.queued {
            Some(queued) => queued.id.clone(),
            None => ContenderId { node: Arc::clone(&self.node), czxid: self.czxid },
        }
    }

    /// How it stands in the queue, for its lease.
    pub(super) fn as_queued(&self) -> Queued {
        Queued::new(self.id(), self.enqueued_at, self.created_at)
    }

    /// This lease is that of the contender which stands or stood in the queue like this.
    pub(super) fn came_from(&mut self, queued: Queued) {
        self.enqueued_at = queued.enqueued_at;
        self.queued = Some(Box::new(queued));
    }

    /// Since when it contends, by this machine's clock: when it was seen to come, else when the server created its
    /// node (that in the queue, of a lease whose owner was seen there); `ahead_ms` is how far this clock is ahead ([`LockTable::clock_ahead_ms`](super::LockTable::clock_ahead_ms)).
    pub fn contends_since(&self, ahead_ms: i64) -> Timestamp {
        let (enqueued_at, created_at) = match &self.queued {
            Some(queued) => (queued.enqueued_at, queued.created_at),
            None => (self.enqueued_at, self.created_at),
        };
        enqueued_at.unwrap_or(Timestamp(created_at.0.saturating_add(ahead_ms)))
    }
}
