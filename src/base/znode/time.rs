//! Points in time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01 UTC, like ZooKeeper's `ctime` and `mtime`.
///
/// Pure modules have no clock: the caller passes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time since `earlier`. Returns zero if `earlier` is later, since the clocks of
    /// two machines differ.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the time `by` later, at most the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time `by` earlier, at least the beginning of time.
    #[must_use]
    pub fn minus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// The time from one moment to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeRange {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub to: Timestamp,
}

impl TimeRange {
    /// Returns whether the range contains a moment.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }

    /// Returns the intersection with another range; `None` if it is empty or a single moment.
    #[must_use]
    pub fn within(self, other: TimeRange) -> Option<TimeRange> {
        let part = TimeRange { from: self.from.max(other.from), to: self.to.min(other.to) };
        (part.from < part.to).then_some(part)
    }

    /// Returns the length of the range.
    pub fn length(self) -> Duration {
        self.to.since(self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_time_within_another_is_longer_than_a_moment() {
        let range = |from, to| TimeRange { from: Timestamp(from), to: Timestamp(to) };
        assert_eq!(range(1, 9).within(range(4, 20)), Some(range(4, 9)));
        assert_eq!(range(1, 4).within(range(4, 20)), None);
        assert!(range(1, 4).contains(Timestamp(4)) && !range(1, 4).contains(Timestamp(5)));
        assert_eq!(range(4, 1).length(), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_age() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Timestamp(i64::MIN).since(Timestamp(i64::MAX)), Duration::ZERO);
        assert_eq!(Timestamp(1_500).since(Timestamp(500)), Duration::from_secs(1));
    }
}
