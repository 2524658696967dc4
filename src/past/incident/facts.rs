//! What is told of an incident, as JSON beside its trace.

use serde_json::{Value, json};

use super::lock_rows::Incident;
use super::paragraphs::told;
use super::words;
use lockscope_model::report::{EnsembleEventFacts, rfc3339};

/// The most locks of a cause with a name.
const MAX_LOCKS: usize = 20;

/// Returns the causes, those that cost most first, and then the critical findings that none of them
/// names.
pub(super) fn causes(incident: &Incident<'_>) -> Value {
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

/// Returns what happened to the ensemble as a whole.
pub(super) fn ensemble_events(incident: &Incident<'_>) -> Value {
    let event = incident.window.ensemble.iter().map(|event| {
        let (member, detail) = (event.member.as_deref().map(words::name), event.detail.as_deref().map(words::sentence));
        let facts = EnsembleEventFacts::new(event.what, (event.began, event.ended)).with_epoch(event.epoch);
        json!(facts.with_texts(member.as_deref(), detail.as_deref()))
    });
    event.collect()
}
