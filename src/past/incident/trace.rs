//! The incident as trace events for Chrome and Perfetto: each lock is a process, holds and waits
//! are slices in its threads, hand-overs are flows, and the queue length is a counter. The format
//! is described in the document "Trace Event Format".
//!
//! What is told of the incident stands beside its trace, as JSON. Slices that overlap are drawn
//! below each other, in lanes, which are the threads.
//!
//! Times are in microseconds since 1970-01-01 UTC, exact to a millisecond. The importers of
//! Perfetto have further requirements:
//!
//! - The unit of the times is not named: some importers read all times in the unit named for
//!   display.
//! - Thread ids are unique across processes and never 0, because importers find thread names by the
//!   id alone. The thread with the id of its process is the main one; it holds whatever belongs to
//!   no slice.
//! - Slices of a thread do not overlap, and a flow begins and ends within a slice.
//! - Texts have no `\u` escapes and no control characters, and no value of an event is an array.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::causes::time_of;
use super::paragraphs::told;
use super::{Incident, LockBars, certain_hold, certain_wait, queue_lengths, words};
use crate::record::history::{CoverageFacts, PastContender, PastEnsembleEvent, PastGap};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::report::{EnsembleEventFacts, rfc3339};

/// The most contenders in a trace; of more, those that held or waited longest. Such a file has less
/// than 5 MB.
const MAX_CONTENDERS: usize = 5_000;

/// The steps of a lock's counter, and the most locks with a counter.
const COUNTER_STEPS: usize = 500;

const MAX_COUNTERS: usize = 20;

/// The first id of threads other than main ones; there are fewer locks than this.
const FIRST_THREAD: usize = 1_000_000;

/// The process of events that concern no lock.
const RECORDING: usize = 1;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEvent>,
    other_data: Value,
}

/// The events so far, and the next free ids.
#[derive(Debug)]
struct TraceEvents {
    events: Vec<TraceEvent>,
    next_thread: usize,
    next_flow: usize,
}

/// One event, with the field names of the format.
#[derive(Debug, Default, Serialize)]
struct TraceEvent {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    ph: &'static str,
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<i64>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// The binding point: the slice in which a flow ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// The scope of an instant event.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// A thread of a process.
#[derive(Clone, Copy, Debug)]
struct Thread {
    pid: usize,
    tid: usize,
}

/// A hold or a wait.
#[derive(Clone, Copy, Debug)]
struct Slice<'a> {
    past: &'a PastContender,
    time: TimeRange,
}

/// Returns the trace as the text of a JSON file.
pub fn trace(incident: &Incident<'_>) -> serde_json::Result<String> {
    let mut trace = TraceEvents { events: Vec::new(), next_thread: FIRST_THREAD, next_flow: 0 };
    let other_data = trace.add(incident);
    lockscope_model::report::json::to_string(&Trace { events: trace.events, other_data })
}

/// The trace of several ensembles, whose processes are named after their ensemble.
#[derive(Debug)]
pub struct IncidentTraces {
    trace: TraceEvents,
    ensembles: Map<String, Value>,
    /// The number of processes before the next ensemble.
    processes: usize,
}

impl Default for IncidentTraces {
    fn default() -> Self {
        let trace = TraceEvents { events: Vec::new(), next_thread: FIRST_THREAD, next_flow: 0 };
        Self { trace, ensembles: Map::new(), processes: 0 }
    }
}

impl IncidentTraces {
    /// Adds the incident of an ensemble.
    pub fn add(&mut self, ensemble: &str, incident: &Incident<'_>) {
        let first = self.trace.events.len();
        let other_data = self.trace.add(incident);
        self.ensembles.insert(ensemble.to_owned(), other_data);
        for event in &mut self.trace.events[first..] {
            event.pid += self.processes;
            // The main thread has the id of its process.
            if event.tid < FIRST_THREAD {
                event.tid += self.processes;
            }
            if let Some(Value::String(name)) = event.args.get_mut("name").filter(|_| event.name == "process_name") {
                *name = format!("{ensemble}: {name}");
            }
            if let Some(order) = event.args.get_mut("sort_index").filter(|_| event.name == "process_sort_index") {
                *order = event.pid.into();
            }
        }
        self.processes += RECORDING + 1 + incident.locks.len();
    }

    /// Returns the trace as the text of a JSON file.
    pub fn text(self) -> serde_json::Result<String> {
        let other_data = Value::Object(self.ensembles);
        lockscope_model::report::json::to_string(&Trace { events: self.trace.events, other_data })
    }
}

