//! Changes of an ensemble a second.

use lockscope_base::znode::Timestamp;

/// The window of the rate, in seconds.
const WINDOW: u8 = 10;

/// Counts changes over a sliding window of ten seconds.
#[derive(Clone, Debug, Default)]
pub struct ChangeRate {
    /// The changes of each second of the window; the second modulo the window is the position.
    seconds: [u32; WINDOW as usize],
    /// The second of the last count.
    last: i64,
}

impl ChangeRate {
    /// Counts changes.
    pub fn add(&mut self, changes: usize, now: Timestamp) {
        let second = now.0.div_euclid(1_000);
        // A clock that goes back starts over.
        let window = i64::from(WINDOW);
        let passed = if second < self.last { window } else { (second - self.last).min(window) };
        for before in 0..passed {
            self.seconds[place(second - before)] = 0;
        }
        self.last = second;
        let count = &mut self.seconds[place(second)];
        *count = count.saturating_add(u32::try_from(changes).unwrap_or(u32::MAX));
    }

    /// Returns the changes a second, over the last ten complete or running seconds.
    pub fn per_second(&self, now: Timestamp) -> f64 {
        let second = now.0.div_euclid(1_000);
        let window = i64::from(WINDOW);
        let counted = (0..window).filter(|before| (self.last - window + 1..=self.last).contains(&(second - before)));
        let changes: u64 = counted.map(|before| u64::from(self.seconds[place(second - before)])).sum();
        // Ten seconds of `u32` fit a float exactly.
        #[expect(clippy::cast_precision_loss, reason = "at most ten times `u32::MAX`")]
        let rate = changes as f64 / f64::from(WINDOW);
        rate
    }
}

/// Returns the position of a second.
fn place(second: i64) -> usize {
    usize::try_from(second.rem_euclid(i64::from(WINDOW))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(1_700_000_000_000 + seconds * 1_000)
    }

    #[test]
    fn changes_leave_the_rate_after_ten_seconds() {
        let mut rate = ChangeRate::default();
        rate.add(30, at(0));
        rate.add(20, at(4));
        let seen = [4, 9, 10, 13, 14, 100].map(|second| rate.per_second(at(second)).to_string());
        assert_eq!(seen, ["5", "5", "2", "2", "0", "0"]);
        rate.add(10, at(100));
        assert_eq!(rate.per_second(at(101)).to_string(), "1", "what was counted before is forgotten");
    }

    #[test]
    fn a_clock_that_goes_back_starts_over() {
        let mut rate = ChangeRate::default();
        rate.add(100, at(50));
        rate.add(10, at(7));
        assert_eq!(rate.per_second(at(7)).to_string(), "1");
    }
}
