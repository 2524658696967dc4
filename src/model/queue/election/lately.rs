//! How often the leader of an election changed lately.

use super::ChangesOfLeader;
use crate::queue::{LockQueue, LockTable};
use lockscope_base::znode::Timestamp;

impl LockTable {
    /// Returns how often the leadership of an election changed lately.
    pub fn changes_of_leader(&self, lock: &LockQueue, now: Timestamp) -> ChangesOfLeader {
        let held = lock.first_holder().and_then(|holder| self.hold_bounds(holder, now));
        let held_since = held.map(|bounds| now.minus(bounds.at_least));
        let since = self.elections.since.into_iter().chain(held_since).min();
        ChangesOfLeader::new(self.election_record(lock), since, now)
    }
}