/// Returns which contenders are in the trace.
fn longest(incident: &Incident<'_>) -> Vec<bool> {
    let contenders = &incident.window.contenders;
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    if order.len() > MAX_CONTENDERS {
        let window = incident.times();
        let length = |time: Option<TimeRange>| time.map_or(Duration::ZERO, TimeRange::length);
        let weight = |past: &PastContender| length(certain_hold(past, window)).max(length(certain_wait(past, window)));
        order.sort_by_cached_key(|at| Reverse(contenders.get(*at).map(weight)));
        order.truncate(MAX_CONTENDERS);
    }
    let mut shown = vec![false; contenders.len()];
    for at in order {
        shown[at] = true;
    }
    shown
}

impl TraceEvents {
    /// Adds an incident. Returns what is said of the whole.
    fn add(&mut self, incident: &Incident<'_>) -> Value {
        let shown = longest(incident);
        self.process(RECORDING, "recording");
        let span = |gap: &PastGap| {
            let from = gap.from.max(incident.window.from);
            TimeRange { from, to: gap.to.unwrap_or(incident.window.to).max(from) }
        };
        let gaps = &incident.window.gaps;
        let spans: Vec<_> = gaps.iter().map(span).collect();
        let threads = self.threads(RECORDING, "gaps", &spans);
        for ((gap, span), tid) in gaps.iter().zip(&spans).zip(threads) {
            let name = format!("nothing was seen: {}", words::sentence(&gap.reason));
            self.events.push(slice(name, "gap", Thread { pid: RECORDING, tid }, *span, Map::new()));
        }
        self.ensemble(incident);
        for (at, lock) in incident.locks.iter().enumerate() {
            self.lock(incident, lock, at, &shown);
        }
        let left_out =
            incident.window.left_out + incident.window.contenders.len() - shown.iter().filter(|shown| **shown).count();
        json!({
            "from": rfc3339(incident.window.from), "to": rfc3339(incident.window.to), "contendersLeftOut": left_out, "moreFindingsOrDeletions": incident.window.is_cut,
            "coverage": CoverageFacts::each(incident.window.coverage.as_deref()),
            "causes": causes(incident), "costs": costs(incident), "ensemble_events": ensemble_events(incident),
        })
    }

    /// Adds what happened to the ensemble as a whole.
    fn ensemble(&mut self, incident: &Incident<'_>) {
        let events = &incident.window.ensemble;
        let span = |event: &PastEnsembleEvent| {
            let time = time_of(event, incident.window.to);
            let from = time.from.max(incident.window.from);
            TimeRange { from, to: time.to.max(from) }
        };
        let spans: Vec<_> = events.iter().map(span).collect();
        let threads = self.threads(RECORDING, "ensemble", &spans);
        for ((event, span), tid) in events.iter().zip(&spans).zip(threads) {
            let member = event.member.as_deref().map(|member| format!(": {}", words::name(member)));
            let name = format!("{}{}", event.what.id(), member.unwrap_or_default());
            self.events.push(slice(name, "ensemble", Thread { pid: RECORDING, tid }, *span, Map::new()));
        }
    }

    /// Names a process. Processes are listed in the order of their ids.
    fn process(&mut self, pid: usize, name: &str) {
        let main = Thread { pid, tid: pid };
        self.events.push(metadata("process_name", main, "name", name.into()));
        self.events.push(metadata("process_sort_index", main, "sort_index", pid.into()));
    }

    /// Names as many threads as slices with these times need, and returns the thread of each slice.
    /// Threads are listed in the order of their ids.
    fn threads(&mut self, pid: usize, name: &str, spans: &[TimeRange]) -> Vec<usize> {
        let (lanes, count) = lanes(spans);
        let first = self.next_thread;
        self.next_thread += count;
        for tid in first..self.next_thread {
            self.events.push(metadata("thread_name", Thread { pid, tid }, "name", name.into()));
            self.events.push(metadata("thread_sort_index", Thread { pid, tid }, "sort_index", tid.into()));
        }
        lanes.into_iter().map(|lane| first + lane).collect()
    }

