//! When a request may be sent while everything is known: a budget of requests, and the age of what waits. Pure.

use std::time::Duration;

/// How many requests for live reads are sent in a second at most, as long as none of the reads waits for longer than
/// [`MAX_READ_AGE`].
pub(super) const REQUESTS_PER_SECOND: u32 = 50;

/// How long a read waits at most while there is room for another request.
pub(super) const MAX_READ_AGE: Duration = Duration::from_millis(25);

/// Requests that may be sent at once after a while without any: whoever looks at a quiet ensemble sees each change at once.
pub(super) const MAX_BURST: u32 = 10;

/// The time in which the budget grows by one request.
const COST: Duration = Duration::from_millis(1000 / REQUESTS_PER_SECOND as u64);

/// Says when the next request may be sent. Times are since the connection began.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPace {
    /// What may be spent, in time.
    credit: Duration,
    counted_at: Duration,
    /// Since when there is anything to read.
    waiting_since: Option<Duration>,
}

impl Default for ReadPace {
    fn default() -> Self {
        Self { credit: COST * MAX_BURST, counted_at: Duration::ZERO, waiting_since: None }
    }
}

impl ReadPace {
    /// Reads wait: the time at which a request may be sent for them, which may have come.
    pub(super) fn due(&mut self, now: Duration) -> Duration {
        self.count(now);
        let since = *self.waiting_since.get_or_insert(now);
        let affordable = now + COST.saturating_sub(self.credit);
        affordable.min(since + MAX_READ_AGE)
    }

    /// A request was sent; `left`: whether there is more to read.
    pub(super) fn sent(&mut self, now: Duration, left: bool) {
        self.count(now);
        self.credit = self.credit.saturating_sub(COST);
        if !left {
            self.waiting_since = None;
        }
    }

    /// Nothing waits any more.
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
    fn what_comes_seldom_is_read_at_once() {
        let mut pace = ReadPace::default();
        for turn in 0..1000 {
            let now = COST * turn;
            assert_eq!(pace.due(now), now);
            pace.sent(now, false);
        }
    }

    #[test]
    fn what_comes_all_the_time_is_read_as_often_as_the_budget_says() {
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
    fn what_is_old_goes_whatever_was_spent() {
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
