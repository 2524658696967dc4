//! What is kept of the nodes below which contenders stand.

use serde::{Deserialize, Serialize};

use super::children::Children;
use super::optional::OptionalNumber;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};

/// A node that has contenders among its children, or had, or may have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Parent {
    pub children: Children,
    next_sequence: OptionalNumber,
    /// What kazoo's semaphore keeps in its data: the most leases.
    pub maximum: Option<u32>,
    pub epoch: u32,
    pub listing: Option<Listing>,
}

impl Parent {
    /// One that was heard of during the reading of everything with the number `epoch`.
    pub fn new(epoch: u32) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// The number that its next child gets, where known.
    pub fn next_sequence(&self) -> Option<i64> {
        self.next_sequence.get()
    }

    pub fn set_next_sequence(&mut self, next: Option<i64>) {
        self.next_sequence = next.into();
    }
}

/// A node below which a lock's contenders stand, as its last listing found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentNode {
    /// The transaction that created it.
    pub czxid: Zxid,
    /// When that was, by the server's clock.
    pub created_at: Timestamp,
    /// Whether a session owns it.
    pub ephemeral: bool,
}

/// What the stat of a parent said when it was last listed: of the node itself, and of the children that came and went.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Listing {
    czxid: Zxid,
    created_at: Timestamp,
    ephemeral: bool,
    /// The transaction that last created or deleted a child.
    pub last: Zxid,
    /// Whether a child was ever deleted.
    pub any_deleted: bool,
    /// During which reading of everything it was listed.
    pub epoch: u32,
    /// Whether a child was deleted during that reading: the listing may be older than that.
    pub disturbed: bool,
}

impl Listing {
    /// The next one after `before`.
    pub fn new(path: &ZnodePath, stat: &ZnodeStat, epoch: u32, before: Option<Self>) -> Self {
        Self {
            czxid: stat.czxid,
            created_at: stat.ctime,
            ephemeral: stat.ephemeral_owner.is_some(),
            last: stat.pzxid,
            // As servers report it, `cversion` counts each creation and each deletion. At the top of the tree there is a child
            // that nobody created.
            any_deleted: path.is_root() || stat.cversion != stat.num_children,
            epoch,
            disturbed: before.is_some_and(|before| before.epoch == epoch && before.disturbed),
        }
    }

    /// The node itself.
    pub fn node(self) -> ParentNode {
        ParentNode { czxid: self.czxid, created_at: self.created_at, ephemeral: self.ephemeral }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small() {
        assert!(size_of::<Parent>() <= 80, "{} bytes", size_of::<Parent>());
    }
}
