//! A contender of a lock, its identity, and the memory of contenders whose nodes were deleted.
//!
//! A node that is read again is looked up in [`DeletedNodes`]: it may be one that a member shows
//! after its deletion.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroI64;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize, Serializer};

use super::compact::OptionalNumber;
use super::hold::{FoundHolding, Hold};
use lockscope_base::recipe::{Classification, RequestMode, Role};
use lockscope_base::znode::{Node, NodeData, Sequence, SessionId, Timestamp, ZnodePath, Zxid};

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
    /// ([`Clock::ahead_ms`](super::Clock::ahead_ms)).
    pub fn contends_since(&self, ahead_ms: i64) -> Timestamp {
        let (enqueued_at, created_at) = match self.queued() {
            Some(queued) => (queued.enqueued_at, queued.created_at),
            None => (self.enqueued_at(), self.created_at),
        };
        enqueued_at.unwrap_or(Timestamp(created_at.0.saturating_add(ahead_ms)))
    }
}

/// Maximum number of deleted contenders in memory. The oldest is forgotten first; if a member shows
/// its node again, the node looks new.
pub const MAX_DELETED: usize = 10_000;

/// Identifies a node by the transaction that created it and a checksum of its path.
///
/// Only nodes that one transaction created together need the checksum. Whole paths would take most
/// of the memory, and most of a recording's keyframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct NodeKey(Zxid, PathChecksum);

/// Stored as bytes: a 32-bit number would take five bytes of a file.
type PathChecksum = [u8; 4];

/// A contender whose node was deleted.
#[derive(Clone, Debug)]
pub(super) struct DeletedNode {
    number: u64,
    /// The number of the last complete reading that had begun when the deletion became known.
    pub epoch: u32,
    pub created_at: Timestamp,
    pub session: Option<SessionId>,
    pub enqueued_at: Option<Timestamp>,
    pub queued: Option<Box<Queued>>,
}

/// The last deleted contenders, at most [`MAX_DELETED`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "ContenderColumns")]
pub(super) struct DeletedNodes {
    /// A tree instead of a hash map: with one removal per insertion, a hash map would grow to twice
    /// the needed size.
    nodes: BTreeMap<NodeKey, DeletedNode>,
    oldest_first: BTreeMap<u64, NodeKey>,
    next: u64,
}

impl DeletedNodes {
    /// Remembers a contender whose node was deleted. `epoch` numbers the last complete reading that
    /// had begun by then.
    pub fn insert(&mut self, path: &ZnodePath, contender: &Contender, epoch: u32) {
        let node = DeletedNode {
            number: self.next,
            epoch,
            created_at: contender.created_at,
            session: contender.session(),
            enqueued_at: contender.enqueued_at(),
            queued: contender.queued().cloned().map(Box::new),
        };
        self.insert_last(NodeKey(contender.czxid, checksum(path)), node);
    }

    fn insert_last(&mut self, key: NodeKey, node: DeletedNode) {
        let number = node.number;
        self.next = number + 1;
        if let Some(before) = self.nodes.insert(key, node) {
            self.oldest_first.remove(&before.number);
        }
        self.oldest_first.insert(number, key);
        while self.nodes.len() > MAX_DELETED {
            let Some((_, oldest)) = self.oldest_first.pop_first() else { return };
            self.nodes.remove(&oldest);
        }
    }

    /// Keeps only the nodes whose creating transaction satisfies `stays`.
    pub fn retain(&mut self, stays: impl Fn(Zxid) -> bool) {
        self.nodes.retain(|key, _| stays(key.0));
        self.oldest_first.retain(|_, key| stays(key.0));
    }

    /// Removes and returns what is remembered of a node; `None` when no deletion of it is
    /// remembered.
    pub fn remove(&mut self, path: &ZnodePath, czxid: Zxid) -> Option<DeletedNode> {
        if self.nodes.is_empty() {
            return None;
        }
        let node = self.nodes.remove(&NodeKey(czxid, checksum(path)))?;
        self.oldest_first.remove(&node.number);
        Some(node)
    }
}

/// Returns the FNV-1a hash. Recordings contain it, so it must not change.
fn checksum(path: &ZnodePath) -> PathChecksum {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    path.as_str().bytes().fold(0x811c_9dc5, fold).to_le_bytes()
}

/// The deleted contenders in a recording, oldest first.
///
/// The data is stored by column. Rising values are stored as differences to the one before: they
/// compress to a fraction.
#[derive(Default, Serialize, Deserialize)]
struct ContenderColumns {
    checksums: Vec<PathChecksum>,
    czxids: Vec<i64>,
    epochs: Vec<u32>,
    created_at: Vec<i64>,
    /// Indexes into `all_sessions`.
    sessions: Vec<u32>,
    all_sessions: Vec<Option<SessionId>>,
    /// Differences to the node's creation time.
    enqueued_at: Vec<Option<i64>>,
    queued: Vec<Option<Box<Queued>>>,
}

impl Serialize for DeletedNodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ContenderColumns::from(self).serialize(serializer)
    }
}

impl From<&DeletedNodes> for ContenderColumns {
    fn from(deleted: &DeletedNodes) -> Self {
        let mut columns = Self::default();
        let mut numbers = FxHashMap::default();
        let mut last = (0, 0);
        for key in deleted.oldest_first.values() {
            let Some(node) = deleted.nodes.get(key) else { continue };
            let (czxid, created_at) = (key.0.0, node.created_at.0);
            columns.checksums.push(key.1);
            columns.czxids.push(czxid.wrapping_sub(last.0));
            columns.created_at.push(created_at.wrapping_sub(last.1));
            last = (czxid, created_at);
            columns.epochs.push(node.epoch);
            let number = *numbers.entry(node.session).or_insert_with(|| {
                columns.all_sessions.push(node.session);
                u32::try_from(columns.all_sessions.len() - 1).unwrap_or(u32::MAX)
            });
            columns.sessions.push(number);
            columns.enqueued_at.push(node.enqueued_at.map(|at| at.0.wrapping_sub(created_at)));
            columns.queued.push(node.queued.clone());
        }
        columns
    }
}

impl From<ContenderColumns> for DeletedNodes {
    fn from(columns: ContenderColumns) -> Self {
        let mut deleted = Self::default();
        let ContenderColumns { checksums, czxids, epochs, created_at, sessions, all_sessions, enqueued_at, queued } =
            columns;
        let times = created_at.into_iter().zip(enqueued_at);
        let nodes = checksums.into_iter().zip(czxids).zip(times).zip(epochs).zip(sessions).zip(queued);
        let mut last = (0_i64, 0_i64);
        for (number, (((((checksum, czxid), (created_at, enqueued_at)), epoch), session), queued)) in (0..).zip(nodes) {
            last = (last.0.wrapping_add(czxid), last.1.wrapping_add(created_at));
            let node = DeletedNode {
                number,
                epoch,
                created_at: Timestamp(last.1),
                session: all_sessions.get(session as usize).copied().flatten(),
                enqueued_at: enqueued_at.map(|at| Timestamp(last.1.wrapping_add(at))),
                queued,
            };
            deleted.insert_last(NodeKey(Zxid(last.0), checksum), node);
        }
        deleted
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
