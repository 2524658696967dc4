//! How far this machine's clock and the servers' differ.

use std::collections::VecDeque;

use crate::znode::Timestamp;

/// How many of the last creations the difference is taken from: enough to see one that came without delay.
const SAMPLES: usize = 32;

/// How many creations are enough to take it that one of them came without delay.
const ENOUGH_SAMPLES: usize = 8;

/// Differences below this, in milliseconds, are taken for the time that a message travels.
const TOLERANCE_MS: i64 = 1_000;

/// How far this machine's clock and the servers' differ, as far as nodes show that are created while the table is live.
///
/// A node that was just created shows the server's clock with the delay of a watch event and a read. The smallest of
/// some such differences is the best guess; a node from the future shows at once that the server is ahead.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    samples: VecDeque<i64>,
    server_is_ahead: i64,
    /// What follows from these.
    ahead_ms: i64,
}

impl Clock {
    /// A node that was created just now.
    pub fn created(&mut self, ctime: Timestamp, now: Timestamp) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(now.0.saturating_sub(ctime.0));
        self.guess();
    }

    /// A node that was created at some time before.
    pub fn found(&mut self, ctime: Timestamp, now: Timestamp) {
        let ahead = ctime.0.saturating_sub(now.0);
        if ahead > self.server_is_ahead {
            self.server_is_ahead = ahead;
            self.guess();
        }
    }

    /// By how much this machine's clock is ahead of the servers', in milliseconds; negative when it is behind.
    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms
    }

    /// By how much this machine's clock is ahead at the most. A node is never seen before it is created, so each difference bounds it;
    /// without any the clocks are taken to agree.
    pub fn ahead_at_most(&self) -> i64 {
        self.samples.iter().min().copied().unwrap_or_else(|| self.server_is_ahead.saturating_neg())
    }

    /// By how much it is ahead at the least. A few messages may all have come late; many never do.
    pub fn ahead_at_least(&self) -> i64 {
        match self.ahead_at_most() {
            1.. if self.samples.len() < ENOUGH_SAMPLES => 0,
            ahead @ 0.. => ahead.saturating_sub(TOLERANCE_MS).max(0),
            behind => behind.saturating_sub(TOLERANCE_MS),
        }
    }

    fn guess(&mut self) {
        let guess = self.samples.iter().min().copied().unwrap_or_else(|| self.server_is_ahead.saturating_neg());
        self.ahead_ms = if guess.saturating_abs() < TOLERANCE_MS { 0 } else { guess };
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
    fn delays_alone_are_no_difference_and_old_nodes_show_nothing() {
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
    fn a_clock_that_was_set_right_counts_after_some_creations() {
        let mut clock = Clock::default();
        clock.created(Timestamp(0), Timestamp(-60_000));
        for _ in 0..SAMPLES {
            clock.created(Timestamp(5), Timestamp(10));
        }
        assert_eq!(clock.ahead_ms(), 0);
    }
}
