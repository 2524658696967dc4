//! Figures of a fleet per second, made of totals.

use std::collections::VecDeque;
use std::time::Duration;

use super::status::FleetStatus;

/// Seconds of watch events that are kept.
pub const RATE_SECONDS: usize = 60;
/// Over how long a rate is an average.
const RATE_WINDOW: Duration = Duration::from_secs(5);
/// The least time over which a rate says anything.
const MIN_RATE_WINDOW: Duration = Duration::from_millis(500);

/// The figures at one moment of a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    age: Duration,
    acquisitions: u64,
    events: u64,
}

/// Rates and a history, from one status to the next. The time is the fleet's own age.
#[derive(Clone, Debug, Default)]
pub struct FleetRates {
    recent: VecDeque<Sample>,
    /// Watch events of each second, the newest last.
    seconds: VecDeque<u64>,
    /// The second that is the last of `seconds`.
    newest: u64,
}

impl FleetRates {
    /// Takes a status in. Work does not follow the number of clients.
    pub fn take(&mut self, status: &FleetStatus) {
        let totals = &status.totals;
        let now = Sample { age: status.age, acquisitions: totals.acquisitions, events: totals.events };
        let last = self.recent.back().copied();
        if last.is_some_and(|last| last.age >= now.age) {
            return;
        }
        // Before they contend, time counts for nothing.
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
        // What came since the last status came in all seconds since then alike.
        let over = passed.clamp(1, self.seconds.len().max(1) as u64);
        let (each, rest) = (events / over, events % over);
        for (at, value) in self.seconds.iter_mut().rev().take(usize::try_from(over).unwrap_or(1)).enumerate() {
            *value += each + u64::from((at as u64) < rest);
        }
    }

    /// Watch events of each of the last seconds, oldest first; the last one is under way.
    pub fn seconds(&self) -> Vec<u64> {
        self.seconds.iter().copied().collect()
    }

    /// The most watch events of any second that is kept.
    pub fn highest(&self) -> u64 {
        self.seconds.iter().copied().max().unwrap_or(0)
    }

    /// Acquisitions a second, over the last seconds; `None` as long as that cannot be said.
    pub fn acquisitions(&self) -> Option<f64> {
        self.rate(|sample| sample.acquisitions)
    }

    /// Watch events a second, over the last seconds; `None` as long as that cannot be said.
    pub fn events(&self) -> Option<f64> {
        self.rate(|sample| sample.events)
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
    fn rate(&self, of: impl Fn(&Sample) -> u64) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let time = last.age.saturating_sub(first.age);
        (time >= MIN_RATE_WINDOW).then(|| of(last).saturating_sub(of(first)) as f64 / time.as_secs_f64())
    }
}
