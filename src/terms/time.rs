//! The wall clock, and growing pauses between tries.
//!
//! Durations are measured with `Instant`. The wall clock only dates what is shown or written down.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::znode::Timestamp;

/// Returns the time of this machine's wall clock. The clock can jump: use it only for what is
/// shown, written down or compared with servers' times.
pub fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// Pauses that double from the first to the longest. Each is shortened by up to a quarter at
/// random, so that programs that failed together do not retry together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Creates a backoff whose next pause is at most `first` and whose pauses are at most
    /// `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// Returns the pause after one more failure.
    pub fn next_pause(&mut self) -> Duration {
        let full = self.next.min(self.longest);
        self.next = full.saturating_mul(2);
        full.saturating_sub(full / 1000 * fastrand::u32(..250))
    }

    /// Restarts from the first pause, after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_and_is_set() {
        let before = now();
        assert!(before.0 > 1_700_000_000_000 && now() >= before, "{before:?}");
    }

    const FIRST: Duration = Duration::from_millis(250);

    const LONGEST: Duration = Duration::from_secs(10);

    #[test]
    fn pauses_grow_to_a_bound_and_start_over() {
        let mut backoff = Backoff::new(FIRST, LONGEST);
        let pauses: Vec<Duration> = (0..12).map(|_| backoff.next_pause()).collect();
        for (doublings, pause) in pauses.iter().enumerate() {
            let full = LONGEST.min(FIRST * (1 << doublings));
            assert!(*pause <= full && *pause >= full * 3 / 4, "{pauses:?}");
        }
        backoff.reset();
        assert!(backoff.next_pause() <= FIRST);
    }

    #[test]
    fn two_programs_do_not_retry_together() {
        let pauses = || {
            let mut backoff = Backoff::new(FIRST, LONGEST);
            std::array::from_fn::<_, 12, _>(|_| backoff.next_pause())
        };
        assert_ne!(pauses(), pauses());
    }
}
