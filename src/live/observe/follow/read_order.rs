//! Which reads come first while more wait than go into one request, and what is known of the locks for that.

use super::Follower;
use lockscope_base::znode::ZnodePath;

impl Follower {
    /// Somebody looks at the queue below this node, or at none: its contenders are read before others.
    pub(in crate::observe) fn look_at_queue(&mut self, parent: Option<ZnodePath>) {
        self.pending.open_queue = parent;
    }

    /// The node below which the queue is that somebody looks at.
    pub(in crate::observe) fn open_queue(&self) -> Option<&ZnodePath> {
        self.pending.open_queue.as_ref()
    }

    /// Puts the reads first that matter most: the contenders below the parent that somebody looks at, then one of each other queue, the
    /// one that came first, since nobody else there can hold without having been read.
    pub(in crate::observe) fn arrange_reads(&mut self) {
        self.pending.arrange();
    }

    /// Whether among the reads that wait is one that cannot wait for long: which lease is whose only the sessions say.
    pub(in crate::observe) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// The lock parents and roots that exist, as far as that is known, in any order.
    pub(in crate::observe) fn parents(&self) -> impl Iterator<Item = &ZnodePath> {
        self.parents.keys()
    }
}
