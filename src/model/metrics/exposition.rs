//! Writes a scrape as text, in the `OpenMetrics` format and in Prometheus' own, and answers the
//! health check of the exporter.
//!
//! The format wants all series of a family in one place, so the series of several contexts are
//! merged into one text.

use std::fmt;
use std::fmt::Write;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::{ProcessUsage, Scrape, Scrapes, families};
use crate::queue::{ConnectionState, LockTable, NO_ANSWER};

/// Approximate size of the series of a lock with histograms, in bytes.
const BYTES_PER_LOCK: usize = 5_000;

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        families::of_ensemble(self, &mut encoder)?;
        families::of_servers(self, &mut encoder)?;
        families::of_checks(self, &mut encoder)?;
        families::of_locks(self, &mut encoder)?;
        families::of_histograms(self, &mut encoder)
    }
}

impl Collector for ProcessUsage {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        families::of_process(*self, &mut encoder)
    }
}

/// The last line of a text in the `OpenMetrics` format.
const END: &str = "# EOF\n";

/// Writes scrapes in the `OpenMetrics` 1.0 text format. The series of several contexts have the
/// label `context`; those of the process have no label.
///
/// # Errors
///
/// Never in practice: writing into a `String` succeeds.
pub fn to_open_metrics(scrapes: impl Into<Scrapes>) -> Result<String, fmt::Error> {
    let Scrapes { known, silent, process } = scrapes.into();
    let mut texts = known.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let mut text = match &mut texts[..] {
        [only] if silent.is_empty() => std::mem::take(only),
        all => merged(all, &silent),
    };
    text.truncate(text.len() - END.len());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(process));
    encode(&mut text, &registry)?;
    Ok(text)
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

/// A family: the lines that describe it, and its samples.
struct MergedFamily<'t> {
    name: &'t str,
    described: Vec<&'t str>,
    samples: Vec<&'t str>,
}

/// Merges texts in the `OpenMetrics` format. For a context that did not answer, only
/// `lockscope_up` is known.
fn merged(texts: &[String], silent: &[String]) -> String {
    let mut families: Vec<MergedFamily<'_>> = Vec::new();
    for text in texts {
        let mut at = None;
        for line in text.lines().filter(|line| *line != END.trim_end()) {
            let described = ["# HELP ", "# TYPE ", "# UNIT "].iter().find_map(|word| line.strip_prefix(word));
            if let Some(name) = described.and_then(|described| described.split(' ').next()) {
                let place = families.iter().position(|family| family.name == name).unwrap_or_else(|| {
                    families.push(MergedFamily { name, described: Vec::new(), samples: Vec::new() });
                    families.len() - 1
                });
                at = Some(place);
                // Each text describes the family in the same words.
                if !families[place].described.contains(&line) {
                    families[place].described.push(line);
                }
            } else if let Some(family) = at.and_then(|at: usize| families.get_mut(at)) {
                family.samples.push(line);
            }
        }
    }
    let mut all = String::with_capacity(texts.iter().map(String::len).sum());
    for MergedFamily { name, described, samples } in families {
        add(&mut all, &described);
        add(&mut all, &samples);
        if name == "lockscope_up" {
            for context in silent {
                // Writing into a text does not fail.
                let _ = writeln!(all, "lockscope_up{{context=\"{}\"}} 0", escaped(context));
            }
        }
    }
    all + END
}

fn add(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.extend([line, "\n"]);
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// Rewrites the lines that describe the families. Both formats share the samples.
fn plain_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.split_inclusive('\n') {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.trim_end().split_once(' ').unwrap_or((typed, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                kind => ("", kind),
            };
            if let Some((_, help)) = help.take() {
                text.extend(["# HELP ", name, suffix, " ", help]);
            }
            text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with("# UNIT ") && !line.starts_with("# EOF") {
            text.push_str(line);
        }
    }
    text
}

/// Returns `Ok` if the table is live; otherwise a sentence with the reason.
pub fn health(table: &LockTable) -> Result<(), String> {
    if table.is_live() {
        return Ok(());
    }
    Err(match table.connection() {
        ConnectionState::Connected { .. } => "connected, and not everything was read yet".to_owned(),
        ConnectionState::Connecting { reason: None, .. } => "connecting to the ensemble".to_owned(),
        ConnectionState::Connecting { reason: Some(reason), .. } => format!("no connection to the ensemble: {reason}"),
        ConnectionState::Lagging { reason, .. } => format!("what is shown is old: {reason}"),
        ConnectionState::Silent { .. } => NO_ANSWER.to_owned(),
        ConnectionState::Lost { reason } => format!("the connection to the ensemble was lost: {reason}"),
        ConnectionState::Overloaded { reason } => format!("not everything that happens can be taken in: {reason}"),
        ConnectionState::Refused { reason } => format!("the ensemble refused the session: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_stands_in_one_place_with_the_series_of_all_contexts() {
        let text = |context: &str, value: i32| {
            format!(
                "# HELP lockscope_up Up.\n# TYPE lockscope_up gauge\nlockscope_up{{context=\"{context}\"}} {value}\n\
                 # HELP gaps Gaps.\n# TYPE gaps counter\ngaps_total{{context=\"{context}\"}} 7\n# EOF\n"
            )
        };
        let all = merged(&[text("a", 1), text("b", 0)], &["c\"".to_owned()]);
        let expected = "# HELP lockscope_up Up.\n# TYPE lockscope_up gauge\nlockscope_up{context=\"a\"} 1\nlockscope_up{context=\"b\"} 0\n\
                        lockscope_up{context=\"c\\\"\"} 0\n# HELP gaps Gaps.\n\
                        # TYPE gaps counter\ngaps_total{context=\"a\"} 7\ngaps_total{context=\"b\"} 7\n# EOF\n";
        assert_eq!(all, expected);
    }

    #[test]
    fn a_counter_has_the_name_of_its_sample_and_an_info_is_a_gauge() {
        let open = "# HELP a_b Says \"a b\".\n# TYPE a_b counter\n# UNIT a_b b\na_b_total{x=\"# TYPE y\"} 1\n\
                    # HELP v What.\n# TYPE v info\nv_info{} 1\n# HELP g G.\n# TYPE g gauge\ng 2\n# EOF\n";
        let plain = "# HELP a_b_total Says \"a b\".\n# TYPE a_b_total counter\na_b_total{x=\"# TYPE y\"} 1\n\
                     # HELP v_info What.\n# TYPE v_info gauge\nv_info{} 1\n# HELP g G.\n# TYPE g gauge\ng 2\n";
        assert_eq!(plain_text(open), plain);
    }
}
