//! How often the leader of an election changed lately.

use std::time::Duration;

use super::ChangesOfLeader;
use crate::queue::{LockQueue, LockTable};
use lockscope_base::znode::Timestamp;

impl LockTable {
    /// Returns for how long elections have been watched.
    pub fn watched_for(&self, now: Timestamp) -> Option<Duration> {
        self.elections.since.map(|since| now.since(since))
    }

    /// Returns how often the leadership of an election changed lately.
    pub fn changes_of_leader(&self, lock: &LockQueue, now: Timestamp) -> ChangesOfLeader {
        let held = lock.first_holder().and_then(|holder| self.hold_bounds(holder, now));
        let held_since = held.map(|bounds| now.minus(bounds.at_least));
        let since = self.elections.since.into_iter().chain(held_since).min();
        ChangesOfLeader::new(self.election_record(lock), since, now)
    }
}
