use std::ops::Sub;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What locks have cost the servers so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests sent, each attempt of one that had to be sent again included.
    pub requests: u64,
    /// Watch events that were delivered.
    pub events: u64,
}

impl Sub for Cost {
    type Output = Self;

    /// What came since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            events: self.events.saturating_sub(earlier.events),
        }
    }
}

/// Counts what locks cost. Clones count together; give one to several locks (see
/// [`Options::probe`](super::Options::probe)) to count them as one.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    events: AtomicU64,
}

impl Probe {
    /// The cost so far, of what has ended and what is under way.
    pub fn cost(&self) -> Cost {
        // Two counters that need not agree with each other at any one moment.
        Cost { requests: self.0.requests.load(Ordering::Relaxed), events: self.0.events.load(Ordering::Relaxed) }
    }
}

/// Counts for one attempt and for the lock's probe at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    pub(super) attempt: Probe,
    pub(super) lock: Probe,
}

impl Meter {
    pub(super) fn of(lock: &Probe) -> Self {
        Self { attempt: Probe::default(), lock: lock.clone() }
    }

    pub(super) fn request(&self) {
        for Probe(counters) in [&self.attempt, &self.lock] {
            counters.requests.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn event(&self) {
        for Probe(counters) in [&self.attempt, &self.lock] {
            counters.events.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_counts_for_its_lock_too() {
        let lock = Probe::default();
        let (first, second) = (Meter::of(&lock), Meter::of(&lock));
        first.request();
        second.request();
        second.event();
        assert_eq!(first.attempt.cost(), Cost { requests: 1, events: 0 });
        assert_eq!(lock.cost() - first.attempt.cost(), second.attempt.cost());
    }
}
