//! One node of the tree, and its stat.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Acls;

/// The event that deletes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A client's request only.
    Nobody,
    /// The end of this session.
    Session(i64),
    /// The deletion of its last child.
    Container,
    /// This many milliseconds without a change and without children.
    Ttl(i64),
}

/// A node's stat, in the numbers of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
}

/// A node as the tree keeps it.
#[derive(Clone, Debug)]
pub struct Node {
    pub data: Option<Arc<[u8]>>,
    pub acls: Acls,
    pub owner: Owner,
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub aversion: i32,
    /// The number of children that were ever created: the next sequence number.
    pub made: i32,
    /// What `cversion` counts besides creations and deletions of children: on Keeper, writes to them.
    pub written: i32,
    pub children: BTreeSet<Arc<str>>,
}

impl Node {
    pub fn new(data: Option<Arc<[u8]>>, acls: Acls, owner: Owner, zxid: i64, time: i64) -> Self {
        Self {
            data,
            acls,
            owner,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            aversion: 0,
            made: 0,
            written: 0,
            children: BTreeSet::new(),
        }
    }

    pub fn data_length(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.len())
    }

    /// Returns the stat that clients see. `cversion` counts creations and deletions of children,
    /// and wraps like Java's numbers.
    pub fn stat(&self) -> Stat {
        let num_children = i32::try_from(self.children.len()).unwrap_or(i32::MAX);
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.made.wrapping_mul(2).wrapping_sub(num_children).wrapping_add(self.written),
            aversion: self.aversion,
            ephemeral_owner: match self.owner {
                Owner::Session(session) => session,
                _ => 0,
            },
            data_length: i32::try_from(self.data_length()).unwrap_or(i32::MAX),
            num_children,
        }
    }
}
