//! One contender, and its identity.

use std::fmt;
use std::num::NonZeroI64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::hold::{FoundHolding, Hold};
use super::optional::OptionalNumber;
use lockscope_base::recipe::{Classification, RequestMode, Role};
use lockscope_base::znode::{Node, NodeData, Sequence, SessionId, Timestamp, Zxid};

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

/// What is kept of few contenders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rare {
    queued: Option<Queued>,
    /// The transaction that last changed its data, where that is not the one that created it.
    changed_by: Option<Zxid>,
}

/// One node in a lock's queue. There are very many: what most do not have lies apart.
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
    /// Servers write 0 where no session owns a node.
    session: Option<NonZeroI64>,
    /// When it was created, by the server's clock.
    pub created_at: Timestamp,
    /// The transaction that created it: its fencing token. Negative while it is not [read](Self::is_read).
    pub czxid: Zxid,
    /// How often its data was changed.
    pub version: i32,
    /// The beginning of its data.
    pub data: NodeData,
    /// All of its data, in bytes.
    pub data_length: i32,
    enqueued_at: OptionalNumber,
    /// Whether its node was read again after it had been deleted. The member that is read shows what the ensemble deleted, or is
    /// behind: what it says of this contender proves nothing.
    pub returned: bool,
    pub(super) epoch: u32,
    pub(super) hold: Hold,
    /// Whether a returned node stands before it now, so that it does not count as a holder until that is gone.
    pub(super) displaced: bool,
    rare: Option<Box<Rare>>,
}

impl Contender {
    /// One whose node was just read, or whose creation was seen, during the reading of everything with the number `epoch`.
    pub(super) fn new(name: &str, place: &Classification, node: Node, epoch: u32) -> Self {
        let mut contender = Self {
            node: name.into(),
            role: place.role,
            mode: place.mode,
            sequence: place.sequence,
            session: None,
            created_at: node.stat.ctime,
            czxid: node.stat.czxid,
            version: 0,
            data: NodeData::default(),
            data_length: 0,
            enqueued_at: OptionalNumber::default(),
            returned: false,
            epoch,
            hold: Hold::No,
            displaced: false,
            rare: None,
        };
        contender.take_node(node);
        contender
    }

    /// Takes in all that a read says of its node.
    pub(super) fn take_node(&mut self, node: Node) {
        self.session = node.stat.ephemeral_owner.and_then(|owner| NonZeroI64::new(owner.0));
        self.created_at = node.stat.ctime;
        self.czxid = node.stat.czxid;
        self.take_data(node);
    }

    /// Takes in what a read says of its node's data.
    pub(super) fn take_data(&mut self, Node { stat, data }: Node) {
        let changed_by = Some(stat.mzxid).filter(|mzxid| *mzxid != self.czxid);
        if changed_by.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().changed_by = changed_by;
        }
        self.version = stat.version;
        self.data = data;
        self.data_length = stat.data_length;
    }

    /// The session that owns the node; `None` for a node that no session's end deletes, and while it is not
    /// [read](Self::is_read).
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|session| SessionId(session.get()))
    }

    /// The transaction that last changed its data.
    pub fn mzxid(&self) -> Zxid {
        self.rare.as_ref().and_then(|rare| rare.changed_by).unwrap_or(self.czxid)
    }

    /// When it was seen to come, by this machine's clock; `None` when it was there already. A lease's owner came by its node in
    /// the queue.
    pub fn enqueued_at(&self) -> Option<Timestamp> {
        self.enqueued_at.get().map(Timestamp)
    }

    pub(super) fn set_enqueued_at(&mut self, at: Option<Timestamp>) {
        self.enqueued_at = at.map(|at| at.0).into();
    }

    /// When it was seen to become a holder, by this machine's clock; `None` for a waiter, and for a holder that held
    /// already when it was first seen.
    pub fn acquired_at(&self) -> Option<Timestamp> {
        match self.hold {
            Hold::Acquired(at) if !self.displaced => Some(at),
            _ => None,
        }
    }

    /// For who held already when it was found: what is known of the time before.
    pub(super) fn found_holding(&self) -> Option<FoundHolding> {
        match self.hold {
            Hold::Found(found) => Some(found),
            _ => None,
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.hold != Hold::No && !self.displaced
    }

    /// Since when it holds, if it does.
    pub fn held(&self) -> HeldSince {
        match self.acquired_at() {
            Some(since) => HeldSince::Since(since),
            None if self.holds() => HeldSince::AtMostSince(self.created_at),
            None => HeldSince::Free,
        }
    }

    /// Its identity.
    pub fn id(&self) -> ContenderId {
        match self.queued() {
            Some(queued) => queued.id.clone(),
            None => ContenderId { node: Arc::clone(&self.node), czxid: self.czxid },
        }
    }

    /// For a lease: how its owner stood in the queue, where that was seen. For who was seen before it was read: as whom.
    pub(super) fn queued(&self) -> Option<&Queued> {
        self.rare.as_ref()?.queued.as_ref()
    }

    pub(super) fn set_queued(&mut self, queued: Option<Queued>) {
        if queued.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().queued = queued;
        }
    }

    /// How it stands in the queue, for its lease.
    pub(super) fn as_queued(&self) -> Queued {
        Queued::new(self.id(), self.enqueued_at(), self.created_at)
    }

    /// This lease is that of the contender which stands or stood in the queue like this.
    pub(super) fn came_from(&mut self, queued: Queued) {
        self.set_enqueued_at(queued.enqueued_at);
        self.set_queued(Some(queued));
    }

    /// Since when it contends, by this machine's clock: when it was seen to come, else when the server created its node (that in
    /// the queue, of a lease whose owner was seen there); `ahead_ms` is how far this clock is ahead
    /// ([`LockTable::clock_ahead_ms`](super::LockTable::clock_ahead_ms)).
    pub fn contends_since(&self, ahead_ms: i64) -> Timestamp {
        let (enqueued_at, created_at) = match self.queued() {
            Some(queued) => (queued.enqueued_at, queued.created_at),
            None => (self.enqueued_at(), self.created_at),
        };
        enqueued_at.unwrap_or(Timestamp(created_at.0.saturating_add(ahead_ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small() {
        assert!(size_of::<Contender>() <= 128, "{} bytes", size_of::<Contender>());
    }
}
