//! Rates of watch events, wake-ups in vain and requests, computed from growing totals.

use std::collections::VecDeque;
use std::time::Duration;

use super::replay::WakeCounts;

/// The time over which rates are averaged.
const WINDOW: Duration = Duration::from_secs(3);
/// The shortest time over which a rate is meaningful.
const MIN_WINDOW: Duration = Duration::from_millis(500);

/// The totals of the last seconds, by the fleet's age.
#[derive(Clone, Debug, Default)]
pub struct WakeRates {
    recent: VecDeque<(Duration, WakeCounts)>,
}

impl WakeRates {
    /// Takes in the totals at an age. Totals of an age already known are ignored.
    pub fn add(&mut self, age: Duration, counts: WakeCounts) {
        if self.recent.back().is_some_and(|(last, _)| *last >= age) {
            return;
        }
        self.recent.push_back((age, counts));
        while self.recent.get(1).is_some_and(|(second, _)| age.saturating_sub(*second) >= WINDOW) {
            self.recent.pop_front();
        }
    }

    /// Returns watch events, wake-ups in vain and requests a second; `None` until enough time has
    /// passed.
    pub fn per_second(&self) -> Option<[f64; 3]> {
        let ((first, then), (last, now)) = (self.recent.front()?, self.recent.back()?);
        let passed = last.saturating_sub(*first);
        if passed < MIN_WINDOW {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / passed.as_secs_f64();
        Some([rate(then.woken, now.woken), rate(then.in_vain, now.in_vain), rate(then.requests, now.requests)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_cover_the_last_seconds() {
        let mut rates = WakeRates::default();
        assert_eq!(rates.per_second(), None);
        for second in 0..10_u64 {
            let counts = WakeCounts { woken: second * 20, in_vain: second * 10, requests: second * 30 };
            rates.add(Duration::from_secs(second), counts);
        }
        rates.add(Duration::from_secs(9), WakeCounts::default());
        assert_eq!(rates.per_second(), Some([20.0, 10.0, 30.0]));
    }
}
