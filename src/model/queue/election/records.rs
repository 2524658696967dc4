//! What a table knows about each election.

use std::time::Duration;

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

    /// Returns the lengths of holds that the user's expectations tell, in their order. A recording
    /// stores them apart, because older ones have no place for them.
    pub fn promised_holds(&self) -> Vec<Option<Duration>> {
        self.elections.expected.iter().map(|expected| expected.held_at_most).collect()
    }

    /// Returns the table with what [`promised_holds`](Self::promised_holds) returned.
    #[must_use]
    pub fn with_promised_holds(mut self, promised: &[Option<Duration>]) -> Self {
        for (expected, promised) in self.elections.expected.iter_mut().zip(promised) {
            expected.held_at_most = *promised;
        }
        self
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

    /// Returns the user's expectation of a lock as an election.
    pub fn expectation(&self, lock: &LockQueue) -> Option<&Expectation> {
        let mut of_elections = self.elections.expected.iter().filter(|expected| expected.is_of_elections());
        of_elections.find(|expected| expected.path.matches(lock.path()))
    }

    /// Returns how long a lock is held at most, as its owner promised.
    pub fn held_at_most(&self, lock: &LockQueue) -> Option<Duration> {
        let mut of_holds = self.elections.expected.iter().filter(|expected| expected.held_at_most.is_some());
        of_holds.find(|expected| expected.path.matches(lock.path()))?.held_at_most
    }
}
