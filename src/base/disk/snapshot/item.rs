//! What reading a snapshot yields.

use std::borrow::Cow;

use crate::disk::node_kind::NodeKind;
use crate::znode::{SessionId, ZnodeStat, Zxid};

/// What stands in a snapshot.
#[derive(Clone, Debug)]
pub enum SnapshotItem<'a> {
    /// A session.
    Session {
        /// The session's id.
        id: SessionId,
        /// The session's timeout, in milliseconds.
        timeout: i32,
    },
    /// A node.
    Node(SnapshotNode<'a>),
    /// Nothing more.
    End(SnapshotEnd),
}

/// A node.
#[derive(Clone, Debug)]
pub struct SnapshotNode<'a> {
    /// The node's path; `/` for the root. The servers' own nodes stand among the others, below
    /// `/zookeeper`.
    pub path: Cow<'a, str>,
    /// The first [`MAX_KEPT_DATA`](crate::znode::MAX_KEPT_DATA) bytes of the node's data, of which
    /// `stat.data_length` has the size.
    pub data: &'a [u8],
    /// The stat that a server would give if the node had no children. A snapshot holds no number of
    /// children: `num_children` is 0, and `cversion` counts the creations twice. Whoever counts a
    /// child [adds](Self::add_child) it.
    pub stat: ZnodeStat,
    /// What makes the node go.
    pub kind: NodeKind,
}

impl SnapshotNode<'_> {
    /// Adds a child to a stat of a snapshot. It changes `cversion`, too: that counts creations and
    /// deletions, and a child that is there was not deleted.
    pub fn add_child(stat: &mut ZnodeStat) {
        stat.num_children = stat.num_children.wrapping_add(1);
        stat.cversion = stat.cversion.wrapping_sub(1);
    }
}

/// A digest of the whole tree, from 3.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZxidDigest {
    /// The transaction after which it was made; 0 if the server had none.
    pub zxid: Zxid,
    /// The way in which it was made.
    pub version: i32,
    /// The digest.
    pub digest: i64,
}

/// How a snapshot ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotEnd {
    /// All of it was there, and every checksum is right.
    ///
    /// A file of 3.6 or later that ends exactly behind its first checksum looks like a whole one of
    /// an earlier version; nothing but the digest is missing from it.
    Whole {
        /// The digest, from 3.6.
        digest: Option<ZxidDigest>,
        /// The last transaction that the server had processed, from 3.9.
        last_zxid: Option<Zxid>,
    },
    /// The file ends before. The server was killed while it wrote it, or writes it still.
    Torn {
        /// Where it ends, in unpacked bytes.
        offset: u64,
    },
    /// The file holds wrong bytes.
    Damaged {
        /// Where that was noticed, in unpacked bytes.
        offset: u64,
        /// What was wrong.
        fault: Fault,
    },
}

/// What is wrong with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A length is negative.
    #[error("a length in the snapshot is negative")]
    Length,
    /// A node's path is too long, or does not begin with a slash.
    #[error("a path in the snapshot is too long, or does not begin with a slash")]
    Path,
    /// A checksum is wrong.
    #[error("a checksum in the snapshot is wrong")]
    Checksum,
    /// The bytes behind the first checksum are unknown.
    #[error("unknown bytes stand at the end of the snapshot")]
    Tail,
}
