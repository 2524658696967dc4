//! A histogram of durations.

/// The upper bounds of the buckets, in seconds. A last bucket has no bound.
pub const BOUNDS_SECONDS: [f64; 14] =
    [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BOUNDS_SECONDS.len() + 1],
    sum_ms: u64,
}

impl Histogram {
    /// Adds a duration of `ms` milliseconds.
    pub fn add(&mut self, ms: u64) {
        let took = seconds(ms);
        let bucket = BOUNDS_SECONDS.partition_point(|bound| *bound < took);
        self.counts[bucket] += 1;
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of all durations, in seconds.
    pub fn sum_seconds(&self) -> f64 {
        seconds(self.sum_ms)
    }

    /// Returns the buckets, each with its upper bound and its own count. The last bound is
    /// infinite.
    pub(super) fn buckets(&self) -> [(f64, u64); BOUNDS_SECONDS.len() + 1] {
        std::array::from_fn(|at| (BOUNDS_SECONDS.get(at).copied().unwrap_or(f64::INFINITY), self.counts[at]))
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285,000 years")]
pub(super) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_it_fits_into() {
        let mut histogram = Histogram::default();
        for ms in [0, 1, 2, 30_000, 30_001, 7_200_000] {
            histogram.add(ms);
        }
        let filled: Vec<_> = histogram.buckets().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.001, 2), (0.005, 1), (30.0, 1), (60.0, 1), (f64::INFINITY, 1)]);
        assert_eq!(histogram.count(), 6);
        assert!((histogram.sum_seconds() - 7_260.004).abs() < 1e-9);
    }
}