    fn lock(&mut self, incident: &Incident<'_>, lock: &LockBars<'_>, at: usize, shown: &[bool]) {
        let (window, pid) = (incident.times(), RECORDING + 1 + at);
        let here: Vec<&PastContender> =
            lock.contenders.iter().filter(|at| shown[**at]).filter_map(|at| incident.contender(*at)).collect();
        if here.is_empty() && lock.findings.is_empty() {
            return;
        }
        self.process(pid, &words::lock(lock.path, lock.name));
        let holds: Vec<_> =
            here.iter().filter_map(|past| Some(Slice { past, time: certain_hold(past, window)? })).collect();
        let waits: Vec<_> =
            here.iter().filter_map(|past| Some(Slice { past, time: certain_wait(past, window)? })).collect();
        let hold_threads = self.slices(pid, "hold", "holds", &holds);
        self.slices(pid, "wait", "waits", &waits);
        self.handovers(&holds, &hold_threads, pid);
        for past in &here {
            let sign = match past.end {
                ContenderEnd::Expired => "session expired",
                ContenderEnd::Deleted if past.deleted_by.is_some() => "deleted by another session",
                ContenderEnd::Deleted => "deleted by hand",
                _ => continue,
            };
            if let Some(ended) = past.ended.filter(|ended| window.contains(ended.before)) {
                self.events.push(instant(format!("{sign}: {}", words::client(past)), "end", pid, ended.before));
            }
        }
        for finding in &lock.findings {
            let raised = finding.raised_at.max(window.from);
            let name = format!("{}: {}", words::name(&finding.code), words::sentence(&finding.summary));
            self.events.push(instant(name, "finding", pid, raised));
        }
        if at < MAX_COUNTERS {
            counter(incident, lock, pid, &mut self.events);
        }
    }

    /// Adds the slices and returns the thread of each.
    fn slices(&mut self, pid: usize, cat: &'static str, threads: &str, of: &[Slice<'_>]) -> Vec<usize> {
        let spans: Vec<_> = of.iter().map(|slice| slice.time).collect();
        let threads = self.threads(pid, threads, &spans);
        for (Slice { past, time }, tid) in of.iter().zip(&threads) {
            self.events.push(slice(words::client(past), cat, Thread { pid, tid: *tid }, *time, arguments(past)));
        }
        threads
    }

    /// Adds a flow from the end of each hold to the beginning of the next.
    fn handovers(&mut self, holds: &[Slice<'_>], threads: &[usize], pid: usize) {
        let mut by_begin: Vec<usize> = (0..holds.len()).collect();
        by_begin.sort_by_key(|at| holds[*at].time);
        for pair in by_begin.windows(2) {
            let (Slice { past: before, time: held }, next) = (holds[pair[0]], holds[pair[1]].time.from);
            // Simultaneous holders handed nothing over, and a hold whose end was not seen exactly
            // gives no flow.
            if next < held.to || before.ended.is_none_or(|ended| ended.exactly().is_none()) {
                continue;
            }
            let event = |ph, ts, tid, bp| TraceEvent {
                name: "hand-over".to_owned(),
                cat: "hand-over",
                ph,
                ts,
                pid,
                tid,
                id: Some(self.next_flow),
                bp,
                ..TraceEvent::default()
            };
            // The flow must begin within the slice that it leaves.
            let begins = event("s", (micros(held.to) - 1).max(micros(held.from)), threads[pair[0]], None);
            let ends = event("f", micros(next), threads[pair[1]], Some("e"));
            self.events.extend([begins, ends]);
            self.next_flow += 1;
        }
    }
}

/// Adds the queue length at each change.
fn counter(incident: &Incident<'_>, lock: &LockBars<'_>, pid: usize, events: &mut Vec<TraceEvent>) {
    let lengths = queue_lengths(&incident.window.contenders, &lock.contenders, incident.times(), COUNTER_STEPS);
    let (from, to) = (incident.window.from, incident.window.to);
    let mut last = None;
    for (step, waiting) in lengths.into_iter().enumerate().filter(|_| to > from) {
        if last == Some(waiting) {
            continue;
        }
        last = Some(waiting);
        let part = i128::from(micros(to) - micros(from)) * i128::try_from(step).unwrap_or(0);
        let offset = i64::try_from(part / i128::try_from(COUNTER_STEPS).unwrap_or(1)).unwrap_or(0);
        let args = Map::from_iter([("waiting".to_owned(), Value::from(waiting))]);
        events.push(TraceEvent {
            name: "waiting".to_owned(),
            ph: "C",
            ts: micros(from) + offset,
            pid,
            tid: pid,
            args,
            ..TraceEvent::default()
        });
    }
}

