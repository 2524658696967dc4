//! The incident as trace events, as Chrome and Perfetto read them: each lock a process, holds and waits as slices in its threads,
//! hand-overs as flows, how many wait as a counter. The format is that of the document "Trace Event Format".
//!
//! Times are in microseconds since 1970-01-01 UTC, exact to a millisecond.

use std::cmp::Reverse;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::lanes::lanes;
use super::lock_rows::{Incident, LockRows};
use super::queue_lengths::queue_lengths;
use super::standstill::{certain_hold, certain_wait};
use super::words;
use crate::record::history::PastContender;
use crate::record::tables::ContenderEnd;
use crate::report::rfc3339;

/// Contenders in a trace: of more, those that held or waited longest. A file of them has less than 5 MB.
const MAX_CONTENDERS: usize = 5_000;

/// Steps of the counter of a lock, and locks that have one.
const COUNTER_STEPS: usize = 500;
const MAX_COUNTERS: usize = 20;

/// Threads of waits come behind those of holds.
const FIRST_WAIT_THREAD: usize = 10_000;

/// The process of what concerns no lock.
const RECORDING: usize = 1;

/// The file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    display_time_unit: &'static str,
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEvent>,
    other_data: Value,
}

/// One event. The names are those of the format.
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
    /// To which slice the end of a flow belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// How far an instant reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// The trace, as the text of a JSON file.
pub fn trace(incident: &Incident<'_>) -> serde_json::Result<String> {
    let shown = longest(incident);
    let mut events = Vec::new();
    events.push(metadata("process_name", RECORDING, 0, "recording"));
    for gap in &incident.window.gaps {
        let (from, to) = (gap.from.0.max(incident.window.from.0), gap.to.map_or(incident.window.to.0, |to| to.0));
        let name = format!("nothing was seen: {}", words::sentence(&gap.reason));
        events.push(slice(name, "gap", (RECORDING, 0), (from, to.max(from)), Map::new()));
    }
    let mut flow = 0;
    for (at, lock) in incident.locks.iter().enumerate() {
        lock_events(incident, lock, at, &shown, &mut flow, &mut events);
    }
    let left_out =
        incident.window.left_out + incident.window.contenders.len() - shown.iter().filter(|shown| **shown).count();
    let other_data = json!({
        "from": rfc3339(incident.window.from), "to": rfc3339(incident.window.to), "contendersLeftOut": left_out,
    });
    crate::report::json::to_string(&Trace { display_time_unit: "ms", events, other_data })
}

