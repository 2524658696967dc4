//! Logarithmic axes: their ranges, the places of values, and the labelled values.

/// The distance from the end of an axis to its smallest positive value if zero has a row there, in
/// pixels.
const ZERO_ROW: f64 = 24.0;

/// The maximum number of labels on an axis of values.
const MAX_TICKS: usize = 9;

/// The first digits of round numbers.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

/// A logarithmic axis from one place to another, in pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlotAxis {
    low: f64,
    high: f64,
    /// The place of zero; `None` if no value is zero.
    zero: Option<f64>,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl PlotAxis {
    /// Creates an axis for values of zero or above. It spans at least a power of ten, between round
    /// numbers, which are its ticks.
    pub(super) fn of_values(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high, mut has_zero) = (f64::INFINITY, 0.0_f64, false);
        for value in values.filter(|value| value.is_finite()) {
            if value > 0.0 {
                (low, high) = (low.min(value), high.max(value));
            } else {
                has_zero = true;
            }
        }
        if high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let (mut first, mut last) = (step_down(low), step_up(high));
        // Three steps make a power of ten.
        while last - first < 3 {
            last += 1;
            if last - first < 3 {
                first -= 1;
            }
        }
        let zero = has_zero.then_some(from);
        let from = if has_zero { from + ZERO_ROW.copysign(to - from) } else { from };
        let mut ticks: Vec<f64> = labelled(first, last).map(round_number).collect();
        if has_zero {
            ticks.insert(0, 0.0);
        }
        Self { low: round_number(first), high: round_number(last), zero, from, to, ticks }
    }

    /// Creates an axis for numbers of clients, from the smallest to the largest. Each number is a
    /// tick. A single one is in the middle.
    pub(super) fn of_sizes(sizes: &[u32], from: f64, to: f64) -> Self {
        let ticks: Vec<f64> = sizes.iter().copied().map(f64::from).collect();
        let (low, high) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(1.0));
        Self { low, high, zero: None, from, to, ticks }
    }

    /// Returns the place of a value, in pixels.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.zero {
            Some(zero) if value <= 0.0 => zero,
            _ if self.high <= self.low => f64::midpoint(self.from, self.to),
            _ => {
                let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
                self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
            }
        }
    }

    /// Returns the labelled values, the smallest first.
    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// Returns the round number of a step: 0 is 1, 1 is 2, 2 is 5, 3 is 10, -1 is 0.5.
fn round_number(step: i32) -> f64 {
    let first_digit = ROUND[usize::try_from(step.rem_euclid(3)).unwrap_or_default()];
    let power = step.div_euclid(3);
    // A division gives 0.5 instead of 0.5000000000000001.
    if power < 0 { first_digit / 10_f64.powi(-power) } else { first_digit * 10_f64.powi(power) }
}

/// Returns the step of the largest round number that is at most a positive value.
fn step_down(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a double is below 400")]
    let power = value.log10().floor() as i32;
    let steps = (3 * power - 3)..=(3 * power + 3);
    steps.rev().find(|step| round_number(*step) <= value).unwrap_or(3 * power)
}

/// Returns the step of the smallest round number that is at least a positive value.
fn step_up(value: f64) -> i32 {
    let down = step_down(value);
    if round_number(down) < value { down + 1 } else { down }
}

/// Returns the steps from `first` to `last`. If they are too many, returns only powers of ten, or
/// every second one, and so on.
fn labelled(first: i32, last: i32) -> impl Iterator<Item = i32> {
    let many = |every: i32| (first..=last).filter(move |step| step.rem_euclid(every) == 0);
    // Intervals of one step, one power of ten, two powers, and so on: doubles span some 630 powers
    // of ten.
    let every = (0..=630).map(|powers| (3 * powers).max(1)).find(|every| many(*every).count() <= MAX_TICKS);
    many(every.unwrap_or(1))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the places are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(values: &[f64]) -> PlotAxis {
        PlotAxis::of_values(values.iter().copied(), 300.0, 0.0)
    }

    #[test]
    fn an_axis_spans_round_numbers_and_labels_them() {
        assert_eq!(axis(&[16.0, 2400.0]).ticks(), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        assert_eq!(axis(&[1.0, 100_000.0]).ticks(), [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        assert_eq!(axis(&[4.0, 6.0]).ticks(), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(axis(&[0.03]).ticks(), [0.01, 0.02, 0.05, 0.1]);
        assert!(axis(&[1e-300, 1e300]).ticks().len() <= MAX_TICKS);
    }

    #[test]
    fn zero_has_its_own_row_below_all_others() {
        let with = axis(&[0.0, 2.0, 20.0]);
        assert_eq!(with.ticks(), [0.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!([0.0, 2.0, 20.0].map(|value| with.place(value)), [300.0, 276.0, 0.0]);
        assert_eq!(axis(&[0.0]).place(0.0), 300.0);
        assert_eq!(axis(&[]).ticks(), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_single_size_is_in_the_middle() {
        assert_eq!(PlotAxis::of_sizes(&[7], 0.0, 100.0).place(7.0), 50.0);
        let axis = PlotAxis::of_sizes(&[1, 10, 100], 0.0, 100.0);
        assert_eq!([1.0, 10.0, 100.0].map(|size| axis.place(size).round()), [0.0, 50.0, 100.0]);
        assert_eq!(PlotAxis::of_sizes(&[], 0.0, 100.0).ticks().len(), 0);
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_on_the_axis(values in prop::collection::vec(0.0..1e12_f64, 0..10)) {
            let axis = axis(&values);
            let ticks = axis.ticks();
            prop_assert!(!ticks.is_empty() && ticks.len() <= MAX_TICKS + 1 && ticks.is_sorted(), "{:?}", ticks);
            for value in values {
                prop_assert!((0.0..=300.0).contains(&axis.place(value)), "{}", value);
            }
        }
    }
}
