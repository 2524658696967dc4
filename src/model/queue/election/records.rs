//! What a table knows about each election.

use super::{ElectionRecord, Elections, Expectation, LedBefore};
use crate::queue::{LockQueue, LockTable};

impl LockTable {
    /// Returns the table with the user's expectations of elections. Call this before the first
    /// change.
    #[must_use]
    pub fn with_expectations(mut self, expected: &[Expectation]) -> Self {
        self.elections.expected = expected.to_vec();
        self
    }

    /// Returns the user's expectations of elections.
    pub fn expectations(&self) -> &[Expectation] {
        &self.elections.expected
    }

    /// Returns what is remembered about elections. It is not part of the serialized table.
    pub fn elections(&self) -> &Elections {
        &self.elections
    }

    /// Returns the table with the records that were stored beside it. Records of locks that the
    /// table does not have are dropped.
    #[must_use]
    pub fn with_elections(mut self, elections: Elections) -> Self {
        *self.elections = elections;
        let locks = &self.locks;
        self.elections.records.retain(|id, _| locks.contains_key(id));
        self
    }

    /// Returns what is remembered about an election; `None` while nothing has changed there.
    pub fn election_record(&self, lock: &LockQueue) -> Option<&ElectionRecord> {
        self.elections.records.get(&lock.id())
    }

    /// Learns who led elections before they were watched. At most 1,000 elections are kept.
    pub fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.elections.led_before.learn(found);
    }

    /// Returns who led an election before it was watched, if a recording has it.
    pub fn led_before(&self, election: &LockQueue) -> Option<&LedBefore> {
        self.elections.led_before.of(election.path())
    }

    /// Returns the user's expectation of a lock.
    pub fn expectation(&self, lock: &LockQueue) -> Option<&Expectation> {
        self.elections.expected.iter().find(|expected| expected.path.matches(lock.path()))
    }
}
