//! Remembers contenders whose nodes were deleted. [`returned`](super::returned) looks up nodes here
//! that are read again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize, Serializer};

use super::Contender;
use super::contender::Queued;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// Maximum number of deleted contenders in memory. The oldest is forgotten first; if a member shows
/// its node again, the node looks new.
pub(super) const MAX_DELETED: usize = 10_000;

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
#[serde(from = "Columns")]
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
struct Columns {
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
        Columns::from(self).serialize(serializer)
    }
}

impl From<&DeletedNodes> for Columns {
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

impl From<Columns> for DeletedNodes {
    fn from(columns: Columns) -> Self {
        let mut deleted = Self::default();
        let Columns { checksums, czxids, epochs, created_at, sessions, all_sessions, enqueued_at, queued } = columns;
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
