//! Makes spans of what contenders do: a span for each finished wait and hold, one for each lock and
//! ten minutes, and one for each gap.
//!
//! A trace covers one lock for ten minutes. Its root is the lock; waits and holds are below it.
//! Where a node's data carry a [`TraceContext`], its wait and its hold are part of that trace
//! instead, and link to the lock.
//!
//! A wait links to the hold whose end let it in. A wait that ended without the lock links to the
//! holds that stood then.
//!
//! # Names
//!
//! Names of attributes do not change. `client.address`, `client.port` and `service.peer.name` are
//! those of OpenTelemetry's semantic conventions; the conventions have none for locks.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::contender::{ContenderEnd, ContenderRecord, RecordedLock, mode_id};
use super::facts::FindingRecord;
use super::timeline::{GapRecord, NOT_READ};
use super::unsettled::SettledEnd;
use lockscope_base::trace_context::{SpanId, TraceContext, TraceId};
use lockscope_base::znode::{TimeBounds, Timestamp};
use lockscope_model::span::{Attribute, Span, SpanContext, SpanEvent, Value};

#[cfg(test)]
mod tests;

/// How long an end waits for the servers to say how it came about, in milliseconds.
const SETTLES_WITHIN_MS: i64 = 10_000;

/// The most ends that wait for that; the oldest go without.
const MAX_UNSETTLED: usize = 20_000;

/// The most spans between two takes; the rest is lost, and counted.
const MAX_FINISHED: usize = 100_000;

/// The most locks with a trace under way; beyond it all traces end early.
const MAX_TRACES: usize = 50_000;

/// The most nodes whose findings are remembered, beyond which all are forgotten, and the most
/// findings of each.
const MAX_FOUND: (usize, usize) = (10_000, 16);

/// The place of a hold or a wait in the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpanPlace {
    context: SpanContext,
    parent: SpanId,
    /// The lock's own span, if `context` is in the trace of an application.
    lock: Option<SpanContext>,
}

/// What is known of a contender beside its record.
#[derive(Clone, Debug, Default)]
struct Traced {
    /// The place of its hold. Once another span links to it, it stays.
    hold: Option<SpanPlace>,
    /// The holds that it waited for.
    waited_for: Vec<SpanContext>,
    /// Whether the span of its wait is made.
    wait_is_told: bool,
}

/// A contender that ended.
#[derive(Clone, Debug)]
struct EndedStay {
    record: ContenderRecord,
    traced: Traced,
    events: Vec<SpanEvent>,
}

/// Makes spans, if they are wanted.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Box<SpanMaker>>);

impl Tracer {
    /// Returns a tracer that makes spans.
    pub fn on() -> Self {
        Self(Some(Box::default()))
    }

    /// Records that a contender became a holder.
    pub fn acquired(&mut self, record: &ContenderRecord) {
        if let Some(maker) = &mut self.0 {
            maker.acquired(record);
        }
    }

    /// Records that a contender stands, with what is known of it now.
    pub fn stood(&mut self, record: &ContenderRecord) {
        if let Some(maker) = &mut self.0 {
            maker.stood(record);
        }
    }

    /// Records the end of a contender.
    pub fn ended(&mut self, record: &ContenderRecord) {
        if let Some(maker) = &mut self.0 {
            maker.ended(record);
        }
    }

    /// Records that contenders are now known to belong to another lock.
    pub fn displaced<'a>(&mut self, records: impl Iterator<Item = &'a ContenderRecord>) {
        if let Some(maker) = &mut self.0 {
            records.for_each(|record| maker.displaced(record));
        }
    }

    /// Returns the maker of spans, if they are wanted.
    pub fn maker(&mut self) -> Option<&mut SpanMaker> {
        self.0.as_deref_mut()
    }
}

