//! The result of reading a node.

use serde::{Deserialize, Serialize};

use super::{SessionId, Timestamp, Zxid};

/// The number of bytes of a node's data that [`NodeData`] keeps. A node may hold 1 MiB
/// (`jute.maxbuffer`); a lock's data is a host name or an id.
pub const MAX_KEPT_DATA: usize = 4096;

/// Stands in for a `pzxid` that tells nothing. No transaction has this number.
const UNKNOWN_PZXID: Zxid = Zxid(i64::MAX);

/// The stat of a node, as ZooKeeper's `Stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZnodeStat {
    /// The transaction that created the node: no other node of that path has it.
    pub czxid: Zxid,
    /// The transaction that last changed the node's data.
    pub mzxid: Zxid,
    /// The transaction that last created or deleted a child of the node.
    pub pzxid: Zxid,
    /// The time of the node's creation, by the server's clock.
    pub ctime: Timestamp,
    /// The time of the last change of the node's data, by the server's clock.
    pub mtime: Timestamp,
    /// The number of changes of the node's data.
    pub version: i32,
    /// The number of creations and deletions of children.
    pub cversion: i32,
    /// The number of changes of the node's ACL.
    pub aversion: i32,
    /// The session whose end deletes the node; `None` for persistent, container and TTL nodes.
    pub ephemeral_owner: Option<SessionId>,
    /// The size of the node's data, in bytes.
    pub data_length: i32,
    /// The number of the node's children, without their own children.
    pub num_children: i32,
}

impl ZnodeStat {
    /// Returns the number of the next sequential child: half of `cversion`, which counts creations
    /// and deletions, plus half of `num_children` (measured on ZooKeeper 3.8.0). It wraps like the
    /// server's counter.
    ///
    /// `None` without a [history of children](Self::without_child_history).
    #[must_use]
    pub fn next_sequence(&self) -> Option<i64> {
        self.has_child_history().then(|| self.numbers_given())
    }

    /// Returns the stat of a server whose `pzxid` and `cversion` do not count as `ZooKeeper`'s do:
    /// nothing follows from them.
    #[must_use]
    pub fn without_child_history(self) -> Self {
        Self { pzxid: UNKNOWN_PZXID, cversion: -1, ..self }
    }

    /// Returns whether `pzxid` and `cversion` tell which children were created and deleted.
    pub fn has_child_history(&self) -> bool {
        self.pzxid != UNKNOWN_PZXID
    }

    fn numbers_given(&self) -> i64 {
        i64::midpoint(i64::from(self.cversion), i64::from(self.num_children))
    }
}

impl ZnodeStat {
    /// Returns the stat of a node without data and children that this transaction created.
    pub fn of_new(czxid: Zxid, at: Timestamp, ephemeral_owner: Option<SessionId>) -> Self {
        Self {
            czxid,
            mzxid: czxid,
            pzxid: czxid,
            ctime: at,
            mtime: at,
            version: 0,
            cversion: 0,
            aversion: 0,
            ephemeral_owner,
            data_length: 0,
            num_children: 0,
        }
    }
}

/// The first [`MAX_KEPT_DATA`] bytes of a node's data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Box<[u8]>", into = "Box<[u8]>")]
pub struct NodeData(Kept);

/// The number of bytes that need no allocation: enough for most addresses and host names.
const MAX_INLINE: usize = 22;

#[derive(Clone, Debug)]
enum Kept {
    Inline { length: u8, bytes: [u8; MAX_INLINE] },
    Apart(Box<[u8]>),
}

impl NodeData {
    /// Keeps the first [`MAX_KEPT_DATA`] bytes.
    #[must_use]
    pub fn keep(bytes: &[u8]) -> Self {
        let kept = &bytes[..bytes.len().min(MAX_KEPT_DATA)];
        let mut inline = [0; MAX_INLINE];
        Self(match (u8::try_from(kept.len()), inline.get_mut(..kept.len())) {
            (Ok(length), Some(first)) => {
                first.copy_from_slice(kept);
                Kept::Inline { length, bytes: inline }
            }
            _ => Kept::Apart(kept.into()),
        })
    }

    /// Returns the kept bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Inline { length, bytes } => &bytes[..usize::from(*length).min(MAX_INLINE)],
            Kept::Apart(bytes) => bytes,
        }
    }
}

impl Default for NodeData {
    fn default() -> Self {
        Self::keep(&[])
    }
}

impl PartialEq for NodeData {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for NodeData {}

impl From<Box<[u8]>> for NodeData {
    fn from(bytes: Box<[u8]>) -> Self {
        Self::keep(&bytes)
    }
}

impl From<NodeData> for Box<[u8]> {
    fn from(data: NodeData) -> Self {
        data.bytes().into()
    }
}

/// A node, as one read returned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's stat.
    pub stat: ZnodeStat,
    /// The node's data, or its first bytes if `stat.data_length` is larger.
    pub data: NodeData,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_large_nodes_data_is_kept() {
        assert_eq!(NodeData::keep(&vec![7; 1 << 20]).bytes().len(), MAX_KEPT_DATA);
        for length in [0, 1, MAX_INLINE, MAX_INLINE + 1, MAX_KEPT_DATA] {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let data = NodeData::keep(&bytes);
            assert_eq!(data.bytes(), bytes);
            let json = serde_json::to_string(&data).expect("JSON");
            assert_eq!(json, serde_json::to_string(&bytes).expect("JSON"));
            assert_eq!(serde_json::from_str::<NodeData>(&json).expect("data"), data);
        }
    }
}
