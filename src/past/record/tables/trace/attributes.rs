//! The spans with their names and attributes. Names of attributes do not change.
//!
//! `client.address`, `client.port` and `service.peer.name` are those of OpenTelemetry's semantic
//! conventions; the conventions have none for locks.

use super::super::contender::{ContenderEnd, ContenderRecord, RecordedLock};
use super::super::found::FindingRecord;
use super::super::gaps::{GapRecord, NOT_READ};
use super::super::stored::mode_id;
use super::Place;
use lockscope_base::trace_context::{TraceContext, TraceId};
use lockscope_base::znode::{TimeBounds, Timestamp};
use lockscope_model::span::{Attribute, Span, SpanContext, SpanEvent, Value};

/// Returns the span of a hold.
pub(super) fn hold_span(record: &ContenderRecord, place: Place, events: Vec<SpanEvent>) -> Span {
    let (acquired, ended) = (record.acquired, record.ended);
    let start = acquired.map_or(record.first_seen_at, |acquired| acquired.before);
    let end = ended.map_or(start, |ended| ended.before.max(start));
    let mut attributes = of_contender(record);
    doubt(&mut attributes, "lockscope.acquired_after_ms", acquired);
    of_end(&mut attributes, record);
    let failure = failure_of(record.end);
    span("hold", &record.lock, place, Vec::new(), (start, end), failure, attributes, events)
}

/// Returns the span of a wait; `None` for a contender that held at once.
pub(super) fn wait_span(
    record: &ContenderRecord,
    place: Place,
    waited_for: &[SpanContext],
    events: Vec<SpanEvent>,
) -> Option<Span> {
    let over = record.acquired.or(record.ended)?;
    let start = record.enqueued_at.unwrap_or(record.first_seen_at);
    if record.acquired.is_some() && over.before <= start {
        return None;
    }
    let mut attributes = of_contender(record);
    attributes.push(("lockscope.acquired", record.acquired.is_some().into()));
    if record.enqueued_at.is_none() {
        attributes.push(("lockscope.enqueued_before_ms", start.0.into()));
    }
    let failure = if record.acquired.is_some() {
        doubt(&mut attributes, "lockscope.acquired_after_ms", Some(over));
        None
    } else {
        of_end(&mut attributes, record);
        failure_of(record.end)
    };
    let times = (start, over.before.max(start));
    Some(span("wait", &record.lock, place, waited_for.to_vec(), times, failure, attributes, events))
}

/// Returns the span of a lock and of what happened to it in one trace.
pub(super) fn lock_span(
    lock: &RecordedLock,
    context: SpanContext,
    (start, end): (Timestamp, Timestamp),
    [holds, waits, dropped_events]: [i64; 3],
    events: Vec<SpanEvent>,
) -> Span {
    let mut attributes = of_lock(lock);
    attributes.extend([("lockscope.holds", holds.into()), ("lockscope.waits", waits.into())]);
    if dropped_events > 0 {
        attributes.push(("lockscope.dropped_events", dropped_events.into()));
    }
    let name = name_of("lock", lock);
    Span { context, parent: None, links: Vec::new(), name, start, end, failure: None, attributes, events }
}

/// Returns the span of a gap that is over. Before the first reading there is none.
pub(super) fn gap_span(gap: &GapRecord) -> Option<Span> {
    if gap.reason == NOT_READ {
        return None;
    }
    Some(Span {
        context: SpanContext::within(TraceId::random()),
        parent: None,
        links: Vec::new(),
        name: "gap".to_owned(),
        start: gap.began_at,
        end: gap.ended_at?.max(gap.began_at),
        failure: Some("the locks were not seen"),
        attributes: vec![("lockscope.reason", gap.reason.clone().into())],
        events: Vec::new(),
    })
}

