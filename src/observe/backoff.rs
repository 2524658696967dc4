use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);

/// Waiting times that double from a quarter of a second to ten seconds, each shortened by up to a quarter at random so that
/// many consoles do not come back in step.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: FIRST }
    }

    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }

    pub(super) fn next(&mut self) -> Duration {
        let full = self.next;
        self.next = LONGEST.min(full * 2);
        // The keys of a fresh hasher are random, and this needs no better randomness than that.
        let random = u32::try_from(RandomState::new().hash_one(()) % 250).unwrap_or_default();
        full * (1000 - random) / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_grow_to_a_bound_and_start_over() {
        let mut backoff = Backoff::new();
        let times: Vec<Duration> = (0..12).map(|_| backoff.next()).collect();
        assert!(times[0] <= FIRST && times[0] >= FIRST * 3 / 4, "{times:?}");
        assert!(times[3] > times[0] * 4, "{times:?}");
        assert!(times.iter().all(|time| *time <= LONGEST), "{times:?}");
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
