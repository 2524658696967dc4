//! Rates of a fleet per second, computed from totals.

use std::collections::VecDeque;
use std::time::Duration;

use super::status::FleetStatus;

/// The number of seconds for which watch events are kept.
pub const RATE_SECONDS: usize = 60;
/// The time over which a rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(5);
/// The shortest time that gives a rate.
const MIN_RATE_WINDOW: Duration = Duration::from_millis(500);

/// The totals of a fleet at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    age: Duration,
    acquisitions: u64,
    events: u64,
}

/// The rates and the recent history of a fleet. Times are the fleet's age.
#[derive(Clone, Debug, Default)]
pub struct FleetRates {
    recent: VecDeque<Sample>,
    /// The watch events of each second, the newest last.
    seconds: VecDeque<u64>,
    /// The fleet's second that the last of `seconds` counts.
    newest: u64,
}

impl FleetRates {
    /// Adds a status. The cost does not depend on the number of clients.
    pub fn add(&mut self, status: &FleetStatus) {
        let totals = &status.totals;
        let now = Sample { age: status.age, acquisitions: totals.acquisitions, events: totals.events };
        let last = self.recent.back().copied();
        if last.is_some_and(|last| last.age >= now.age) {
            return;
        }
        // The time before the clients contend does not count.
        if status.elapsed.is_zero() {
            self.recent.clear();
        }
        self.count(now.age, now.events.saturating_sub(last.map_or(0, |last| last.events)));
        self.recent.push_back(now);
        while self.recent.get(1).is_some_and(|second| now.age.saturating_sub(second.age) >= RATE_WINDOW) {
            self.recent.pop_front();
        }
    }

    fn count(&mut self, age: Duration, events: u64) {
        let second = age.as_secs();
        let passed = if self.seconds.is_empty() { 1 } else { second.saturating_sub(self.newest) };
        for _ in 0..passed.min(RATE_SECONDS as u64) {
            self.seconds.push_back(0);
        }
        while self.seconds.len() > RATE_SECONDS {
            self.seconds.pop_front();
        }
        self.newest = second;
        // Events since the last status are spread evenly over the seconds since then.
        let over = passed.clamp(1, self.seconds.len().max(1) as u64);
        let (each, rest) = (events / over, events % over);
        for (at, value) in self.seconds.iter_mut().rev().take(usize::try_from(over).unwrap_or(1)).enumerate() {
            *value += each + u64::from((at as u64) < rest);
        }
    }

    /// Returns the watch events of each of the last seconds, oldest first. The last second is not
    /// over.
    pub fn seconds(&self) -> Vec<u64> {
        self.seconds.iter().copied().collect()
    }

    /// Returns the most watch events of any kept second.
    pub fn highest(&self) -> u64 {
        self.seconds.iter().copied().max().unwrap_or(0)
    }

    /// Returns the acquisitions per second over the last seconds; `None` while too little time has
    /// passed.
    pub fn acquisitions(&self) -> Option<f64> {
        self.rate(|sample| sample.acquisitions)
    }

    /// Returns the watch events per second over the last seconds; `None` while too little time has
    /// passed.
    pub fn events(&self) -> Option<f64> {
        self.rate(|sample| sample.events)
    }

    #[expect(clippy::cast_precision_loss, reason = "rates are rounded for display")]
    fn rate(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let time = last.age.saturating_sub(first.age);
        (time >= MIN_RATE_WINDOW).then(|| of(last).saturating_sub(of(first)) as f64 / time.as_secs_f64())
    }
}
