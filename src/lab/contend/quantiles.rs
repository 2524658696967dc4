//! Distributions of times, and times as the JSON has them.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many there were.
    pub count: u64,
    /// Half were no longer.
    #[serde(rename = "p50", serialize_with = "ms")]
    pub p50: Duration,
    /// 90 of 100 were no longer.
    #[serde(rename = "p90", serialize_with = "ms")]
    pub p90: Duration,
    /// 99 of 100 were no longer.
    #[serde(rename = "p99", serialize_with = "ms")]
    pub p99: Duration,
    /// None was longer.
    #[serde(rename = "max", serialize_with = "ms")]
    pub max: Duration,
}

/// Milliseconds, with microseconds behind the point.
pub(super) fn ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Times of a run are far below the 2^53 microseconds from which on a double leaves some out.
    #[expect(clippy::cast_precision_loss, reason = "285 years")]
    serializer.serialize_f64(time.as_micros() as f64 / 1000.0)
}
