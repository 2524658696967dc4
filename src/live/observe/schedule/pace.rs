//! When a request may be sent while the follower is synced: a budget of requests, and the age of
//! waiting reads. Pure.

use std::time::Duration;

/// The most requests for live reads per second, as long as no read waits longer than
/// [`MAX_READ_AGE`].
pub(super) const REQUESTS_PER_SECOND: u32 = 50;

/// The longest wait of a read while there is room for another request.
pub(super) const MAX_READ_AGE: Duration = Duration::from_millis(25);

/// The most requests sent at once after a quiet time: on a quiet ensemble each change is seen at
/// once.
pub(super) const MAX_BURST: u32 = 10;

/// The time in which the budget grows by one request.
const COST: Duration = Duration::from_millis(1000 / REQUESTS_PER_SECOND as u64);

/// Decides when the next request may be sent. Times are since the connection began.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPace {
    /// The unused budget, as time.
    credit: Duration,
    counted_at: Duration,
    /// Since when reads have been waiting.
    waiting_since: Option<Duration>,
}

impl Default for ReadPace {
    fn default() -> Self {
        Self { credit: COST * MAX_BURST, counted_at: Duration::ZERO, waiting_since: None }
    }
}

impl ReadPace {
    /// Returns when a request may be sent for the waiting reads, which may be in the past.
    pub(super) fn due(&mut self, now: Duration) -> Duration {
        self.count(now);
        let since = *self.waiting_since.get_or_insert(now);
        let affordable = now + COST.saturating_sub(self.credit);
        affordable.min(since + MAX_READ_AGE)
    }

    /// Records a sent request. `left` says whether reads remain.
    pub(super) fn sent(&mut self, now: Duration, left: bool) {
        self.count(now);
        self.credit = self.credit.saturating_sub(COST);
        if !left {
            self.waiting_since = None;
        }
    }

    /// Records that no reads wait any more.
    pub(super) fn nothing_waits(&mut self) {
        self.waiting_since = None;
    }

    fn count(&mut self, now: Duration) {
        self.credit = (self.credit + now.saturating_sub(self.counted_at)).min(COST * MAX_BURST);
        self.counted_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn rare_changes_are_read_at_once() {
        let mut pace = ReadPace::default();
        for turn in 0..1000 {
            let now = COST * turn;
            assert_eq!(pace.due(now), now);
            pace.sent(now, false);
        }
    }

    #[test]
    fn constant_changes_are_read_at_the_rate_of_the_budget() {
        let mut pace = ReadPace::default();
        let (mut sent, mut oldest) = (0, Duration::ZERO);
        for now in (0..10_000).map(|turn| MS * turn) {
            let since = *pace.waiting_since.get_or_insert(now);
            if pace.due(now) <= now {
                oldest = oldest.max(now.saturating_sub(since));
                pace.sent(now, false);
                sent += 1;
            }
        }
        assert!(sent <= 10 * REQUESTS_PER_SECOND + MAX_BURST, "{sent}");
        assert!(oldest <= MAX_READ_AGE, "{oldest:?}");
    }

    #[test]
    fn old_reads_are_sent_even_without_budget() {
        let mut pace = ReadPace::default();
        for _ in 0..100 {
            pace.due(Duration::ZERO);
            pace.sent(Duration::ZERO, true);
        }
        assert_eq!(pace.due(MS), COST, "the budget allows one in {COST:?}");
        pace.waiting_since = Some(Duration::ZERO);
        assert!(pace.due(MS * 40) <= MS * 40);
    }
}
