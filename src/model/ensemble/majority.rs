//! Whether a majority of the members works together, so that clients are served.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::TimeBounds;

/// Whether the ensemble serves its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Majority {
    /// A member said that it serves with a leader, or that it is standalone.
    Serves {
        /// The member that leads. `None` for a standalone server, and where none of those that
        /// answer leads.
        leader: Option<Arc<str>>,
        /// The epoch of the leader.
        epoch: Option<u32>,
        /// Since when this leader leads; the earlier bound is missing where it led at the first
        /// look.
        since: Option<TimeBounds>,
    },
    /// A majority of the members said at one time that they have no leader, or did not run.
    Lost {
        /// Since when.
        since: TimeBounds,
    },
    /// Neither is known.
    Unknown {
        /// Why, as a part of a sentence. Unescaped.
        why: Arc<str>,
    },
}

impl Default for Majority {
    fn default() -> Self {
        Self::Unknown { why: "no server was asked yet".into() }
    }
}
