//! Writes a scrape as text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::merged::merged;
use super::plain_text::plain_text;
use super::{Scrape, Scrapes, families, servers};

/// Approximate size of the series of a lock with histograms, in bytes.
const BYTES_PER_LOCK: usize = 5_000;

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        families::of_ensemble(self, &mut encoder)?;
        servers::of_servers(self, &mut encoder)?;
        families::of_checks(self, &mut encoder)?;
        families::of_locks(self, &mut encoder)?;
        families::of_histograms(self, &mut encoder)
    }
}

/// Writes scrapes in the `OpenMetrics` 1.0 text format. The series of several contexts have the
/// label `context`.
///
/// # Errors
///
/// Never in practice: writing into a `String` succeeds.
pub fn to_open_metrics(scrapes: impl Into<Scrapes>) -> Result<String, fmt::Error> {
    let Scrapes { known, silent } = scrapes.into();
    let texts = known.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(match &texts[..] {
        [only] if silent.is_empty() => only.clone(),
        all => merged(all, &silent),
    })
}

fn one(scrape: Scrape) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity((scrape.named.len() + 2) * BYTES_PER_LOCK);
    let ensemble = ("ensemble".into(), scrape.ensemble.clone().into());
    let context = scrape.context.clone().map(|context| ("context".into(), context.into()));
    let mut registry = Registry::with_labels(context.into_iter().chain([ensemble]));
    registry.register_collector(Box::new(scrape));
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Writes scrapes in Prometheus' own text format, for clients without `OpenMetrics`.
///
/// # Errors
///
/// Never in practice, as for [`to_open_metrics`].
pub fn to_plain_text(scrapes: impl Into<Scrapes>) -> Result<String, fmt::Error> {
    Ok(plain_text(&to_open_metrics(scrapes)?))
}
