//! Whether a contender holds, and what a table keeps to bound a hold whose beginning was not seen:
//! the last hand-over, the times of transactions, and the difference between this machine's clock
//! and the servers' clock.

use std::collections::VecDeque;
use std::num::NonZeroI32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::compact::OptionalNumber;
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
pub struct TransactionTimes(Vec<(Zxid, Timestamp)>);

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

/// Number of recent creations that are kept: enough to include one that arrived without delay.
const SAMPLES: usize = 32;

/// Number of creations after which one of them can be assumed to have arrived without delay.
const ENOUGH_SAMPLES: usize = 8;

/// Smaller differences, in milliseconds, are put down to the travel time of messages.
const TOLERANCE_MS: i64 = 1_000;

/// The difference between this machine's clock and the servers' clock, as far as it is known.
///
/// A node that is created while the table is live shows the server's clock, delayed by a watch
/// event and a read. The smallest of several such differences is the best estimate. A creation time
/// in the future proves at once that the server is ahead.
///
/// Before there are such nodes, the server of our own session provides the difference: it reports
/// when it accepted our connection. Another server may date the nodes; the servers of an ensemble
/// are assumed to agree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Clock {
    samples: VecDeque<i64>,
    server_is_ahead: i64,
    /// Bounds, in milliseconds, of how far this machine's clock is ahead of the server of our
    /// session: at least and at most.
    measured: Option<(i64, i64)>,
    /// The estimate that follows from the other fields.
    ahead_ms: i64,
}

impl Clock {
    /// Adds a node that was created while the table was live.
    pub fn created(&mut self, ctime: Timestamp, now: Timestamp) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(now.0.saturating_sub(ctime.0));
        self.guess();
    }

    /// Adds a node that was created at an unknown time before `now`.
    pub fn found(&mut self, ctime: Timestamp, now: Timestamp) {
        let ahead = ctime.0.saturating_sub(now.0);
        if ahead > self.server_is_ahead {
            self.server_is_ahead = ahead;
            self.guess();
        }
    }

    /// Adds the bounds that follow from when a server accepted our connection.
    ///
    /// Bounds that contradict the earlier ones replace them: a clock was set, or another server
    /// answered.
    pub fn measured(&mut self, least: i64, most: i64) {
        let before = self.measured.filter(|before| before.0 <= most && least <= before.1);
        self.measured = Some(before.map_or((least, most), |before| (before.0.max(least), before.1.min(most))));
        self.guess();
    }

    /// Returns how far this machine's clock is ahead of the servers' clock, in milliseconds.
    /// Negative when it is behind.
    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms
    }

    /// Returns the most by which this machine's clock can be ahead, in milliseconds.
    ///
    /// A node is never seen before it is created, so each difference is an upper bound. Without any
    /// evidence the clocks are assumed to agree.
    pub fn ahead_at_most(&self) -> i64 {
        let sample = self.samples.iter().min().copied();
        let measured = self.measured.filter(|_| self.has_few_samples()).map(|(_, most)| most);
        let future = (self.server_is_ahead > 0 && sample.is_none()).then(|| self.server_is_ahead.saturating_neg());
        [sample, measured, future].into_iter().flatten().min().unwrap_or_default()
    }

    /// Returns the least by which this machine's clock can be ahead, in milliseconds.
    ///
    /// A few messages may all have arrived late, but not `ENOUGH_SAMPLES` of them.
    pub fn ahead_at_least(&self) -> i64 {
        match (self.ahead_at_most(), self.measured) {
            (most, Some((least, _))) if self.has_few_samples() => least.min(most),
            (1.., None) if self.has_few_samples() => 0,
            (ahead @ 0.., _) => ahead.saturating_sub(TOLERANCE_MS).max(0),
            (behind, _) => behind.saturating_sub(TOLERANCE_MS),
        }
    }

    fn has_few_samples(&self) -> bool {
        self.samples.len() < ENOUGH_SAMPLES
    }

    fn guess(&mut self) {
        let most = self.ahead_at_most();
        self.ahead_ms = match self.measured {
            // These bounds are more exact than a message that may be late, so they need no
            // tolerance.
            Some((least, _)) if self.has_few_samples() => 0.clamp(least.min(most), most),
            _ if most.saturating_abs() < TOLERANCE_MS => 0,
            _ => most,
        };
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

    #[test]
    fn the_fastest_of_some_messages_gives_the_difference() {
        let mut clock = Clock::default();
        for (ctime, now) in [(1_000, 61_400), (2_000, 62_030), (3_000, 65_000)] {
            clock.created(Timestamp(ctime), Timestamp(now));
        }
        assert_eq!(clock.ahead_ms(), 60_030);
    }

    #[test]
    fn message_delays_and_old_nodes_show_no_difference() {
        let mut clock = Clock::default();
        clock.found(Timestamp(0), Timestamp(1_000_000));
        assert_eq!(clock.ahead_ms(), 0);
        clock.created(Timestamp(1_000_000), Timestamp(1_000_300));
        assert_eq!(clock.ahead_ms(), 0);
    }

    #[test]
    fn a_node_from_the_future_shows_that_the_server_is_ahead() {
        let mut clock = Clock::default();
        clock.found(Timestamp(95_000), Timestamp(90_000));
        assert_eq!(clock.ahead_ms(), -5_000);
        clock.found(Timestamp(i64::MAX), Timestamp(i64::MIN));
        assert_eq!(clock.ahead_ms(), -i64::MAX);
    }

    #[test]
    fn the_difference_lies_between_its_bounds_while_messages_take_less_than_a_second() {
        for ahead in [-90_000, 0, 700, 90_000] {
            let mut clock = Clock::default();
            for delay in [900, 400, 990, 800, 700, 650, 999, 870, 300] {
                clock.created(Timestamp(1_000_000), Timestamp(1_000_000 + ahead + delay));
                let bounds = clock.ahead_at_least()..=clock.ahead_at_most();
                assert!(bounds.contains(&ahead), "{ahead} in {bounds:?}");
            }
        }
        assert_eq!((Clock::default().ahead_at_least(), Clock::default().ahead_at_most()), (0, 0));
    }

    #[test]
    fn our_own_connection_bounds_the_difference_before_any_node_is_created() {
        for ahead in [-300_000_i64, -400, 0, 400, 300_000] {
            let mut clock = Clock::default();
            clock.measured(ahead - 120, ahead + 180);
            // A less exact later answer changes nothing.
            clock.measured(ahead - 120, ahead + 9_000);
            assert_eq!((clock.ahead_at_least(), clock.ahead_at_most()), (ahead - 120, ahead + 180));
            assert!((clock.ahead_ms() - ahead).abs() < TOLERANCE_MS, "{ahead} {}", clock.ahead_ms());
            clock.created(Timestamp(1_000), Timestamp(1_000 + ahead + 5_000));
            let bounds = clock.ahead_at_least()..=clock.ahead_at_most();
            assert!(bounds.contains(&ahead) && (clock.ahead_ms() - ahead).abs() < TOLERANCE_MS, "a late message");
        }
        let mut set = Clock::default();
        set.measured(-100, 100);
        set.measured(59_900, 60_200);
        assert_eq!(set.ahead_ms(), 59_900);
    }

    #[test]
    fn a_corrected_clock_counts_after_some_creations() {
        let mut clock = Clock::default();
        clock.created(Timestamp(0), Timestamp(-60_000));
        for _ in 0..SAMPLES {
            clock.created(Timestamp(5), Timestamp(10));
        }
        assert_eq!(clock.ahead_ms(), 0);
    }
}
