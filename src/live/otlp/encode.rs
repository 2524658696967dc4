//! Spans and metrics as OpenTelemetry's types.
//!
//! Metrics are made from the text that Prometheus gets, so that both have the same families, labels
//! and values.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Event, Link, SpanContext as OtelContext, SpanId as OtelSpanId, SpanKind, Status, TraceFlags,
    TraceId as OtelTraceId, TraceState,
};
use opentelemetry::{InstrumentationScope as OpentelemetryInstrumentationScope, KeyValue as OpentelemetryKeyValue};
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValueKind;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ScopeMetrics, Sum,
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use lockscope_base::znode::Timestamp;
use lockscope_model::span::{Attribute, Span, SpanContext, Value};

/// The labels of a series, in their order.
type Labels<'t> = Vec<(&'t str, String)>;

/// A family of series, as its text describes it.
#[derive(Default)]
struct OtlpFamily<'t> {
    name: &'t str,
    kind: &'t str,
    unit: &'t str,
    help: &'t str,
    points: Vec<NumberDataPoint>,
    /// The buckets, the sum and the count of each histogram.
    histograms: BTreeMap<Labels<'t>, HistogramDataPoint>,
}

/// Reads our own `OpenMetrics` text. `since` is the time from which sums count, `at` the time of
/// the values, both in nanoseconds.
pub fn of_open_metrics(text: &str, since: u64, at: u64) -> ScopeMetrics {
    let mut families: Vec<OtlpFamily<'_>> = Vec::new();
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, described) = match (word, rest.split_once(' ')) {
            ("#", Some((what @ ("HELP" | "TYPE" | "UNIT"), of))) => {
                let (name, text) = of.split_once(' ').unwrap_or((of, ""));
                (name, Some((what, text)))
            }
            ("#", _) => continue,
            _ => (line, None),
        };
        match described {
            Some((what, text)) => {
                if families.last().is_none_or(|family| family.name != name) {
                    families.push(OtlpFamily { name, ..OtlpFamily::default() });
                }
                let Some(family) = families.last_mut() else { continue };
                match what {
                    "HELP" => family.help = text,
                    "TYPE" => family.kind = text,
                    _ => family.unit = text,
                }
            }
            None => {
                if let (Some(family), Some(sample)) = (families.last_mut(), OtlpSample::read(line)) {
                    family.add(sample, since, at);
                }
            }
        }
    }
    ScopeMetrics {
        scope: Some(InstrumentationScope { name: SCOPE.to_owned(), ..InstrumentationScope::default() }),
        metrics: families.into_iter().filter_map(OtlpFamily::metric).collect(),
        schema_url: String::new(),
    }
}

/// A line with a value.
struct OtlpSample<'t> {
    name: &'t str,
    labels: Labels<'t>,
    value: f64,
}

impl<'t> OtlpSample<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let name_ends = line.find(['{', ' '])?;
        let (name, mut rest) = line.split_at(name_ends);
        let mut labels = Labels::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            while let Some((label, after)) = rest.split_once("=\"") {
                let (value, end) = unescaped(after)?;
                labels.push((label.trim_start_matches(','), value));
                rest = &after[end..];
                if let Some(after) = rest.strip_prefix('}') {
                    rest = after;
                    break;
                }
            }
            rest = rest.strip_prefix('}').unwrap_or(rest);
        }
        let value = rest.trim().split(' ').next()?.parse().ok()?;
        Some(Self { name, labels, value })
    }
}

/// Returns the value of a label up to its quotation mark, and the position after that.
fn unescaped(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                char => value.push(char),
            },
            char => value.push(char),
        }
    }
    None
}

impl<'t> OtlpFamily<'t> {
    fn add(&mut self, OtlpSample { name, mut labels, value }: OtlpSample<'t>, since: u64, at: u64) {
        let point = NumberDataPoint {
            start_time_unix_nano: if self.kind == "counter" { since } else { 0 },
            time_unix_nano: at,
            ..NumberDataPoint::default()
        };
        if self.kind != "histogram" {
            self.points.push(NumberDataPoint {
                attributes: label_attributes(labels),
                value: Some(Number::AsDouble(value)),
                ..point
            });
            return;
        }
        let bound = labels.iter().position(|(label, _)| *label == "le").map(|at| labels.remove(at).1);
        let histogram = self.histograms.entry(labels).or_insert_with(|| HistogramDataPoint {
            start_time_unix_nano: since,
            time_unix_nano: at,
            ..HistogramDataPoint::default()
        });
        match (name.strip_prefix(self.name), bound) {
            (Some("_bucket"), Some(bound)) => {
                let below: u64 = histogram.bucket_counts.iter().sum();
                histogram.bucket_counts.push(whole(value).saturating_sub(below));
                histogram.explicit_bounds.extend(bound.parse::<f64>().ok().filter(|bound| bound.is_finite()));
            }
            (Some("_sum"), _) => histogram.sum = Some(value),
            (Some("_count"), _) => histogram.count = whole(value),
            _ => {}
        }
    }

    /// Returns the family as a metric; `None` without series.
    fn metric(self) -> Option<Metric> {
        if self.points.is_empty() && self.histograms.is_empty() {
            return None;
        }
        let data = match self.kind {
            "gauge" | "info" => Data::Gauge(Gauge { data_points: self.points }),
            "counter" => Data::Sum(Sum {
                data_points: self.points,
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: true,
            }),
            "histogram" => {
                let point = |(labels, point)| HistogramDataPoint { attributes: label_attributes(labels), ..point };
                Data::Histogram(Histogram {
                    data_points: self.histograms.into_iter().map(point).collect(),
                    aggregation_temporality: AggregationTemporality::Cumulative.into(),
                })
            }
            _ => return None,
        };
        let unit = match self.unit {
            "seconds" => "s",
            "bytes" => "By",
            unit => unit,
        };
        Some(Metric {
            name: self.name.to_owned(),
            description: self.help.to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        })
    }
}

