//! Applies samples of lock parents during an overload.

use super::samples::ParentSamples;
use super::{LockId, LockQueue, LockTable, SampledCounts};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat};

impl LockTable {
    /// Returns what the samples show of a lock during an overload.
    ///
    /// Returns `None` at all other times, before the first sample, and for a single-node lock,
    /// which has no parent to sample.
    pub fn sampled(&self, lock: &LockQueue) -> Option<SampledCounts> {
        if self.samples.is_empty() || lock.kind() == LockKind::SingleNode {
            return None;
        }
        let queue = self.samples.get(&lock.queue_path())?.counts();
        match lock.kind() {
            LockKind::Semaphore if lock.family().has_lease_nodes() => {
                Some(queue.plus(self.samples.get(&lock.lease_parent())?.counts()))
            }
            _ => Some(queue),
        }
    }

    /// Returns the locks whose contenders queue below this node.
    pub fn locks_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        self.ids_queueing_at(parent)
    }

    pub(super) fn sampled_parent(&mut self, path: ZnodePath, stat: &ZnodeStat, now: Timestamp) {
        if self.is_in_step() {
            return;
        }
        self.touched.extend(self.ids_queueing_at(&path));
        let samples = ParentSamples::with(self.samples.get(&path), stat, now);
        self.samples.insert(path, samples);
    }
}
