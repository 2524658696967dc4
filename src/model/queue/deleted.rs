//! The memory of contenders whose nodes were deleted: [`returned`](super::returned) asks it about a node that is read again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize, Serializer};

use super::Contender;
use super::contender::Queued;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// How many deleted contenders are remembered. Beyond that the oldest is forgotten: if a member brings it back, it looks new.
pub(super) const MAX_DELETED: usize = 10_000;

/// The transaction that created a node, and the checksum of its path: only nodes that one transaction made together need the checksum to be told
/// apart. The paths themselves would take most of the memory, and most of a recording's keyframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct NodeKey(Zxid, PathChecksum);

/// In bytes: as a number it would take five bytes of a file.
type PathChecksum = [u8; 4];

/// A contender whose node was deleted.
#[derive(Clone, Debug)]
pub(super) struct DeletedNode {
    number: u64,
    /// Which reading of everything was the last one before its deletion was known.
    pub epoch: u32,
    pub created_at: Timestamp,
    pub session: Option<SessionId>,
    pub enqueued_at: Option<Timestamp>,
    pub queued: Option<Box<Queued>>,
}

/// The contenders that were deleted last: at most [`MAX_DELETED`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Columns")]
pub(super) struct DeletedNodes {
    /// Not a hash map: where one comes for each that goes, it would grow to twice the size that it needs.
    nodes: BTreeMap<NodeKey, DeletedNode>,
    oldest_first: BTreeMap<u64, NodeKey>,
    next: u64,
}

impl DeletedNodes {
    /// Remembers a contender whose node was deleted while `epoch` was the last reading of everything.
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

    /// Forgets those of which that is not true of the transaction that created them.
    pub fn retain(&mut self, stays: impl Fn(Zxid) -> bool) {
        self.nodes.retain(|key, _| stays(key.0));
        self.oldest_first.retain(|_, key| stays(key.0));
    }

    /// Forgets it, and gives what was known of it; `None` when no deletion of this node is remembered.
    pub fn remove(&mut self, path: &ZnodePath, czxid: Zxid) -> Option<DeletedNode> {
        if self.nodes.is_empty() {
            return None;
        }
        let node = self.nodes.remove(&NodeKey(czxid, checksum(path)))?;
        self.oldest_first.remove(&node.number);
        Some(node)
    }
}

/// FNV-1a. It stands in files, so it must stay the same.
fn checksum(path: &ZnodePath) -> PathChecksum {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    path.as_str().bytes().fold(0x811c_9dc5, fold).to_le_bytes()
}

/// The deleted contenders as a file keeps them, oldest first: column by column, and what rises as the difference to the one before, which is
/// compressed to a fraction.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
    checksums: Vec<PathChecksum>,
    czxids: Vec<i64>,
    epochs: Vec<u32>,
    created_at: Vec<i64>,
    /// Numbers of `all_sessions`.
    sessions: Vec<u32>,
    all_sessions: Vec<Option<SessionId>>,
    /// Differences to when it was created.
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
