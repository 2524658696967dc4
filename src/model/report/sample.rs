//! A lock's sampled counts as JSON.

use serde::Serialize;

use super::rfc3339;
use crate::queue::{ChildRates, LockName, SampledCounts};

/// Counts of the children of a lock's parent, sampled during an overload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFacts {
    /// The times of the last sample and of the first.
    at: Option<String>,
    since: Option<String>,
    children: u64,
    created: u64,
    deleted: u64,
    /// `null` at the first sample.
    created_per_second: Option<f64>,
    deleted_per_second: Option<f64>,
}

impl From<SampledCounts> for SampleFacts {
    fn from(counts: SampledCounts) -> Self {
        let rate = |which: fn(ChildRates) -> f64| counts.per_second.map(|rates| (which(rates) * 10.0).round() / 10.0);
        Self {
            at: rfc3339(counts.at),
            since: rfc3339(counts.since),
            children: counts.children,
            created: counts.created,
            deleted: counts.deleted,
            created_per_second: rate(|rates| rates.created),
            deleted_per_second: rate(|rates| rates.deleted),
        }
    }
}

/// A lock's sample as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleLine<'a> {
    event: &'static str,
    lock: &'a str,
    /// The queue's name, where the parent has several queues. The counts cover all of them.
    name: Option<&'a str>,
    #[serde(flatten)]
    facts: SampleFacts,
}

impl<'a> SampleLine<'a> {
    /// The name of the event.
    pub const EVENT: &'static str = "sampled";

    /// Creates the line of a lock.
    pub fn new(lock: &'a LockName, counts: SampledCounts) -> Self {
        Self { event: Self::EVENT, lock: lock.path.as_str(), name: lock.name.as_deref(), facts: counts.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::queue::LockId;
    use lockscope_base::znode::{Timestamp, ZnodePath};

    #[test]
    fn a_sample_contains_its_counts_and_times() {
        let lock = LockName { id: LockId(7), path: ZnodePath::new("/locks/a").unwrap(), name: None };
        let counts = SampledCounts {
            at: Timestamp(1_714_574_467_250),
            since: Timestamp(1_714_574_457_250),
            children: 128,
            created: 500,
            deleted: 480,
            per_second: Some(ChildRates { created: 50.04, deleted: 48.0 }),
        };
        let line = serde_json::to_value(SampleLine::new(&lock, counts)).unwrap();
        let expected = json!({
            "at": "2024-05-01T14:41:07.250Z", "since": "2024-05-01T14:40:57.250Z", "event": "sampled", "lock": "/locks/a", "name": null,
            "children": 128, "created": 500, "deleted": 480, "created_per_second": 50.0, "deleted_per_second": 48.0,
        });
        assert_eq!(line, expected);
        let first = serde_json::to_value(SampleLine::new(&lock, SampledCounts { per_second: None, ..counts })).unwrap();
        assert!(first["created_per_second"].is_null() && first["deleted_per_second"].is_null());
    }
}
