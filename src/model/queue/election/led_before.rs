//! The last leader of an election before it was watched, as a recording has it.

use std::collections::BTreeMap;

use super::Departure;
use lockscope_base::znode::ZnodePath;

/// Maximum number of elections whose earlier leader is known.
const MAX_KNOWN: usize = 1_000;

/// The last leader of an election before it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedBefore {
    /// The path of the election.
    pub election: ZnodePath,
    /// The leader, and how it went; at the earliest time that is possible.
    pub tenure: Departure,
    /// Whether the end was seen. Otherwise the leader still led when the recording ended, or went
    /// in a gap.
    pub is_end_seen: bool,
    /// Whether something was not recorded after the end, so that another may have led.
    pub has_gap: bool,
}

/// The earlier leaders, by election.
#[derive(Clone, Debug, Default)]
pub(super) struct LeadersBefore(BTreeMap<ZnodePath, LedBefore>);

impl LeadersBefore {
    /// Adds what was found. At most 1,000 elections are kept.
    pub fn learn(&mut self, found: Vec<LedBefore>) {
        for led in found {
            if self.0.len() < MAX_KNOWN || self.0.contains_key(&led.election) {
                self.0.insert(led.election.clone(), led);
            }
        }
    }

    pub fn of(&self, election: &ZnodePath) -> Option<&LedBefore> {
        self.0.get(election)
    }
}
