//! What the user expects of an election.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use lockscope_base::recipe::PathPattern;

/// An expectation of the elections at matching paths. These locks are elections, whatever their
/// recipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The paths of the elections.
    pub path: PathPattern,
    /// How many candidates there must be, the leader included.
    pub candidates: Option<u32>,
    /// How long an election may be without a leader. The time after which a lock is stuck if
    /// absent.
    pub leader_within: Option<Duration>,
}
