//! What a read of a node returns.

use serde::{Deserialize, Serialize};

use super::{SessionId, Timestamp, Zxid};

/// How much of a node's data [`NodeData`] keeps, in bytes. A node may hold 1 MiB (`jute.maxbuffer`); a lock's
/// data is a host name or an id.
pub const MAX_KEPT_DATA: usize = 4096;

/// The stat of a node, as ZooKeeper's `Stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZnodeStat {
    /// The transaction that created the node: no other node of that path has it.
    pub czxid: Zxid,
    /// The transaction that last changed its data.
    pub mzxid: Zxid,
    /// The transaction that last created or deleted a child of it.
    pub pzxid: Zxid,
    /// When it was created, by the server's clock.
    pub ctime: Timestamp,
    /// When its data was last changed, by the server's clock.
    pub mtime: Timestamp,
    /// How often its data was changed.
    pub version: i32,
    /// How often a child was created or deleted.
    pub cversion: i32,
    /// How often its ACL was changed.
    pub aversion: i32,
    /// The session whose end deletes it; `None` for persistent, container and TTL nodes.
    pub ephemeral_owner: Option<SessionId>,
    /// The size of its data, in bytes.
    pub data_length: i32,
    /// How many children it has; theirs do not count.
    pub num_children: i32,
}

impl ZnodeStat {
    /// The number that the next sequential child gets: half of what children were ever created and deleted, plus
    /// half of those that are there (measured on ZooKeeper 3.8.0). Wraps as the server's counter does.
    #[must_use]
    pub fn next_sequence(&self) -> i64 {
        i64::midpoint(i64::from(self.cversion), i64::from(self.num_children))
    }
}

impl ZnodeStat {
    /// The stat of a node without data and children that this transaction created.
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

/// The beginning of a node's data: at most [`MAX_KEPT_DATA`] bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Box<[u8]>", into = "Box<[u8]>")]
pub struct NodeData(Kept);

/// Up to how many bytes need no memory of their own: most addresses and host names.
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

    /// The bytes that were kept.
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

/// A node as one read found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its stat.
    pub stat: ZnodeStat,
    /// Its data, or the beginning of it when `stat.data_length` is larger.
    pub data: NodeData,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_large_node_only_the_beginning_is_kept() {
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
