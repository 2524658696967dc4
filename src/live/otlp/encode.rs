//! Spans as OpenTelemetry's types.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Event, Link, SpanContext as OtelContext, SpanId as OtelSpanId, SpanKind, Status, TraceFlags,
    TraceId as OtelTraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use lockscope_base::znode::Timestamp;
use lockscope_model::span::{Attribute, Span, SpanContext, Value};

/// The name of what makes the spans and metrics.
pub(super) const SCOPE: &str = "lockscope";

/// Returns a span as OpenTelemetry's exporter takes it.
pub(super) fn span(span: &Span) -> SpanData {
    let mut events = SpanEvents::default();
    events.events.extend(
        span.events.iter().map(|event| Event::new(event.name, time(event.at), attributes(&event.attributes), 0)),
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
        attributes: attributes(&span.attributes),
        dropped_attributes_count: 0,
        events,
        links,
        status: span.failure.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder(SCOPE).build(),
    }
}

/// Returns the time in nanoseconds since 1970; 0 for earlier times.
pub(super) fn nanoseconds(at: Timestamp) -> u64 {
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

fn attributes(attributes: &[Attribute]) -> Vec<KeyValue> {
    let pair = |(name, value): &Attribute| match value {
        Value::Text(text) => KeyValue::new(*name, text.to_string()),
        Value::Number(number) => KeyValue::new(*name, *number),
        Value::Flag(flag) => KeyValue::new(*name, *flag),
    };
    attributes.iter().map(pair).collect()
}
