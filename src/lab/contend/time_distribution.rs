//! Distributions of times and their quantiles.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::Quantiles;

/// The longest recorded time, in microseconds: an hour. Longer ones count as an hour.
pub(super) const MAX_MICROS: u64 = 3_600_000_000;

/// A distribution of times with cached quantiles.
#[derive(Debug)]
pub(super) struct TimeDistribution {
    histogram: Histogram<u32>,
    quantiles: Quantiles,
    changed: bool,
}

impl TimeDistribution {
    pub(super) fn new() -> Self {
        // The histogram grows with its values. Two digits are enough for one of many clients.
        let histogram = Histogram::new(2).expect("two digits are valid");
        Self { histogram, quantiles: Quantiles::default(), changed: false }
    }

    pub(super) fn add(&mut self, time: Duration) {
        // The histogram can grow to an hour, the bound of `micros`, so this never fails.
        let _ = self.histogram.record(micros(time));
        self.changed = true;
    }

    pub(super) fn quantiles(&mut self) -> Quantiles {
        if std::mem::take(&mut self.changed) {
            self.quantiles = quantiles(&self.histogram);
        }
        self.quantiles
    }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(MAX_MICROS).min(MAX_MICROS)
}

pub(super) fn quantiles<C: hdrhistogram::Counter>(histogram: &Histogram<C>) -> Quantiles {
    let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
    if histogram.is_empty() {
        return Quantiles::default();
    }
    Quantiles {
        count: histogram.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: Duration::from_micros(histogram.max()),
    }
}
