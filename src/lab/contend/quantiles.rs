//! Distributions of times, and the format of times in JSON.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The number of times.
    pub count: u64,
    /// The median.
    #[serde(rename = "p50", serialize_with = "ms")]
    pub p50: Duration,
    /// The 90th percentile.
    #[serde(rename = "p90", serialize_with = "ms")]
    pub p90: Duration,
    /// The 99th percentile.
    #[serde(rename = "p99", serialize_with = "ms")]
    pub p99: Duration,
    /// The maximum.
    #[serde(rename = "max", serialize_with = "ms")]
    pub max: Duration,
}

/// Serializes a time in milliseconds, with microseconds as decimals.
pub(super) fn ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Times of a run are far below 2^53 microseconds, up to which a double is exact.
    #[expect(clippy::cast_precision_loss, reason = "285 years")]
    serializer.serialize_f64(time.as_micros() as f64 / 1000.0)
}
