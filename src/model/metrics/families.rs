//! The families of series, with their names and help texts: of the ensemble, of its servers, of the
//! locks, and of the process. Names do not change.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabel, EncodeLabelSet, LabelSetEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Unit;

use super::scrape::{LockFigures, LockState, seconds};
use super::{Histogram, LockCounts, LockLabels, ProcessUsage, Scrape};
use crate::server_view::Health;

/// The label `lock` of the series for all locks without one of their own. No path equals it.
const OTHERS: &str = "other";

/// No labels, apart from the ensemble's.
const NO_LABELS: [(&str, &str); 0] = [];

impl EncodeLabelSet for LockLabels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        let mut label = |key, value| EncodeLabel::encode(&(key, value), encoder.encode_label());
        match self {
            Self::One { path, name, recipe } => {
                label("lock", path.as_str())?;
                if let Some(name) = name {
                    label("name", name)?;
                }
                label("recipe", recipe.id())
            }
            Self::Others => {
                label("lock", OTHERS)?;
                label("recipe", OTHERS)
            }
        }
    }
}

type Encoded = Result<(), fmt::Error>;

/// The name, unit and help text of a family.
#[derive(Clone, Copy)]
struct FamilyRow {
    name: &'static str,
    unit: Option<&'static Unit>,
    help: &'static str,
}

const fn family(name: &'static str, help: &'static str) -> FamilyRow {
    FamilyRow { name, unit: None, help }
}

impl FamilyRow {
    const fn seconds(self) -> Self {
        Self { unit: Some(&Unit::Seconds), ..self }
    }

    const fn bytes(self) -> Self {
        Self { unit: Some(&Unit::Bytes), ..self }
    }

