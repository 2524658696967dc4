//! The bounds of a time that is not known exactly.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The bounds of when something happened: after the first time, and at the second at the latest.
/// Equal if it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBounds {
    /// A time at which it had not happened.
    pub after: Timestamp,
    /// A time by which it had happened.
    pub before: Timestamp,
}

impl TimeBounds {
    /// Returns the bounds of something that was seen.
    pub fn exact(at: Timestamp) -> Self {
        Self { after: at, before: at }
    }

    /// Returns bounds between two times; a clock that was set back makes them equal.
    pub fn between(after: Timestamp, before: Timestamp) -> Self {
        Self { after: after.min(before), before }
    }

    /// Returns the exact time, if it is known.
    pub fn exactly(self) -> Option<Timestamp> {
        (self.after == self.before).then_some(self.before)
    }
}
