//! What is kept to tell how long somebody has held, where the beginning was not seen.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::optional::OptionalNumber;
use lockscope_base::znode::{Timestamp, Zxid};

/// How long a contender has held: at least so long, and at most so long.
///
/// The two are equal where the beginning is known: it was seen (to within the delay of a watch event and a read), or the stats
/// of the nodes prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldBounds {
    /// It has held for this long or longer.
    pub at_least: Duration,
    /// It has held for this long or shorter.
    pub at_most: Duration,
}

impl HoldBounds {
    /// Known exactly.
    pub(super) fn exact(held: Duration) -> Self {
        Self { at_least: held, at_most: held }
    }

    /// Whether the beginning of the hold is known.
    pub fn is_exact(self) -> bool {
        self.at_least == self.at_most
    }
}

/// Whether a contender holds, and what is known of when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    /// It does not hold.
    #[default]
    No,
    /// It was seen to acquire at this time, by this machine's clock.
    Acquired(Timestamp),
    /// It held already when it was found.
    Found(FoundHolding),
    /// It holds, and no more is known.
    Unknown,
}

/// What is known of a contender that held already when it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FoundHolding {
    /// When it was found, by this machine's clock: it has held since then.
    pub at: Timestamp,
    /// By the servers' clock, the earliest time at which it is proven to have held; `None` where nothing proves more than that
    /// it held when it was found.
    pub proven: Option<Timestamp>,
}

/// When a lock was last handed on, as far as that is known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct LastHandover {
    seen: OptionalNumber,
    read: OptionalNumber,
    proven: OptionalNumber,
}

impl LastHandover {
    /// When somebody was last seen to acquire or to release it, by this machine's clock.
    pub fn seen(self) -> Option<Timestamp> {
        self.seen.get().map(Timestamp)
    }

    /// When it was read completely the last time, by this machine's clock: from then on nothing was missed.
    pub fn read(self) -> Option<Timestamp> {
        self.read.get().map(Timestamp)
    }

    /// By the servers' clock, a time after which none of its nodes was deleted before that reading; `None` where nothing proves
    /// that.
    pub fn proven(self) -> Option<Timestamp> {
        self.proven.get().map(Timestamp)
    }

    /// Somebody was seen to acquire or to release it.
    pub fn was_seen(&mut self, at: Timestamp) {
        self.seen = Some(at.0).into();
    }

    /// It was read completely.
    pub fn was_read(&mut self, at: Timestamp, proven: Option<Timestamp>) {
        (self.read, self.proven) = (Some(at.0).into(), proven.map(|proven| proven.0).into());
    }
}

/// The times of transactions, as far as nodes tell when they were created.
///
/// Transactions are numbered in the order in which they happen, and the leader writes its time into each.
#[derive(Debug)]
pub(super) struct TransactionTimes(Vec<(Zxid, Timestamp)>);

impl TransactionTimes {
    pub fn new(mut times: Vec<(Zxid, Timestamp)>) -> Self {
        times.sort_unstable();
        // Where the leader's clock was set back, the later time is kept: that claims less.
        let mut latest = Timestamp(i64::MIN);
        for (_, time) in &mut times {
            latest = latest.max(*time);
            *time = latest;
        }
        Self(times)
    }

    /// A time at which this transaction had happened: that of the next one that is known, or its own.
    pub fn after(&self, zxid: Zxid) -> Option<Timestamp> {
        let at = self.0.partition_point(|(known, _)| *known < zxid);
        self.0.get(at).map(|(_, time)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_happened_before_the_next_one_that_is_known() {
        let times =
            TransactionTimes::new([(30, 900), (10, 500), (20, 700)].map(|(z, t)| (Zxid(z), Timestamp(t))).into());
        let after = |zxid| times.after(Zxid(zxid)).map(|time| time.0);
        assert_eq!([5, 10, 11, 30, 31].map(after), [Some(500), Some(500), Some(700), Some(900), None]);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_older() {
        let times =
            TransactionTimes::new([(10, 500), (20, 100), (30, 600)].map(|(z, t)| (Zxid(z), Timestamp(t))).into());
        let after = |zxid| times.after(Zxid(zxid)).map(|time| time.0);
        assert_eq!([10, 15, 25].map(after), [Some(500), Some(500), Some(600)]);
    }
}
