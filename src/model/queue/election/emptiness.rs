//! Since when an election that was found empty has provably been empty.

use crate::queue::LockTable;
use crate::queue::hold::TransactionTimes;
use lockscope_base::znode::Timestamp;

impl LockTable {
    /// Dates the emptiness of the parents that were found empty: the next transaction of a known
    /// time came after the deletion of their last child. Called at the end of a complete reading.
    pub(in crate::queue) fn prove_emptiness(&mut self, times: &TransactionTimes) {
        let ahead = self.clock.ahead_ms();
        for (id, record) in &mut self.elections.records {
            let Some(since) = record.empty_since else { continue };
            let listing = self.locks.get(id).and_then(|lock| self.parents.get(lock.path())?.listing);
            let proven = listing.filter(|listing| !listing.disturbed).and_then(|listing| times.after(listing.last));
            let proven = proven.map(|at| Timestamp(at.0.saturating_add(ahead)));
            record.empty_since = proven.map(|proven| proven.min(since)).or(Some(since));
        }
    }
}
