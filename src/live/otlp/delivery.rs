//! Messages to a collector, and its answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use prost::Message as _;

use super::client::{Client, Outcome};
use super::endpoint::Endpoint;
use super::{Origin, OtlpError, encode, metrics};
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::metrics::{Scrape, to_open_metrics};
use lockscope_model::span::Span;

/// Sends messages to one collector.
#[derive(Debug)]
pub(super) struct Delivery {
    client: Client,
    spans: SpanExporter,
    /// What everything that is sent is about.
    about: Resource,
    /// The time from which sums count.
    since: SystemTime,
}

/// A message.
#[derive(Debug)]
pub(super) enum Message {
    Spans(Vec<SpanData>),
    Metrics(Vec<u8>),
}

impl Delivery {
    pub fn new(endpoint: &Endpoint, origin: &Origin) -> Result<Self, OtlpError> {
        let client = Client::new(endpoint, origin)?;
        let mut spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(endpoint.url("traces"))
            .with_protocol(Protocol::HttpBinary)
            // The task tries again, and counts.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|error| OtlpError::Settings(format!("spans cannot be sent: {error}")))?;
        let about = about(origin);
        spans.set_resource(&about);
        Ok(Self { client, spans, about, since: SystemTime::now() })
    }

    /// Sends a message once. Cancel safe.
    pub async fn send(&self, message: &Message) -> Outcome {
        match message {
            Message::Metrics(bytes) => self.client.post("metrics", bytes.clone()).await,
            Message::Spans(spans) => {
                let exported = self.spans.export(spans.clone()).await;
                let refused = || Outcome::Refused(exported.err().map(|error| error.to_string()).unwrap_or_default());
                self.client.take_outcome().unwrap_or_else(refused)
            }
        }
    }

    /// Returns metrics as a message; `None` if nothing is known yet.
    pub fn metrics(&self, scrape: Scrape, at: Timestamp) -> Option<Message> {
        // Writing into a text does not fail.
        let text = to_open_metrics(scrape).ok()?;
        let scope = metrics::of_open_metrics(&text, nanoseconds(self.since), encode::nanoseconds(at));
        let resource = Some((&self.about).into());
        let metrics = ResourceMetrics { resource, scope_metrics: vec![scope], schema_url: String::new() };
        Some(Message::Metrics(ExportMetricsServiceRequest { resource_metrics: vec![metrics] }.encode_to_vec()))
    }
}

impl Message {
    pub fn of_spans(spans: &[Span]) -> Self {
        Self::Spans(spans.iter().map(encode::span).collect())
    }

    pub fn is_metrics(&self) -> bool {
        matches!(self, Self::Metrics(_))
    }

    /// Returns how many spans a collector refused, according to its answer.
    pub fn refused_in(&self, answer: &[u8]) -> u64 {
        if self.is_metrics() { 0 } else { partial(answer).map_or(0, |(refused, _)| refused) }
    }
}

/// Says why a collector refused a part of a message.
pub(super) fn refusal(answer: &[u8]) -> String {
    let said = partial(answer).map(|(_, why)| why).unwrap_or_default();
    format!("the collector refuses a part of the spans: {}", escaped(&said))
}

/// Returns the number of refused spans and the reason.
fn partial(answer: &[u8]) -> Option<(u64, String)> {
    let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
    Some((u64::try_from(partial.rejected_spans).ok()?, partial.error_message))
}

fn about(origin: &Origin) -> Resource {
    let mut about = vec![
        KeyValue::new("service.name", "lockscope"),
        KeyValue::new("service.version", origin.version),
        KeyValue::new("zookeeper.ensemble", origin.ensemble.clone()),
    ];
    about.extend(origin.context.clone().map(|context| KeyValue::new("lockscope.context", context)));
    Resource::builder_empty().with_attributes(about).build()
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
