//! Percentiles of lengths.

/// The number of lengths and their percentiles, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The number of known lengths.
    pub count: usize,
    /// Half of the lengths do not exceed it. All percentiles are zero without lengths.
    pub p50: u64,
    /// Nine of ten lengths do not exceed it.
    pub p90: u64,
    /// 99 of 100 lengths do not exceed it.
    pub p99: u64,
    /// The longest length.
    pub max: u64,
}

impl Percentiles {
    /// Computes percentiles by the nearest rank. Linear.
    pub(super) fn of(mut lengths: Vec<u64>) -> Self {
        let count = lengths.len();
        let mut from = 0;
        // Ranks in rising order: each selection separates the shorter lengths from those that
        // contain the next rank.
        let mut rank = |percent: usize| {
            let at = (count * percent).div_ceil(100).saturating_sub(1);
            let longer = lengths.get_mut(from..).filter(|longer| !longer.is_empty())?;
            let found = *longer.select_nth_unstable(at - from).1;
            from = at;
            Some(found)
        };
        let mut rank = |percent| rank(percent).unwrap_or(0);
        Self { count, p50: rank(50), p90: rank(90), p99: rank(99), max: rank(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_lengths() {
        let of = |lengths: &[u64]| Percentiles::of(lengths.to_vec());
        assert_eq!(of(&[]), Percentiles::default());
        assert_eq!(of(&[7]), Percentiles { count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&hundred), Percentiles { count: 100, p50: 50, p90: 90, p99: 99, max: 100 });
        assert_eq!(of(&[1, 2, 3, 1000]), Percentiles { count: 4, p50: 2, p90: 1000, p99: 1000, max: 1000 });
    }
}
