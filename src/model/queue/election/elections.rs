//! The records of all elections of a table.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::led_before::LeadersBefore;
use super::{ElectionRecord, Expectation};
use crate::queue::LockId;
use lockscope_base::znode::Timestamp;

/// Maximum number of elections with a record. The record that changed last the longest ago is
/// forgotten first.
const MAX_ELECTIONS: usize = 10_000;

/// What a table remembers about elections. Recordings store it beside the table, because older
/// ones have no place for it there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Elections {
    /// What the user expects of elections.
    pub(super) expected: Vec<Expectation>,
    /// Since when the table was watched, by this machine's clock. `None` before the first complete
    /// reading.
    pub(super) since: Option<Timestamp>,
    pub(super) records: BTreeMap<LockId, ElectionRecord>,
    /// The elections whose parents are gone, in the order in which that was seen. Some may have
    /// candidates again.
    pub(super) without_parent: VecDeque<LockId>,
    /// What a recording has of the time before. It has it already, and does not store it again.
    #[serde(skip)]
    pub(super) led_before: LeadersBefore,
}

impl Elections {
    pub(super) fn record_mut(&mut self, id: LockId, now: Timestamp) -> &mut ElectionRecord {
        if self.records.len() >= MAX_ELECTIONS && !self.records.contains_key(&id) {
            let oldest = self.records.iter().min_by_key(|(_, record)| record.changed_at()).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.records.remove(&oldest));
        }
        self.records.entry(id).or_insert_with(|| ElectionRecord::new(now))
    }

    /// Forgets all leaders and candidates that have gone, but not which locks are elections.
    pub(in crate::queue) fn forget_departures(&mut self) {
        self.records.values_mut().for_each(ElectionRecord::forget_departures);
    }

    /// Forgets the names of all clients.
    pub(in crate::queue) fn forget_names(&mut self) {
        self.records.values_mut().for_each(ElectionRecord::forget_names);
    }
}
