//! Writes a scrape as text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::plain_text::plain_text;
use super::{Scrape, families, servers};

/// Approximate size of the series of a lock with histograms, in bytes.
const BYTES_PER_LOCK: usize = 5_000;

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        families::of_ensemble(self, &mut encoder)?;
        servers::of_servers(self, &mut encoder)?;
        families::of_locks(self, &mut encoder)?;
        families::of_histograms(self, &mut encoder)
    }
}

/// Writes a scrape in the `OpenMetrics` 1.0 text format.
///
/// # Errors
///
/// Never in practice: writing into a `String` succeeds.
pub fn to_open_metrics(scrape: Scrape) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity((scrape.named.len() + 2) * BYTES_PER_LOCK);
    let mut registry = Registry::with_labels([("ensemble".into(), scrape.ensemble.clone().into())].into_iter());
    registry.register_collector(Box::new(scrape));
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Writes a scrape in Prometheus' own text format, for clients without `OpenMetrics`.
///
/// # Errors
///
/// Never in practice, as for [`to_open_metrics`].
pub fn to_plain_text(scrape: Scrape) -> Result<String, fmt::Error> {
    Ok(plain_text(&to_open_metrics(scrape)?))
}
