//! What the user expects of an election, or of the holds of any lock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use lockscope_base::recipe::PathPattern;

/// An expectation of the locks at matching paths. These locks are elections, whatever their recipe,
/// unless only the length of their holds is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The paths of the elections.
    pub path: PathPattern,
    /// How many candidates there must be, the leader included.
    pub candidates: Option<u32>,
    /// How long an election may be without a leader. The time after which a lock is stuck if
    /// absent.
    pub leader_within: Option<Duration>,
    /// How long a lock is held at most, as its owner promised. Recordings store it apart.
    #[serde(skip)]
    pub held_at_most: Option<Duration>,
}

impl Expectation {
    /// Returns whether the locks at this path are elections.
    pub fn is_of_elections(&self) -> bool {
        self.held_at_most.is_none() || self.candidates.is_some() || self.leader_within.is_some()
    }
}
