//! The order of reads when more wait than fit into one request, and the lock knowledge that it
//! needs.

use super::Follower;
use lockscope_base::znode::ZnodePath;

impl Follower {
    /// Sets the parent of the open queue, or none. The contenders of the open queue are read first.
    pub fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        self.pending.open_queue = parent;
    }

    /// Returns the parent of the open queue.
    pub fn open_queue(&self) -> Option<&ZnodePath> {
        self.pending.open_queue.as_ref()
    }

    /// Puts the most important reads first: the contenders below the open parent, then the first
    /// contender of each other queue, because only
    /// that one can hold the lock without having been read.
    pub fn arrange_reads(&mut self) {
        self.pending.arrange();
    }

    /// Returns whether a read is waiting that must not wait long. The owner of a lease is known
    /// only from the sessions.
    pub fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Returns the existing lock parents and roots known so far, in any order.
    pub fn parents(&self) -> impl Iterator<Item = &ZnodePath> {
        self.parents.keys()
    }
}
