//! What samples of the lock parents say of the locks.

use super::samples::ParentSamples;
use super::{LockId, LockQueue, LockTable, SampledCounts};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat};

impl LockTable {
    /// What samples say of a lock while the table is not in step because too much happens; `None` at all other times, before the first
    /// sample, and for a single node, which has no parent that tells.
    pub fn sampled(&self, lock: &LockQueue) -> Option<SampledCounts> {
        if self.samples.is_empty() || lock.kind() == LockKind::SingleNode {
            return None;
        }
        let queue = self.samples.get(&lock.queue_path())?.counts();
        match lock.kind() {
            LockKind::Semaphore => Some(queue.plus(self.samples.get(&lock.lease_parent())?.counts())),
            _ => Some(queue),
        }
    }

    /// The locks whose contenders queue below this node.
    pub fn locks_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        self.ids_queueing_at(parent)
    }

    pub(super) fn sampled_parent(&mut self, path: ZnodePath, stat: &ZnodeStat, now: Timestamp) {
        if self.is_live() {
            return;
        }
        self.touched.extend(self.ids_queueing_at(&path));
        let samples = ParentSamples::with(self.samples.get(&path), stat, now);
        self.samples.insert(path, samples);
    }
}