/// Makes spans. Memory grows with the present contenders and the locks of the last ten minutes,
/// both bounded.
#[derive(Clone, Debug, Default)]
pub struct SpanMaker {
    locks: FxHashMap<Arc<RecordedLock>, LockTrace>,
    /// The contenders that acquired, by the ids of their rows.
    holders: FxHashMap<i64, Traced>,
    /// The findings of nodes until their contenders end.
    found: FxHashMap<(Arc<RecordedLock>, Arc<str>), Vec<SpanEvent>>,
    /// The rows of findings that stand.
    standing_findings: FxHashSet<i64>,
    unsettled: VecDeque<EndedStay>,
    finished: Vec<Span>,
    lost: u64,
}

impl SpanMaker {
    fn acquired(&mut self, record: &ContenderRecord) {
        let Some(acquired) = record.acquired else { return };
        if self.holders.contains_key(&record.id) {
            return;
        }
        let trace = self.locks.entry(Arc::clone(&record.lock)).or_default();
        let came = record.enqueued_at.unwrap_or(record.first_seen_at);
        let waited_for = trace.handed_over_since(came).filter(|_| came < acquired.before);
        let waited_for = waited_for.into_iter().collect();
        // Before the node is read, its data may still place it in an application's trace.
        let hold = record.czxid.is_some().then(|| trace.place(record, acquired.before));
        trace.holds(record.id);
        self.holders.insert(record.id, Traced { hold, waited_for, wait_is_told: false });
    }

    fn displaced(&mut self, record: &ContenderRecord) {
        self.holders.remove(&record.id);
        if let Some(trace) = self.locks.get_mut(&record.lock) {
            trace.holding.retain(|row| *row != record.id);
        }
    }

    /// Makes the span of a wait that is over while its hold lasts.
    fn stood(&mut self, record: &ContenderRecord) {
        let Some(traced) = self.holders.get_mut(&record.id).filter(|traced| !traced.wait_is_told) else { return };
        traced.wait_is_told = true;
        let waited_for = std::mem::take(&mut traced.waited_for);
        let key = (Arc::clone(&record.lock), Arc::clone(&record.node));
        let events = self.found.get_mut(&key).map(|events| before_hold(record, events)).unwrap_or_default();
        self.tell_wait(record, &waited_for, events);
    }

    fn ended(&mut self, record: &ContenderRecord) {
        let Some(ended) = record.ended else { return };
        let mut traced = self.holders.remove(&record.id).unwrap_or_default();
        let trace = self.locks.entry(Arc::clone(&record.lock)).or_default();
        if let Some(acquired) = record.acquired {
            let place = *traced.hold.get_or_insert_with(|| trace.place(record, acquired.before));
            trace.ends(record.id, place.context, ended.before);
        } else {
            for id in &trace.holding {
                let Some(holder) = self.holders.get_mut(id) else { continue };
                let place = holder.hold.get_or_insert_with(|| trace.window.place(ended.before));
                traced.waited_for.push(place.context);
            }
        }
        let mut events = self.found.remove(&(Arc::clone(&record.lock), Arc::clone(&record.node))).unwrap_or_default();
        // Earlier ones are about another node of the same name.
        events.retain(|event| event.at >= record.first_seen_at);
        self.unsettled.push_back(EndedStay { record: record.clone(), traced, events });
        if self.unsettled.len() > MAX_UNSETTLED
            && let Some(oldest) = self.unsettled.pop_front()
        {
            self.tell(oldest);
        }
    }