    fn gauges<L: EncodeLabelSet, V: EncodeGaugeValue>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        rows: impl Iterator<Item = (L, V)>,
    ) -> Encoded {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit, MetricType::Gauge)?;
        for (labels, value) in rows {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// Encodes the family's only series, or none if the value is unknown.
    fn gauge<V: EncodeGaugeValue>(self, encoder: &mut DescriptorEncoder<'_>, value: Option<V>) -> Encoded {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit, MetricType::Gauge)?;
        value.map_or(Ok(()), |value| metric.encode_gauge(&value))
    }

    fn counters<L: EncodeLabelSet, V: EncodeCounterValue>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        rows: impl Iterator<Item = (L, V)>,
    ) -> Encoded {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit, MetricType::Counter)?;
        for (labels, value) in rows {
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, V, f64>(&value, None::<&Exemplar<_, _>>)?;
        }
        Ok(())
    }

    /// Encodes the family's only series, or none if the value is unknown.
    fn counter<V: EncodeCounterValue>(self, encoder: &mut DescriptorEncoder<'_>, value: Option<V>) -> Encoded {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit, MetricType::Counter)?;
        value.map_or(Ok(()), |value| metric.encode_counter::<NoLabelSet, V, f64>(&value, None::<&Exemplar<_, _>>))
    }

    fn histograms<'a>(
        self,
        encoder: &mut DescriptorEncoder<'_>,
        rows: impl Iterator<Item = (&'a LockLabels, &'a Histogram)>,
    ) -> Encoded {
        let mut metric = encoder.encode_descriptor(self.name, self.help, self.unit, MetricType::Histogram)?;
        for (labels, histogram) in rows.filter(|(_, histogram)| histogram.count() > 0) {
            let (sum, count, buckets) = (histogram.sum_seconds(), histogram.count(), histogram.buckets());
            metric.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}

/// Encodes the families with one series for the ensemble.
pub fn of_ensemble(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let Scrape { servers, process, .. } = scrape;
    encoder
        .encode_descriptor("lockscope_build", "The version of lockscope.", None, MetricType::Info)?
        .encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
    family("lockscope_up", "1 while the locks are known as they are now, otherwise 0.")
        .gauge(encoder, Some(u64::from(scrape.is_live)))?;
    family("lockscope_locks", "Locks that were found.").gauge(encoder, scrape.locks)?;
    family("lockscope_other_locks", "Locks without series of their own: those that lock=\"other\" stands for.")
        .gauge(encoder, scrape.other_locks)?;
    family("lockscope_contenders", "Contenders of all locks, holders among them.").gauge(encoder, scrape.contenders)?;
    family("lockscope_servers", "Servers of the ensemble that are known.")
        .gauge(encoder, servers.map(|servers| servers.known))?;
    family("lockscope_servers_answering", "Servers that answer when they are asked about themselves.")
        .gauge(encoder, servers.map(|servers| servers.answering))?;
    family("lockscope_majority", "1 while a majority of the members works together, 0 while none does.")
        .gauge(encoder, scrape.has_majority.map(u64::from))?;
    family("lockscope_client_connections", "Connections of clients, as the servers list them.")
        .gauge(encoder, servers.and_then(|servers| servers.connections))?;
    family("lockscope_gaps", "How often the view of the locks was lost.").counter(encoder, Some(scrape.gaps))?;
    family("lockscope_survey_requests", "Queries to the servers about themselves.")
        .counter(encoder, servers.map(|servers| servers.asked.requests))?;
    family("lockscope_survey", "Bytes of the servers' answers about themselves.")
        .bytes()
        .counter(encoder, servers.map(|servers| servers.asked.bytes))?;
    family("lockscope_changes", "Changes of the ensemble that were applied.").counter(encoder, Some(scrape.changes))?;
    family("lockscope_changes_behind", "Changes that were seen and are not applied yet.")
        .gauge(encoder, Some(process.changes_behind))?;
    family("lockscope_store_up", "1 while events are written into the recording, 0 while that fails.")
        .gauge(encoder, process.is_stored.map(u64::from))?;
    family("lockscope_store_files_gone", "Files of the recording that were moved, removed or written by others.")
        .counter(encoder, process.store_files_gone)?;
    if let Some(otlp) = process.otlp {
        let results = [("sent", otlp.sent), ("refused", otlp.refused), ("lost", otlp.lost)];
        family("lockscope_otlp_spans", "Spans for the collector, by what became of them.")
            .counters(encoder, results.into_iter().map(|(result, count)| ([("result", result)], count)))?;
        family("lockscope_otlp_spans_queued", "Spans that wait for the collector.")
            .gauge(encoder, Some(otlp.queued))?;
    }
    Ok(())
}

/// Encodes what the process uses, by the names and help texts of Prometheus' own client libraries.
pub fn of_process(process: ProcessUsage, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    family("process_cpu", "Total user and system CPU time spent in seconds.")
        .seconds()
        .counter(encoder, process.cpu_seconds)?;
    family("process_start_time", "Start time of the process since unix epoch in seconds.")
        .seconds()
        .gauge(encoder, process.start_time_seconds)?;
    family("process_open_fds", "Number of open file descriptors.").gauge(encoder, process.open_fds)?;
    family("process_max_fds", "Maximum number of open file descriptors.").gauge(encoder, process.max_fds)?;
    family("process_resident_memory", "Resident memory size in bytes.").bytes().gauge(encoder, process.resident_bytes)
}

/// Encodes the number of checks that are not decided, by kind.
pub fn of_checks(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let unchecked = scrape.unchecked.iter().map(|(check, count)| ([("check", check.id())], *count));
    family("lockscope_unchecked", "Checks of locks that are not decided yet.").gauges(encoder, unchecked)
}

/// Returns the locks with series of their own, followed by all others together, if there are any.
fn rows(scrape: &Scrape) -> impl Iterator<Item = &LockFigures> {
    let others = Some(&scrape.others).filter(|others| others.state.is_some() || others.counts != LockCounts::default());
    scrape.named.iter().chain(others)
}

/// Encodes the families with one series for each lock, or one for each lock and kind.
pub fn of_locks(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let states = |value: fn(LockState) -> Option<u64>| {
        rows(scrape).filter_map(move |lock| Some((LockSeries::of(lock), value(lock.state?)?)))
    };
    let times = |value: fn(LockState) -> Option<u64>| states(value).map(|(labels, ms)| (labels, seconds(ms)));
    family("lockscope_lock_waiters", "Contenders that wait.").gauges(encoder, states(|state| state.waiters))?;
    family("lockscope_lock_holders", "Contenders that hold.").gauges(encoder, states(|state| Some(state.holders)))?;
    family("lockscope_lock_held", "How long the first holder has held it, at least; 0 when nobody holds it.")
        .seconds()
        .gauges(encoder, times(|state| state.held_ms))?;
    family("lockscope_lock_waited", "How long the first waiter has waited for it; 0 when nobody waits.")
        .seconds()
        .gauges(encoder, times(|state| state.waited_ms))?;
    family("lockscope_lock_waiter", "How long all waiters have waited for it, summed up, while that was seen.")
        .seconds()
        .counters(encoder, rows(scrape).map(|lock| (LockSeries::of(lock), lock.counts.waited.as_secs_f64())))?;
    let findings = rows(scrape).flat_map(|lock| {
        let of_lock = lock.findings.iter();
        of_lock.map(move |((code, severity), count)| {
            let kind = [("code", code.id()), ("severity", severity.id())];
            (LockSeries { labels: &lock.labels, kind }, *count)
        })
    });
    family("lockscope_findings", "Findings about it now.").gauges(encoder, findings)?;
    family("lockscope_acquisitions", "Contenders that became holders.")
        .counters(encoder, rows(scrape).map(|lock| (LockSeries::of(lock), lock.counts.acquisitions)))?;
    family("lockscope_expiries", "Contenders whose nodes went when their sessions expired.")
        .counters(encoder, rows(scrape).map(|lock| (LockSeries::of(lock), lock.counts.expiries)))?;
    let watch_events = rows(scrape).flat_map(|lock| {
        let events = lock.counts.watch_events;
        [("herd", events.herd), ("chain", events.chain)]
            .map(|(style, count)| (LockSeries { labels: &lock.labels, kind: [("style", style)] }, count))
    });
    family(
        "lockscope_watch_events",
        "Watch events that its changes cost, if every waiter watched the parent (herd) or its predecessor (chain).",
    )
    .counters(encoder, watch_events)
}

/// Encodes the histograms of past waits and holds.
pub fn of_histograms(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    family("lockscope_wait", "How long contenders waited before they acquired it.")
        .seconds()
        .histograms(encoder, rows(scrape).map(|lock| (&lock.labels, &lock.counts.waits)))?;
    family("lockscope_hold", "How long each ended hold lasted.")
        .seconds()
        .histograms(encoder, rows(scrape).map(|lock| (&lock.labels, &lock.counts.holds)))
}

/// The labels of a lock and of a kind, such as a finding's code.
struct LockSeries<'a, const N: usize> {
    labels: &'a LockLabels,
    kind: [(&'static str, &'static str); N],
}

