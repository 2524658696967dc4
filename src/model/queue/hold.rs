//! What a table keeps to bound a hold whose beginning was not seen.

use std::num::NonZeroI32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::optional::OptionalNumber;
use lockscope_base::znode::{Timestamp, Zxid};

/// Lower and upper bounds for how long a contender has held its lock.
///
/// Both are equal where the beginning is known. It was either seen, to within the delay of a watch
/// event and a read, or it follows from the stats of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldBounds {
    /// The contender has held for at least this long.
    pub at_least: Duration,
    /// The contender has held for at most this long.
    pub at_most: Duration,
}

impl HoldBounds {
    /// Creates bounds that are both `held`.
    pub(super) fn exact(held: Duration) -> Self {
        Self { at_least: held, at_most: held }
    }

    /// Returns whether the beginning of the hold is known.
    pub fn is_exact(self) -> bool {
        self.at_least == self.at_most
    }
}

/// Whether a contender holds, and what is known about the beginning.
///
/// New variants go to the end: a recording stores a variant by its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    /// The contender does not hold.
    #[default]
    No,
    /// The acquisition was seen at this time, by this machine's clock.
    Acquired(Timestamp),
    /// The contender already held when it was found.
    Found(FoundHolding),
    /// The contender holds, and nothing else is known.
    Unknown,
    /// The contender does not hold, as a reading found at this time by this machine's clock, or as
    /// was known until then.
    NotAt(Timestamp),
    /// The contender already held when it was found, and did not hold at an earlier reading.
    FoundAfter {
        /// As in [`FoundHolding`].
        at: Timestamp,
        /// By how much the time proven, as in [`FoundHolding`], is before `at`, in milliseconds.
        proven_before: Option<NonZeroI32>,
        /// How long before `at` it did not hold, in milliseconds, or longer.
        not_held_before: u32,
    },
}

impl Hold {
    /// Returns whether the contender holds.
    pub fn is_held(self) -> bool {
        !matches!(self, Self::No | Self::NotAt(_))
    }

    /// Returns what is known of a hold that was found, whose contender was known as `before`.
    pub fn following(self, before: Self) -> Self {
        match (self, before) {
            (Self::Found(found), Self::NotAt(not_at)) => {
                // A longer time, of more than forty-nine days, is not told.
                u32::try_from(found.at.since(not_at).as_millis()).map_or(self, |before| found.after(before))
            }
            _ => self,
        }
    }

    /// Returns what is known about a hold that began before the contender was found.
    pub fn found(self) -> Option<FoundHolding> {
        match self {
            Self::Found(found) => Some(found),
            Self::FoundAfter { at, proven_before, .. } => {
                let proven = proven_before.map(|before| Timestamp(at.0.saturating_sub(before.get().into())));
                Some(FoundHolding { at, proven })
            }
            _ => None,
        }
    }

    /// Returns the last time, by this machine's clock, at which the contender is known not to have
    /// held yet.
    pub fn not_at(self) -> Option<Timestamp> {
        match self {
            Self::NotAt(not_at) => Some(not_at),
            Self::FoundAfter { at, not_held_before, .. } => {
                Some(Timestamp(at.0.saturating_sub(not_held_before.into())))
            }
            _ => None,
        }
    }

    /// Notes that the hold is proven since a time, by the servers' clock.
    pub fn prove(&mut self, since: Option<Timestamp>) {
        let Some(FoundHolding { at, proven }) = self.found() else { return };
        let found = FoundHolding { at, proven: proven.into_iter().chain(since).min() };
        *self = match *self {
            Self::FoundAfter { not_held_before, .. } => found.after(not_held_before),
            _ => Self::Found(found),
        };
    }
}

/// What is known about a contender that already held when it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FoundHolding {
    /// When the contender was found, by this machine's clock. It has held at least since then.
    pub at: Timestamp,
    /// The earliest time, by the servers' clock, at which the contender provably held. `None` when
    /// the hold before `at` cannot be proven.
    pub proven: Option<Timestamp>,
}

impl FoundHolding {
    /// Returns the hold of a contender that did not hold this many milliseconds before.
    fn after(self, not_held_before: u32) -> Hold {
        let before = self.proven.and_then(|proven| i32::try_from(self.at.0.checked_sub(proven.0)?).ok());
        // Zero has no room of its own: a millisecond later is proven, too.
        let proven_before = before.and_then(|before| NonZeroI32::new(if before == 0 { -1 } else { before }));
        Hold::FoundAfter { at: self.at, proven_before, not_held_before }
    }
}

/// The last hand-over of a lock, as far as it is known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct LastHandover {
    seen: OptionalNumber,
    read: OptionalNumber,
    proven: OptionalNumber,
}

impl LastHandover {
    /// Returns when an acquisition or a release was last seen, by this machine's clock.
    pub fn seen(self) -> Option<Timestamp> {
        self.seen.get().map(Timestamp)
    }

    /// Returns when the last complete reading ended, by this machine's clock. Nothing was missed
    /// since.
    pub fn read(self) -> Option<Timestamp> {
        self.read.get().map(Timestamp)
    }

    /// Returns a time, by the servers' clock, after which none of the lock's nodes was deleted up
    /// to the last complete reading. `None` when there is no proof.
    pub fn proven(self) -> Option<Timestamp> {
        self.proven.get().map(Timestamp)
    }

    /// Records that an acquisition or a release was seen.
    pub fn was_seen(&mut self, at: Timestamp) {
        self.seen = Some(at.0).into();
    }

    /// Records a complete reading.
    pub fn was_read(&mut self, at: Timestamp, proven: Option<Timestamp>) {
        (self.read, self.proven) = (Some(at.0).into(), proven.map(|proven| proven.0).into());
    }
}

/// The known times of transactions, from the creation times of nodes.
///
/// Transactions are numbered in the order in which they happen, and the leader writes its time into
/// each.
#[derive(Debug)]
pub(super) struct TransactionTimes(Vec<(Zxid, Timestamp)>);

impl TransactionTimes {
    pub fn new(mut times: Vec<(Zxid, Timestamp)>) -> Self {
        times.sort_unstable();
        // If the leader's clock was set back, the later time is kept: it claims less.
        let mut latest = Timestamp(i64::MIN);
        for (_, time) in &mut times {
            latest = latest.max(*time);
            *time = latest;
        }
        Self(times)
    }

    /// Returns a time by which this transaction had happened: its own, or that of the next known
    /// one.
    pub fn after(&self, zxid: Zxid) -> Option<Timestamp> {
        let at = self.0.partition_point(|(known, _)| *known < zxid);
        self.0.get(at).map(|(_, time)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_happened_before_the_next_known_one() {
        let times =
            TransactionTimes::new([(30, 900), (10, 500), (20, 700)].map(|(z, t)| (Zxid(z), Timestamp(t))).into());
        let after = |zxid| times.after(Zxid(zxid)).map(|time| time.0);
        assert_eq!([5, 10, 11, 30, 31].map(after), [Some(500), Some(500), Some(700), Some(900), None]);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_transaction_older() {
        let times =
            TransactionTimes::new([(10, 500), (20, 100), (30, 600)].map(|(z, t)| (Zxid(z), Timestamp(t))).into());
        let after = |zxid| times.after(Zxid(zxid)).map(|time| time.0);
        assert_eq!([10, 15, 25].map(after), [Some(500), Some(500), Some(600)]);
    }
}