    /// Records how contenders ended, now that it is known.
    pub fn settled<'a>(&mut self, settled: &[SettledEnd], written: impl Iterator<Item = &'a ContenderRecord>) {
        let deleted =
            written.filter(|record| record.end == ContenderEnd::Deleted).map(|record| (record.id, record.end));
        let known: FxHashMap<i64, ContenderEnd> =
            settled.iter().map(|SettledEnd { id, end }| (*id, *end)).chain(deleted).collect();
        for EndedStay { record, .. } in &mut self.unsettled {
            if let Some(end) = known.get(&record.id) {
                record.end = *end;
            }
        }
    }

    /// Records that findings were raised or cleared.
    pub fn found(&mut self, findings: &[Arc<FindingRecord>]) {
        for finding in findings {
            let is_open = finding.cleared_at.is_none();
            let is_new = self.standing_findings.insert(finding.id);
            if !is_open {
                self.standing_findings.remove(&finding.id);
            } else if !is_new {
                continue;
            }
            let event = raised(finding);
            if let Some(node) = finding.node.clone().filter(|_| is_open) {
                if self.found.len() >= MAX_FOUND.0 {
                    self.found.clear();
                }
                let of_node = self.found.entry((Arc::clone(&finding.lock), node)).or_default();
                if of_node.len() < MAX_FOUND.1 {
                    of_node.push(event.clone());
                }
            }
            self.locks.entry(Arc::clone(&finding.lock)).or_default().window.happened(event);
        }
    }

    /// Takes the finished spans, and the number of those lost since the last call. With `is_last`
    /// those under way end too.
    pub fn take(&mut self, gaps: &[GapRecord], now: Timestamp, is_last: bool) -> (Vec<Span>, u64) {
        while let Some(first) = self.unsettled.front()
            && (is_last || is_settled(&first.record, now))
            && let Some(ended) = self.unsettled.pop_front()
        {
            self.tell(ended);
        }
        for gap in gaps {
            if let Some(span) = gap_span(gap) {
                self.push(span);
            }
        }
        let under_way = self.locks.values().filter(|trace| trace.window.is_under_way()).count();
        let ends_all = is_last || under_way > MAX_TRACES;
        let mut over = Vec::new();
        self.locks.retain(|lock, trace| {
            over.extend(trace.window.take_over(lock, now, ends_all));
            !trace.is_idle()
        });
        for span in over {
            self.push(span);
        }
        (std::mem::take(&mut self.finished), std::mem::take(&mut self.lost))
    }

    fn tell(&mut self, EndedStay { record, mut traced, mut events }: EndedStay) {
        let Some(place) = traced.hold.take() else { return self.tell_wait(&record, &traced.waited_for, events) };
        if !traced.wait_is_told {
            let during_wait = before_hold(&record, &mut events);
            self.tell_wait(&record, &traced.waited_for, during_wait);
        }
        self.count(&record, |window| window.holds += 1);
        self.push(hold_span(&record, place, events));
    }

    fn tell_wait(&mut self, record: &ContenderRecord, waited_for: &[SpanContext], events: Vec<SpanEvent>) {
        let trace = self.locks.entry(Arc::clone(&record.lock)).or_default();
        let over = record.acquired.or(record.ended).map(|over| over.before);
        let place = trace.place(record, over.unwrap_or(record.first_seen_at));
        if let Some(span) = wait_span(record, place, waited_for, events) {
            self.count(record, |window| window.waits += 1);
            self.push(span);
        }
    }

    fn count(&mut self, record: &ContenderRecord, add: impl Fn(&mut TraceWindow)) {
        if let Some(trace) = self.locks.get_mut(&record.lock) {
            add(&mut trace.window);
        }
    }

    fn push(&mut self, span: Span) {
        if self.finished.len() < MAX_FINISHED {
            self.finished.push(span);
        } else {
            self.lost += 1;
        }
    }
}

/// Returns whether nothing more is expected of the servers about an end.
fn is_settled(record: &ContenderRecord, now: Timestamp) -> bool {
    let may_settle = matches!(record.end, ContenderEnd::Gone | ContenderEnd::Unknown);
    let ended = record.ended.map_or(now.0, |ended| ended.before.0);
    !may_settle || !(ended..ended.saturating_add(SETTLES_WITHIN_MS)).contains(&now.0)
}

/// Takes the events of a contender's time before its hold, from when it was first seen.
fn before_hold(record: &ContenderRecord, events: &mut Vec<SpanEvent>) -> Vec<SpanEvent> {
    events.retain(|event| event.at >= record.first_seen_at);
    let acquired = record.acquired.map(|acquired| acquired.before);
    events.extract_if(.., |event| acquired.is_some_and(|at| event.at < at)).collect()
}

/// Returns the context in the data of a contender's node.
fn context_of(record: &ContenderRecord) -> Option<TraceContext> {
    record.data.as_deref().and_then(TraceContext::in_data)
}

/// How long a trace lasts, in milliseconds: a trace without an end can be shown by no program.
const LASTS_MS: i64 = 600_000;