impl<'a> LockSeries<'a, 0> {
    fn of(lock: &'a LockFigures) -> Self {
        Self { labels: &lock.labels, kind: NO_LABELS }
    }
}

impl<const N: usize> EncodeLabelSet for LockSeries<'_, N> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        self.labels.encode(encoder)?;
        EncodeLabelSet::encode(&self.kind, encoder)
    }
}

/// Encodes how each server is doing. A server has no series for what it does not report.
pub fn of_servers(scrape: &Scrape, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let counts = |value: fn(&Health) -> Option<u64>| {
        let with_value =
            move |(server, health): &'_ (String, Health)| Some(([("server", server.clone())], value(health)?));
        scrape.health.iter().filter_map(with_value)
    };
    let times = |value: fn(&Health) -> Option<Duration>| {
        let with_value = move |(server, health): &'_ (String, Health)| {
            Some(([("server", server.clone())], value(health)?.as_secs_f64()))
        };
        scrape.health.iter().filter_map(with_value)
    };
    let answering =
        scrape.answering.iter().map(|(server, answers)| ([("server", server.clone())], u64::from(*answers)));
    family("lockscope_server_up", "1 while the server answers when it is asked about itself, otherwise 0.")
        .gauges(encoder, answering)?;
    family("lockscope_server_latency", "Mean time from a request to its answer, since the server started.")
        .seconds()
        .gauges(encoder, times(|health| health.latency_avg))?;
    family("lockscope_server_write_p99", "99th percentile of the time of a write, over about five minutes.")
        .seconds()
        .gauges(encoder, times(|health| health.write_p99))?;
    family("lockscope_server_fsync_max", "Longest time to write the transaction log to the disk, since it started.")
        .seconds()
        .gauges(encoder, times(|health| health.fsync_max))?;
    family("lockscope_server_outstanding_requests", "Requests that wait in the server.")
        .gauges(encoder, counts(|health| health.outstanding))?;
    family("lockscope_server_synced_followers", "Followers that are in step, at the leader.")
        .gauges(encoder, counts(|health| health.synced_followers))?;
    family("lockscope_server_elections", "Elections of the ensemble's leader that the server took part in.")
        .counters(encoder, counts(|health| health.elections))?;
    family("lockscope_server_digest_mismatches", "Times at which its data differed from the leader's.")
        .counters(encoder, counts(|health| health.digest_mismatches))
}