/// Returns a count, which the text writes as a number that may have a fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are whole and not negative")]
fn whole(value: f64) -> u64 {
    value as u64
}

fn label_attributes(labels: Labels<'_>) -> Vec<KeyValue> {
    let pair = |(label, value): (&str, String)| KeyValue {
        key: label.to_owned(),
        value: Some(AnyValue { value: Some(AnyValueKind::StringValue(value)) }),
        ..KeyValue::default()
    };
    labels.into_iter().map(pair).collect()
}

/// The name of what makes the spans and metrics.
const SCOPE: &str = "lockscope";

/// Returns a span as OpenTelemetry's exporter takes it.
pub fn span(span: &Span) -> SpanData {
    let mut events = SpanEvents::default();
    events.events.extend(
        span.events.iter().map(|event| Event::new(event.name, time(event.at), span_attributes(&event.attributes), 0)),
    );
    let mut links = SpanLinks::default();
    links.links.extend(span.links.iter().map(|link| Link::new(context(*link), Vec::new(), 0)));
    SpanData {
        span_context: context(span.context),
        parent_span_id: span.parent.map_or(OtelSpanId::INVALID, |parent| OtelSpanId::from_bytes(parent.bytes())),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name.clone().into(),
        start_time: time(span.start),
        end_time: time(span.end),
        attributes: span_attributes(&span.attributes),
        dropped_attributes_count: 0,
        events,
        links,
        status: span.failure.map_or(Status::Unset, Status::error),
        instrumentation_scope: OpentelemetryInstrumentationScope::builder(SCOPE).build(),
    }
}

/// Returns the time in nanoseconds since 1970; 0 for earlier times.
pub fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or(0).saturating_mul(1_000_000)
}

fn context(context: SpanContext) -> OtelContext {
    let (trace, span) = (context.trace.bytes(), context.span.bytes());
    let ids = (OtelTraceId::from_bytes(trace), OtelSpanId::from_bytes(span));
    OtelContext::new(ids.0, ids.1, TraceFlags::SAMPLED, false, TraceState::NONE)
}

fn time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanoseconds(at))
}

fn span_attributes(attributes: &[Attribute]) -> Vec<OpentelemetryKeyValue> {
    let pair = |(name, value): &Attribute| match value {
        Value::Text(text) => OpentelemetryKeyValue::new(*name, text.to_string()),
        Value::Number(number) => OpentelemetryKeyValue::new(*name, *number),
        Value::Flag(flag) => OpentelemetryKeyValue::new(*name, *flag),
    };
    attributes.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# HELP a_locks Locks.
# TYPE a_locks gauge
a_locks{ensemble=\"h:1\"} 7
# HELP a_memory_bytes Memory.
# TYPE a_memory_bytes gauge
# UNIT a_memory_bytes bytes
a_memory_bytes 1.5
# HELP a_gaps Gaps.
# TYPE a_gaps counter
a_gaps_total{lock=\"/a\\\"b,{}=\\\"\",x=\"\"} 3
# HELP a_wait_seconds Waits.
# TYPE a_wait_seconds histogram
# UNIT a_wait_seconds seconds
a_wait_seconds_sum{lock=\"/a\"} 2.5
a_wait_seconds_count{lock=\"/a\"} 4
a_wait_seconds_bucket{le=\"0.1\",lock=\"/a\"} 1
a_wait_seconds_bucket{le=\"1.0\",lock=\"/a\"} 3
a_wait_seconds_bucket{le=\"+Inf\",lock=\"/a\"} 4
# EOF
";

    fn label(point: &[KeyValue], name: &str) -> String {
        let value = point.iter().find(|pair| pair.key == name).and_then(|pair| pair.value.clone()?.value);
        match value {
            Some(AnyValueKind::StringValue(text)) => text,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn each_family_keeps_its_kind_unit_labels_and_values() {
        let metrics = of_open_metrics(TEXT, 5, 9).metrics;
        let [locks, memory, gaps, waits] = &metrics[..] else { panic!("four families: {metrics:?}") };
        let Some(Data::Gauge(gauge)) = &locks.data else { panic!("{locks:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Number::AsDouble(7.0)));
        assert_eq!(label(&gauge.data_points[0].attributes, "ensemble"), "h:1");
        assert_eq!((memory.unit.as_str(), memory.description.as_str()), ("By", "Memory."));
        let Some(Data::Sum(sum)) = &gaps.data else { panic!("{gaps:?}") };
        assert!(sum.is_monotonic && sum.data_points[0].start_time_unix_nano == 5);
        assert_eq!(label(&sum.data_points[0].attributes, "lock"), "/a\"b,{}=\"");
        assert_eq!(label(&sum.data_points[0].attributes, "x"), "");
        let Some(Data::Histogram(histogram)) = &waits.data else { panic!("{waits:?}") };
        let point = &histogram.data_points[0];
        assert_eq!((&point.explicit_bounds[..], &point.bucket_counts[..]), (&[0.1, 1.0][..], &[1, 2, 1][..]));
        assert_eq!((point.count, point.sum, waits.unit.as_str()), (4, Some(2.5), "s"));
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in ["", "#", "a{", "a{b=\"", "a{b=\"\\", "a 1", "# TYPE a gauge\na{b=\"c\"}", "# HELP", "a{}} x"] {
            of_open_metrics(text, 0, 0);
        }
    }
}
