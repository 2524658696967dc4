//! Sparklines: one column for each value, as high as the value is large.

/// Returns the signs for the newest values that fit into `columns`, on a scale up to `highest`.
///
/// A value above zero is always visible.
pub fn line(values: &[u64], columns: usize, highest: u64, levels: &[&'static str; 9]) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    shown.iter().map(|value| levels[level(*value, highest)]).collect()
}

fn level(value: u64, highest: u64) -> usize {
    let eighths = u128::from(value) * 8;
    let level = eighths.div_ceil(u128::from(highest.max(1)));
    usize::try_from(level.min(8)).unwrap_or(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [&str; 9] = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];

    #[test]
    fn the_highest_value_is_full_and_the_smallest_is_visible() {
        assert_eq!(line(&[0, 1, 50, 100], 10, 100, &LEVELS), "0148");
        assert_eq!(line(&[1, 2, 3], 2, 3, &LEVELS), "68");
        assert_eq!(line(&[0, 0], 5, 0, &LEVELS), "00");
        assert_eq!(line(&[u64::MAX], 5, u64::MAX, &LEVELS), "8");
    }
}