fn arguments(past: &PastContender) -> Map<String, Value> {
    let values = [
        ("node", Value::from(words::name(&past.node))),
        ("session", past.session.map_or(Value::Null, |session| session.to_string().into())),
        ("mode", Value::from(words::name(&past.mode))),
        ("end", Value::from(past.end.id())),
        ("held_at_least_ms", past.held_at_least_ms().into()),
        ("held_at_most_ms", past.held_at_most_ms().into()),
        ("waited_ms", past.waited_ms().into()),
    ];
    values.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn micros(at: Timestamp) -> i64 {
    at.0.saturating_mul(1_000)
}

fn slice(
    name: String,
    cat: &'static str,
    Thread { pid, tid }: Thread,
    time: TimeRange,
    args: Map<String, Value>,
) -> TraceEvent {
    let dur = Some(micros(time.to).saturating_sub(micros(time.from)));
    TraceEvent { name, cat, ph: "X", ts: micros(time.from), dur, pid, tid, args, ..TraceEvent::default() }
}

fn instant(name: String, cat: &'static str, pid: usize, at: Timestamp) -> TraceEvent {
    TraceEvent { name, cat, ph: "i", ts: micros(at), pid, tid: pid, s: Some("p"), ..TraceEvent::default() }
}

/// Returns an event that names or orders a process or a thread.
fn metadata(what: &str, Thread { pid, tid }: Thread, key: &str, value: Value) -> TraceEvent {
    let args = Map::from_iter([(key.to_owned(), value)]);
    TraceEvent { name: what.to_owned(), ph: "M", pid, tid, args, ..TraceEvent::default() }
}

/// The most locks of a cause with a name.
const MAX_LOCKS: usize = 20;

/// The most locks with a cost.
const MAX_COSTS: usize = 100;

/// Returns the causes, those that cost most first, and then the critical findings that none of them
/// names.
fn causes(incident: &Incident<'_>) -> Value {
    let told = told(incident, true);
    let cause = told.paragraphs.iter().map(|cause| {
        let locks = cause.locks.iter().take(MAX_LOCKS).map(|at| &incident.locks[*at]);
        json!({
            "kind": cause.kind,
            "finding": cause.finding.map(words::name),
            "from": rfc3339(cause.time.from),
            "to": rfc3339(cause.time.to),
            "cost_ms": cause.cost_ms,
            "cost_at_most_ms": cause.most_cost_ms,
            "locks": locks.map(|lock| words::lock(lock.path, lock.name)).collect::<Vec<_>>(),
            "lock_count": cause.locks.len(),
            "text": cause.text,
        })
    });
    cause.collect()
}

/// Returns what waiting cost, the locks that cost most first.
fn costs(incident: &Incident<'_>) -> Value {
    let cost = incident.waited_for().into_iter().take(MAX_COSTS).map(|lock| {
        let name = words::lock(lock.path, lock.name);
        json!({ "lock": name, "waiter_seconds": lock.waiting.waited, "waiter_seconds_unheld": lock.waiting.unheld })
    });
    cost.collect()
}

/// Returns what happened to the ensemble as a whole.
fn ensemble_events(incident: &Incident<'_>) -> Value {
    let event = incident.window.ensemble.iter().map(|event| {
        let (member, detail) = (event.member.as_deref().map(words::name), event.detail.as_deref().map(words::sentence));
        let facts = EnsembleEventFacts::new(event.what, (event.began, event.ended)).with_epoch(event.epoch);
        json!(facts.with_texts(member.as_deref(), detail.as_deref()))
    });
    event.collect()
}

/// Assigns each time span the first free lane, in order of the beginnings. Returns the lanes in the
/// order of `times`, and the number of lanes.
fn lanes(times: &[TimeRange]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|at| times[*at]);
    let mut lanes = vec![0; times.len()];
    let mut busy: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut count = 0;
    for at in order {
        let TimeRange { from, to } = times[at];
        while let Some(Reverse((_, lane))) = busy.peek().copied().filter(|Reverse((end, _))| *end <= from) {
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or_else(
            || {
                count += 1;
                count - 1
            },
            |Reverse(lane)| lane,
        );
        lanes[at] = lane;
        busy.push(Reverse((to, lane)));
    }
    (lanes, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_get_separate_lanes_and_lanes_are_reused() {
        let range = |(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) };
        assert_eq!(lanes(&[(0, 10), (5, 8), (8, 9), (10, 12)].map(range)), (vec![0, 1, 1, 0], 2));
        assert_eq!(lanes(&[(5, 6), (0, 9)].map(range)), (vec![1, 0], 2));
        assert_eq!(lanes(&[]), (vec![], 0));
    }
}
