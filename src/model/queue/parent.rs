//! What a table keeps for the parents of contenders.

use serde::{Deserialize, Serialize};

use super::children::Children;
use super::optional::OptionalNumber;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};

/// A node that has, had or may have contenders among its children.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Parent {
    pub children: Children,
    next_sequence: OptionalNumber,
    /// The maximum number of leases, which kazoo's semaphore stores in the node's data.
    pub maximum: Option<u32>,
    pub epoch: u32,
    pub listing: Option<Listing>,
}

impl Parent {
    /// Creates a parent that was first heard of in the complete reading number `epoch`.
    pub fn new(epoch: u32) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// Returns the sequence number of the next child, where it is known.
    pub fn next_sequence(&self) -> Option<i64> {
        self.next_sequence.get()
    }

    pub fn set_next_sequence(&mut self, next: Option<i64>) {
        self.next_sequence = next.into();
    }
}

/// A parent of contenders, as of its last listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentNode {
    /// The transaction that created the node.
    pub czxid: Zxid,
    /// When the node was created, by the server's clock.
    pub created_at: Timestamp,
    /// Whether a session owns the node.
    pub ephemeral: bool,
}

/// The stat of a parent at its last listing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Listing {
    czxid: Zxid,
    created_at: Timestamp,
    ephemeral: bool,
    /// The transaction that last created or deleted a child.
    pub last: Zxid,
    /// Whether a child was ever deleted.
    pub any_deleted: bool,
    /// The number of the complete reading that listed the parent.
    pub epoch: u32,
    /// Whether a child was deleted during that reading, so that the listing may be outdated.
    pub disturbed: bool,
}

impl Listing {
    /// Creates the listing that follows `before`.
    pub fn new(path: &ZnodePath, stat: &ZnodeStat, epoch: u32, before: Option<Self>) -> Self {
        Self {
            czxid: stat.czxid,
            created_at: stat.ctime,
            ephemeral: stat.ephemeral_owner.is_some(),
            last: stat.pzxid,
            // `cversion`, as servers report it, counts each creation and each deletion of a child.
            // The root has a child that no client created.
            any_deleted: path.is_root() || stat.cversion != stat.num_children,
            epoch,
            disturbed: before.is_some_and(|before| before.epoch == epoch && before.disturbed),
        }
    }

    /// Returns the node itself.
    pub fn node(self) -> ParentNode {
        ParentNode { czxid: self.czxid, created_at: self.created_at, ephemeral: self.ephemeral }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_stays_small() {
        assert!(size_of::<Parent>() <= 80, "{} bytes", size_of::<Parent>());
    }
}
