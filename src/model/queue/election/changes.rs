//! Counts changes of leader by the minute.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::Timestamp;

const MINUTE_MS: i64 = 60_000;

/// How long changes are counted.
const MAX_AGE_MINUTES: i64 = 24 * 60;

/// The changes of the last day, by the minute: at most one entry for each minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ChangeCounts(VecDeque<(i64, u32)>);

impl ChangeCounts {
    pub fn add(&mut self, at: Timestamp) {
        let minute = at.0.div_euclid(MINUTE_MS);
        match self.0.back_mut() {
            // A clock that was set back counts into the last minute.
            Some((last, count)) if *last >= minute => *count = count.saturating_add(1),
            _ => self.0.push_back((minute, 1)),
        }
        while self.0.front().is_some_and(|(first, _)| minute.saturating_sub(*first) > MAX_AGE_MINUTES) {
            self.0.pop_front();
        }
    }

    /// Returns how many changes there were within a time before `now`, to the minute.
    pub fn within(&self, time: Duration, now: Timestamp) -> u32 {
        let first = now.minus(time).0.div_euclid(MINUTE_MS);
        self.0
            .iter()
            .rev()
            .take_while(|(minute, _)| *minute > first)
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_for_a_day() {
        let mut counts = ChangeCounts::default();
        let at = |minute: i64| Timestamp(minute * MINUTE_MS + 10);
        for minute in [0, 0, 30, 50, 50, 50, 3_000] {
            counts.add(at(minute));
            if minute == 50 {
                assert_eq!(
                    counts.within(Duration::from_secs(3_600), at(50)),
                    counts.0.iter().map(|(_, count)| count).sum::<u32>()
                );
            }
        }
        assert_eq!(counts.0.len(), 1);
        assert_eq!(counts.within(Duration::from_secs(60), at(3_000)), 1);
        assert_eq!(counts.within(Duration::from_secs(60), at(3_001)), 0);
    }
}
