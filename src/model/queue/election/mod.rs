//! Elections: who led, how each tenure ended, and which candidates have gone.
//!
//! The queue of an election shows the present leader and the candidates. What is missing there (a
//! leader, a candidate) shows only in comparison with what was there before, so each election has a
//! record of it. Records are bounded: see [`MAX_ELECTIONS`] and [`departure::MAX_DEPARTURES`].

mod changes;
mod departure;
mod expectation;
mod found_empty;
mod kind;
mod note;
mod record;
mod without_parent;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

pub use departure::{Departure, DepartureEnd};
pub use expectation::Expectation;
pub use found_empty::is_empty_election;
pub use kind::{ElectionKind, is_likely as is_likely_election};
pub(crate) use kind::{by_recipe, is_registry, leader_beside_latch};
pub use record::{ChangesOfLeader, ElectionRecord};

use super::{LockId, LockQueue, LockTable};
use lockscope_base::znode::Timestamp;

/// Maximum number of elections with a record. The record that changed last the longest ago is
/// forgotten first.
const MAX_ELECTIONS: usize = 10_000;

/// What a table remembers about elections. Recordings store it beside the table, because older
/// ones have no place for it there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Elections {
    /// What the user expects of elections.
    expected: Vec<Expectation>,
    /// Since when the table was watched, by this machine's clock. `None` before the first complete
    /// reading.
    since: Option<Timestamp>,
    records: BTreeMap<LockId, ElectionRecord>,
    /// The elections whose parents are gone, in the order in which that was seen. Some may have
    /// candidates again.
    without_parent: VecDeque<LockId>,
}

impl Elections {
    fn record_mut(&mut self, id: LockId, now: Timestamp) -> &mut ElectionRecord {
        if self.records.len() >= MAX_ELECTIONS && !self.records.contains_key(&id) {
            let oldest = self.records.iter().min_by_key(|(_, record)| record.changed_at()).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.records.remove(&oldest));
        }
        self.records.entry(id).or_insert_with(|| ElectionRecord::new(now))
    }

    /// Forgets all leaders and candidates that have gone.
    pub(super) fn forget_departures(&mut self) {
        self.records.clear();
    }

    /// Forgets the names of all clients.
    pub(super) fn forget_names(&mut self) {
        self.records.values_mut().for_each(ElectionRecord::forget_names);
    }
}

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
        self.elections = elections;
        let locks = &self.locks;
        self.elections.records.retain(|id, _| locks.contains_key(id));
        self
    }

    /// Returns what is remembered about an election; `None` while nothing has changed there.
    pub fn election_record(&self, lock: &LockQueue) -> Option<&ElectionRecord> {
        self.elections.records.get(&lock.id())
    }

    /// Returns the user's expectation of a lock.
    pub fn expectation(&self, lock: &LockQueue) -> Option<&Expectation> {
        self.elections.expected.iter().find(|expected| expected.path.matches(lock.path()))
    }

    /// Returns how often the leadership of an election changed lately.
    pub fn changes_of_leader(&self, lock: &LockQueue, now: Timestamp) -> ChangesOfLeader {
        let held = lock.first_holder().and_then(|holder| self.hold_bounds(holder, now));
        let held_since = held.map(|bounds| now.minus(bounds.at_least));
        let since = self.elections.since.into_iter().chain(held_since).min();
        ChangesOfLeader::new(self.election_record(lock), since, now)
    }
}