/// Which contenders are in the trace.
fn longest(incident: &Incident<'_>) -> Vec<bool> {
    let contenders = &incident.window.contenders;
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    if order.len() > MAX_CONTENDERS {
        let window = incident.times();
        let length = |span: Option<(i64, i64)>| span.map_or(0, |(from, to)| to - from);
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

fn lock_events(
    incident: &Incident<'_>,
    lock: &LockRows<'_>,
    at: usize,
    shown: &[bool],
    flow: &mut usize,
    events: &mut Vec<TraceEvent>,
) {
    let (window, pid, name) = (incident.times(), RECORDING + 1 + at, words::lock(lock.path, lock.name));
    let here: Vec<&PastContender> =
        lock.contenders.iter().filter(|at| shown[**at]).filter_map(|at| incident.contender(*at)).collect();
    if here.is_empty() && lock.findings.is_empty() {
        return;
    }
    events.push(metadata("process_name", pid, 0, &name));
    let holds: Vec<_> = here.iter().filter_map(|past| Some((*past, certain_hold(past, window)?))).collect();
    let waits: Vec<_> = here.iter().filter_map(|past| Some((*past, certain_wait(past, window)?))).collect();
    let spans = |of: &[(&PastContender, (i64, i64))]| of.iter().map(|(_, span)| *span).collect::<Vec<_>>();
    let (hold_lanes, hold_threads) = lanes(&spans(&holds));
    let (wait_lanes, wait_threads) = lanes(&spans(&waits));
    let threads = (0..hold_threads).map(|lane| (1 + lane, "holds"));
    for (tid, what) in threads.chain((0..wait_threads).map(|lane| (FIRST_WAIT_THREAD + lane, "waits"))) {
        events.push(metadata("thread_name", pid, tid, what));
    }
    for ((past, span), lane) in holds.iter().zip(&hold_lanes) {
        events.push(slice(words::client(past), "hold", (pid, 1 + lane), *span, arguments(past)));
    }
    for ((past, span), lane) in waits.iter().zip(&wait_lanes) {
        events.push(slice(words::client(past), "wait", (pid, FIRST_WAIT_THREAD + lane), *span, arguments(past)));
    }
    handovers(&holds, &hold_lanes, pid, flow, events);
    for past in &here {
        let sign = match past.end {
            ContenderEnd::Expired => "session expired",
            ContenderEnd::Deleted => "deleted by hand",
            _ => continue,
        };
        if let Some(ended) = past.ended.filter(|ended| ended.before >= window.0 && ended.before <= window.1) {
            events.push(instant(format!("{sign}: {}", words::client(past)), "end", pid, ended.before.0));
        }
    }
    for finding in &lock.findings {
        let raised = finding.raised_at.0.max(window.0.0);
        events.push(instant(
            format!("{}: {}", words::name(&finding.code), words::sentence(&finding.summary)),
            "finding",
            pid,
            raised,
        ));
    }
    if at < MAX_COUNTERS {
        counter(incident, lock, pid, events);
    }
}

/// From the end of each hold to the beginning of the next one.
fn handovers(
    holds: &[(&PastContender, (i64, i64))],
    lanes: &[usize],
    pid: usize,
    flow: &mut usize,
    events: &mut Vec<TraceEvent>,
) {
    let mut by_begin: Vec<usize> = (0..holds.len()).collect();
    by_begin.sort_by_key(|at| holds[*at].1);
    for pair in by_begin.windows(2) {
        let ((before, (began, ended)), (_, (next, _))) = (holds[pair[0]], holds[pair[1]]);
        // Who holds at the same time was handed nothing; and what was not seen is no hand-over.
        if next < ended || before.end == ContenderEnd::Open || before.end == ContenderEnd::Unknown {
            continue;
        }
        let event = |ph, at, lane: usize, bp| TraceEvent {
            name: "hand-over".to_owned(),
            cat: "hand-over",
            ph,
            ts: at,
            pid,
            tid: 1 + lane,
            id: Some(*flow),
            bp,
            ..TraceEvent::default()
        };
        // Within the slice from which it goes.
        events.push(event("s", (micros(ended) - 1).max(micros(began)), lanes[pair[0]], None));
        events.push(event("f", micros(next), lanes[pair[1]], Some("e")));
        *flow += 1;
    }
}

/// How many wait, where that changes.
fn counter(incident: &Incident<'_>, lock: &LockRows<'_>, pid: usize, events: &mut Vec<TraceEvent>) {
    let lengths = queue_lengths(&incident.window.contenders, &lock.contenders, incident.times(), COUNTER_STEPS);
    let (from, to) = (incident.window.from.0, incident.window.to.0);
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

fn micros(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

fn slice(
    name: String,
    cat: &'static str,
    (pid, tid): (usize, usize),
    (from, to): (i64, i64),
    args: Map<String, Value>,
) -> TraceEvent {
    let dur = Some(micros(to.saturating_sub(from)));
    TraceEvent { name, cat, ph: "X", ts: micros(from), dur, pid, tid, args, ..TraceEvent::default() }
}

fn instant(name: String, cat: &'static str, pid: usize, at: i64) -> TraceEvent {
    TraceEvent { name, cat, ph: "i", ts: micros(at), pid, tid: 0, s: Some("p"), ..TraceEvent::default() }
}

/// What a process or a thread is called.
fn metadata(what: &str, pid: usize, tid: usize, name: &str) -> TraceEvent {
    let args = Map::from_iter([("name".to_owned(), Value::from(name))]);
    TraceEvent { name: what.to_owned(), ph: "M", pid, tid, args, ..TraceEvent::default() }
}
