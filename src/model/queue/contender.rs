//! A contender of a lock, and its identity.

use std::fmt;
use std::num::NonZeroI64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::hold::{FoundHolding, Hold};
use super::optional::OptionalNumber;
use lockscope_base::recipe::{Classification, RequestMode, Role};
use lockscope_base::znode::{Node, NodeData, Sequence, SessionId, Timestamp, Zxid};

/// Whether a contender holds its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContenderState {
    /// The contender holds the lock.
    Holds,
    /// The contender waits for its turn.
    Waits,
    /// Unknown: the table is out of step with the ensemble, or the tree does not show it (Curator's
    /// read under its own write lock).
    Unknown,
}

impl ContenderState {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Waits => "waits",
            Self::Unknown => "unknown",
        }
    }
}

/// When a lock was acquired by its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldSince {
    /// The lock has no holder.
    Free,
    /// The acquisition was seen at this time, by this machine's clock.
    Since(Timestamp),
    /// The lock was already held when it was first seen. It has been held at most since this time,
    /// when the holder's node was created, by the server's clock.
    AtMostSince(Timestamp),
}

/// The identity of a contender: its first node, and the transaction that created that node.
///
/// The identity stays the same even when the contender's node changes: a semaphore's contender
/// arrives with a node in the queue and holds by a lease. As text it is `NODE@CZXID`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContenderId {
    /// The node's name.
    pub node: Arc<str>,
    /// The transaction that created the node.
    pub czxid: Zxid,
}

impl fmt::Display for ContenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.node, self.czxid)
    }
}

/// A contender's earlier place in the queue: before its lease, or before its node was read.
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

/// Fields that few contenders have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rare {
    queued: Option<Queued>,
    /// The transaction that last changed the data; `None` while that is the one that created the
    /// node.
    changed_by: Option<Zxid>,
}

/// One node in a lock's queue. A table has very many of them, so rare fields are boxed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contender {
    /// The node's name.
    pub node: Arc<str>,
    /// The role of the node in its lock.
    pub role: Role,
    /// The access that the contender asks for.
    pub mode: RequestMode,
    /// The sequence number in the node's name.
    pub sequence: Option<Sequence>,
    /// The owning session; `None` without one, which servers write as 0.
    session: Option<NonZeroI64>,
    /// When the node was created, by the server's clock.
    pub created_at: Timestamp,
    /// The transaction that created the node: the fencing token. Negative until the node is
    /// [read](Self::is_read).
    pub czxid: Zxid,
    /// How often the node's data was changed.
    pub version: i32,
    /// The beginning of the node's data.
    pub data: NodeData,
    /// The length of the node's whole data, in bytes.
    pub data_length: i32,
    enqueued_at: OptionalNumber,
    /// Whether the node was read again after its deletion.
    ///
    /// The member that was read shows a node that the ensemble deleted, or lags. Its data about
    /// this contender proves nothing.
    pub returned: bool,
    pub(super) epoch: u32,
    pub(super) hold: Hold,
    /// Whether a returned node stands before this contender. It does not count as a holder until
    /// that node is gone.
    pub(super) displaced: bool,
    rare: Option<Box<Rare>>,
}

impl Contender {
    /// Creates a contender whose node was just read, or whose creation was seen, in the reading
    /// number `epoch`.
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

    /// Takes over everything that a read returned for the node.
    pub(super) fn take_node(&mut self, node: Node) {
        self.session = node.stat.ephemeral_owner.and_then(|owner| NonZeroI64::new(owner.0));
        self.created_at = node.stat.ctime;
        self.czxid = node.stat.czxid;
        self.take_data(node);
    }

    /// Takes over the data and the stat fields about it from a read.
    pub(super) fn take_data(&mut self, Node { stat, data }: Node) {
        let changed_by = Some(stat.mzxid).filter(|mzxid| *mzxid != self.czxid);
        if changed_by.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().changed_by = changed_by;
        }
        self.version = stat.version;
        self.data = data;
        self.data_length = stat.data_length;
    }

    /// Returns the session that owns the node; `None` for a node that does not end with a session,
    /// and until the node is [read](Self::is_read).
    pub fn session(&self) -> Option<SessionId> {
        self.session.map(|session| SessionId(session.get()))
    }

    /// Returns the transaction that last changed the node's data.
    pub fn mzxid(&self) -> Zxid {
        self.rare.as_ref().and_then(|rare| rare.changed_by).unwrap_or(self.czxid)
    }

    /// Returns when the contender's arrival was seen, by this machine's clock; `None` when it was
    /// there from the start.
    ///
    /// The owner of a lease arrived with its node in the queue.
    pub fn enqueued_at(&self) -> Option<Timestamp> {
        self.enqueued_at.get().map(Timestamp)
    }

    pub(super) fn set_enqueued_at(&mut self, at: Option<Timestamp>) {
        self.enqueued_at = at.map(|at| at.0).into();
    }

    /// Returns when the contender was seen to acquire, by this machine's clock; `None` for a
    /// waiter, and for a holder that already held when it was first seen.
    pub fn acquired_at(&self) -> Option<Timestamp> {
        match self.hold {
            Hold::Acquired(at) if !self.displaced => Some(at),
            _ => None,
        }
    }

    /// Returns what is known about a hold that began before the contender was first seen.
    pub(super) fn found_holding(&self) -> Option<FoundHolding> {
        self.hold.found()
    }

    pub(super) fn holds(&self) -> bool {
        self.hold.is_held() && !self.displaced
    }

    /// Returns since when the contender holds.
    pub fn held(&self) -> HeldSince {
        match self.acquired_at() {
            Some(since) => HeldSince::Since(since),
            None if self.holds() => HeldSince::AtMostSince(self.created_at),
            None => HeldSince::Free,
        }
    }

    /// Returns the contender's identity.
    pub fn id(&self) -> ContenderId {
        match self.queued() {
            Some(queued) => queued.id.clone(),
            None => ContenderId { node: Arc::clone(&self.node), czxid: self.czxid },
        }
    }

    /// Returns the earlier place in the queue: that of a lease's owner, where it was seen, or that
    /// of a contender before its node was read.
    pub(super) fn queued(&self) -> Option<&Queued> {
        self.rare.as_ref()?.queued.as_ref()
    }

    pub(super) fn set_queued(&mut self, queued: Option<Queued>) {
        if queued.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().queued = queued;
        }
    }

    /// Returns the current place in the queue, to keep for the lease.
    pub(super) fn as_queued(&self) -> Queued {
        Queued::new(self.id(), self.enqueued_at(), self.created_at)
    }

    /// Marks this lease as that of the contender with the given place in the queue.
    pub(super) fn came_from(&mut self, queued: Queued) {
        self.set_enqueued_at(queued.enqueued_at);
        self.set_queued(Some(queued));
    }

    /// Returns since when the contender contends, by this machine's clock.
    ///
    /// This is when its arrival was seen, otherwise when the server created its node. For a lease
    /// it is the node in the queue, if that was seen. `ahead_ms` is how far this clock is ahead
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
    fn a_contender_stays_small() {
        assert!(size_of::<Contender>() <= 128, "{} bytes", size_of::<Contender>());
    }
}
