//! Makes spans of what contenders do: a span for each finished wait and hold, one for each lock and
//! ten minutes, and one for each gap.
//!
//! A trace covers one lock for ten minutes. Its root is the lock; waits and holds are below it.
//! Where a node's data carry a [`TraceContext`], its wait and its hold are part of that trace
//! instead, and link to the lock.
//!
//! A wait links to the hold whose end let it in. A wait that ended without the lock links to the
//! holds that stood then.

mod attributes;
mod lock_trace;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::attributes::{gap_span, hold_span, raised, wait_span};
use self::lock_trace::LockTrace;
use super::contender::{ContenderEnd, ContenderRecord, RecordedLock};
use super::found::FindingRecord;
use super::gaps::GapRecord;
use super::unsettled::SettledEnd;
use lockscope_base::trace_context::{SpanId, TraceContext};
use lockscope_base::znode::Timestamp;
use lockscope_model::span::{Span, SpanContext, SpanEvent};

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
struct Place {
    context: SpanContext,
    parent: SpanId,
    /// The lock's own span, if `context` is in the trace of an application.
    lock: Option<SpanContext>,
}

/// What is known of a contender beside its record.
#[derive(Clone, Debug, Default)]
struct Traced {
    /// The place of its hold. Once another span links to it, it stays.
    hold: Option<Place>,
    /// The holds that it waited for.
    waited_for: Vec<SpanContext>,
    /// Whether the span of its wait is made.
    wait_is_told: bool,
}

/// A contender that ended.
#[derive(Clone, Debug)]
struct Ended {
    record: ContenderRecord,
    traced: Traced,
    events: Vec<SpanEvent>,
}

/// Makes spans, if they are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracer(Option<Box<SpanMaker>>);

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
pub(super) struct SpanMaker {
    locks: FxHashMap<Arc<RecordedLock>, LockTrace>,
    /// The contenders that acquired, by the ids of their rows.
    holders: FxHashMap<i64, Traced>,
    /// The findings of nodes until their contenders end.
    found: FxHashMap<(Arc<RecordedLock>, Arc<str>), Vec<SpanEvent>>,
    /// The rows of findings that stand.
    standing_findings: FxHashSet<i64>,
    unsettled: VecDeque<Ended>,
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
        self.unsettled.push_back(Ended { record: record.clone(), traced, events });
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
        for Ended { record, .. } in &mut self.unsettled {
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

    fn tell(&mut self, Ended { record, mut traced, mut events }: Ended) {
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

    fn count(&mut self, record: &ContenderRecord, add: impl Fn(&mut lock_trace::Window)) {
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
