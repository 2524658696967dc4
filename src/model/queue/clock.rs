//! Estimates the difference between this machine's clock and the servers' clock.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::Timestamp;

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
pub(super) struct Clock {
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
    /// A few messages may all have arrived late, but not [`ENOUGH_SAMPLES`] of them.
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