/// Returns the event that a finding was raised, or cleared.
pub(super) fn raised(finding: &FindingRecord) -> SpanEvent {
    let mut attributes = vec![
        ("lockscope.finding.code", finding.code.id().into()),
        ("lockscope.finding.severity", finding.severity.id().into()),
        ("lockscope.finding.summary", finding.found.summary.clone().into()),
    ];
    attributes.extend(finding.node.as_deref().map(|node| ("zookeeper.node", node.to_owned().into())));
    let (at, name) = finding.cleared_at.map_or((finding.raised_at, "finding"), |at| (at, "finding cleared"));
    SpanEvent { at, name, attributes }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a span, each of another type")]
fn span(
    what: &str,
    lock: &RecordedLock,
    place: Place,
    mut links: Vec<SpanContext>,
    (start, end): (Timestamp, Timestamp),
    failure: Option<&'static str>,
    attributes: Vec<Attribute>,
    events: Vec<SpanEvent>,
) -> Span {
    links.extend(place.lock);
    let parent = Some(place.parent);
    Span { context: place.context, parent, links, name: name_of(what, lock), start, end, failure, attributes, events }
}

fn name_of(what: &str, lock: &RecordedLock) -> String {
    match &lock.name {
        Some(name) => format!("{what} {} ({name})", lock.path.as_str()),
        None => format!("{what} {}", lock.path.as_str()),
    }
}

fn of_lock(lock: &RecordedLock) -> Vec<Attribute> {
    let mut attributes = vec![
        ("lockscope.lock.path", lock.path.as_str().to_owned().into()),
        ("lockscope.lock.recipe", lock.recipe.into()),
        ("lockscope.lock.kind", lock.kind.into()),
    ];
    attributes.extend(lock.name.as_deref().map(|name| ("lockscope.lock.name", name.to_owned().into())));
    attributes
}

fn of_contender(record: &ContenderRecord) -> Vec<Attribute> {
    let mut attributes = of_lock(&record.lock);
    attributes.push(("lockscope.mode", mode_id(record.mode).into()));
    attributes.push(("zookeeper.node", record.node.to_string().into()));
    if let Some(czxid) = record.czxid {
        attributes.push(("zookeeper.czxid", czxid.to_string().into()));
    }
    if let Some(session) = record.session {
        attributes.push(("zookeeper.session", session.to_string().into()));
    }
    if let Some((host, port)) = record.client.address.as_deref().map(host_and_port) {
        attributes.push(("client.address", host.to_owned().into()));
        attributes.extend(port.map(|port| ("client.port", Value::Number(port.into()))));
    }
    attributes.extend(record.client.name.as_deref().map(|name| ("service.peer.name", name.to_owned().into())));
    let data = record.data.as_deref().map(TraceContext::left_out);
    if let Some(data) = data.and_then(|data| std::str::from_utf8(data).ok()).filter(|data| !data.is_empty()) {
        attributes.push(("lockscope.data", data.to_owned().into()));
    }
    attributes
}

/// Returns the host and the port of an address, such as `10.0.4.17:51586` or `[fe80::7]:51586`.
fn host_and_port(address: &str) -> (&str, Option<u16>) {
    let split = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = split.map_or((address, None), |(host, port)| (host, Some(port)));
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

fn of_end(attributes: &mut Vec<Attribute>, record: &ContenderRecord) {
    attributes.push(("lockscope.ending", record.end.id().into()));
    doubt(attributes, "lockscope.ended_after_ms", record.ended);
    if let Some(session) = record.deleted_by {
        attributes.push(("lockscope.deleted_by", session.to_string().into()));
    }
}

/// Adds the earlier bound of a time that was not seen.
fn doubt(attributes: &mut Vec<Attribute>, name: &'static str, bounds: Option<TimeBounds>) {
    if let Some(bounds) = bounds.filter(|bounds| bounds.exactly().is_none()) {
        attributes.push((name, bounds.after.0.into()));
    }
}

fn failure_of(end: ContenderEnd) -> Option<&'static str> {
    match end {
        ContenderEnd::Expired => Some("the session expired"),
        ContenderEnd::Deleted => Some("another session deleted the node"),
        _ => None,
    }
}