/// The most events of one lock in one trace.
const MAX_EVENTS: usize = 128;

/// The most holders that are linked to by a wait without success.
const MAX_HOLDERS: usize = 16;

/// The trace of one lock, and who holds it.
#[derive(Clone, Debug, Default)]
struct LockTrace {
    pub window: TraceWindow,
    /// The rows of the holders, the latest last.
    pub holding: Vec<i64>,
    /// The hold that ended last, and its end.
    last_hold: Option<(SpanContext, Timestamp)>,
}

/// What one trace covers.
#[derive(Clone, Debug, Default)]
struct TraceWindow {
    /// The identity of the lock's own span, and its first and last time.
    under_way: Option<(SpanContext, Timestamp, Timestamp)>,
    pub holds: i64,
    pub waits: i64,
    events: Vec<SpanEvent>,
    dropped_events: i64,
}

impl LockTrace {
    /// Returns the place of a span of this contender that belongs to this time.
    pub fn place(&mut self, record: &ContenderRecord, at: Timestamp) -> SpanPlace {
        let place = self.window.place(at);
        let lock = SpanContext { trace: place.context.trace, span: place.parent };
        context_of(record).map_or(place, |application| SpanPlace {
            context: SpanContext::within(application.trace),
            parent: application.span,
            lock: Some(lock),
        })
    }

    /// Returns the hold that ended last, if it ended at this time or later.
    pub fn handed_over_since(&self, came: Timestamp) -> Option<SpanContext> {
        self.last_hold.filter(|(_, ended)| *ended >= came).map(|(context, _)| context)
    }

    /// Records a new holder.
    pub fn holds(&mut self, row: i64) {
        if self.holding.len() >= MAX_HOLDERS {
            self.holding.remove(0);
        }
        self.holding.push(row);
    }

    /// Records the end of a hold.
    pub fn ends(&mut self, row: i64, hold: SpanContext, at: Timestamp) {
        self.holding.retain(|holder| *holder != row);
        self.last_hold = Some((hold, at));
    }

    /// Returns whether nothing is known of the lock that a later span needs.
    pub fn is_idle(&self) -> bool {
        !self.window.is_under_way() && self.holding.is_empty()
    }
}

impl TraceWindow {
    /// Returns a new place in the trace. Begins the trace if none is under way.
    pub fn place(&mut self, at: Timestamp) -> SpanPlace {
        let lock = self.covers(at);
        SpanPlace { context: SpanContext::within(lock.trace), parent: lock.span, lock: None }
    }

    /// Adds an event to the lock's own span.
    pub fn happened(&mut self, event: SpanEvent) {
        self.covers(event.at);
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        } else {
            self.dropped_events += 1;
        }
    }

    /// Returns whether a span of this trace was made or will be made.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn covers(&mut self, at: Timestamp) -> SpanContext {
        let begin = || (SpanContext::within(TraceId::random()), at, at);
        let (lock, first, last) = self.under_way.get_or_insert_with(begin);
        (*first, *last) = ((*first).min(at), (*last).max(at));
        *lock
    }

    /// Takes the lock's own span, if the trace is over.
    pub fn take_over(&mut self, of: &RecordedLock, now: Timestamp, ends_all: bool) -> Option<Span> {
        let (context, first, last) = self.under_way?;
        let lasted = now.0.saturating_sub(first.0);
        if !ends_all && (0..LASTS_MS).contains(&lasted) {
            return None;
        }
        let Self { holds, waits, events, dropped_events, .. } = std::mem::take(self);
        Some(lock_span(of, context, (first, last), [holds, waits, dropped_events], events))
    }
}

/// Returns the span of a hold.
fn hold_span(record: &ContenderRecord, place: SpanPlace, events: Vec<SpanEvent>) -> Span {
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
fn wait_span(
    record: &ContenderRecord,
    place: SpanPlace,
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
fn lock_span(
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
fn gap_span(gap: &GapRecord) -> Option<Span> {
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
fn raised(finding: &FindingRecord) -> SpanEvent {
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
    place: SpanPlace,
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
