//! The events of an incident in the order of time; of too many, the most important ones.

use super::lock_rows::Incident;
use super::words;
use crate::record::history::PastContender;
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::Timestamp;
use lockscope_model::ensemble::EnsembleEventKind;
use lockscope_model::text::human::{latency, plural};

/// The most events on a page.
pub(super) const MAX_EVENTS: usize = 400;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub at: Timestamp,
    /// The kind of the event, as in `lockscope watch`.
    pub what: &'static str,
    pub lock: String,
    pub who: String,
    pub why: String,
    /// The importance: of too many events, the highest weights stay.
    weight: u64,
}

/// The weight of every event that is not one of a contender: higher than those.
const CERTAIN: u64 = u64::MAX;

/// Returns the events, and how many are left out.
pub(super) fn events(incident: &Incident<'_>) -> (Vec<Event>, usize) {
    let window = incident.window;
    let mut events: Vec<Event> = Vec::new();
    for past in &window.contenders {
        contender(past, &mut events);
    }
    for finding in &window.findings {
        let lock = words::lock(&finding.lock, finding.name.as_deref());
        let who = finding.node.as_deref().map(words::name).unwrap_or_default();
        let event = |at, what, why| Event { at, what, lock: lock.clone(), who: who.clone(), why, weight: CERTAIN };
        let why = format!("{}: {}", words::name(&finding.code), words::sentence(&finding.summary));
        events.push(event(finding.raised_at, "finding-raised", why));
        if let Some(cleared) = finding.cleared_at {
            events.push(event(cleared, "finding-cleared", words::name(&finding.code)));
        }
    }
    for gap in &window.gaps {
        let event = |at, what, why| Event { at, what, lock: String::new(), who: String::new(), why, weight: CERTAIN };
        events.push(event(gap.from, "gap-begins", words::sentence(&gap.reason)));
        events.extend(gap.to.map(|to| event(to, "gap-ends", String::new())));
    }
    // The gaps have what was not seen.
    for happened in window.ensemble.iter().filter(|event| event.what != EnsembleEventKind::NotSeen) {
        let event = |at, why: &str| Event {
            at,
            what: happened.what.id(),
            lock: String::new(),
            who: happened.member.as_deref().map(words::name).unwrap_or_default(),
            why: why.to_owned(),
            weight: CERTAIN,
        };
        let detail = happened.detail.as_deref().map(words::sentence).unwrap_or_default();
        events.push(event(happened.began.before, &detail));
        events.extend(happened.ended.filter(|ended| *ended != happened.began).map(|ended| event(ended.before, "over")));
    }
    for attempts in &window.attempts {
        let session = || attempts.session.map_or_else(String::new, |session| format!("session {session}"));
        events.push(Event {
            at: attempts.from,
            what: "tried-in-vain",
            lock: attempts.lock.as_deref().map(words::name).unwrap_or_default(),
            who: attempts.client_name.as_deref().map_or_else(session, words::name),
            why: plural(attempts.count, "time", "times"),
            weight: attempts.count,
        });
    }
    for deletion in &window.deletions {
        events.push(Event {
            at: deletion.at,
            what: "deletion",
            lock: words::name(&deletion.lock),
            who: deletion.by.as_deref().map(words::name).unwrap_or_default(),
            why: format!("{}: {}", words::name(&deletion.path), words::name(&deletion.result)),
            weight: CERTAIN,
        });
    }
    events.retain(|event| event.at >= window.from && event.at <= window.to);
    let left_out = events.len().saturating_sub(MAX_EVENTS);
    if left_out > 0 {
        events.sort_by_key(|event| std::cmp::Reverse(event.weight));
        events.truncate(MAX_EVENTS);
    }
    events.sort_by(|a, b| (a.at, &a.lock).cmp(&(b.at, &b.lock)));
    (events, left_out)
}

fn contender(past: &PastContender, events: &mut Vec<Event>) {
    let weight = past.held_at_least_ms().unwrap_or(0).max(past.waited_ms().unwrap_or(0));
    let mut add = |at: Timestamp, what, why: String| {
        let (lock, who) = (words::lock(&past.lock, past.name.as_deref()), words::client(past));
        events.push(Event { at, what, lock, who, why, weight });
    };
    let ms = |ms: Option<u64>| ms.map(|ms| latency(std::time::Duration::from_millis(ms)));
    if let Some(came) = past.enqueued_at {
        add(came, "enqueued", String::new());
    }
    if let Some(acquired) = past.acquired {
        let why = if acquired.exactly().is_some() {
            ms(past.waited_ms()).map(|waited| format!("waited {waited}")).unwrap_or_default()
        } else {
            "at this time or earlier".to_owned()
        };
        add(acquired.before, "acquired", why);
    }
    if let Some(ended) = past.ended {
        let held = || ms(past.held_at_least_ms()).filter(|_| past.acquired.is_some());
        let why = match (ended.exactly(), held()) {
            (None, _) => "at this time or earlier: it was not seen".to_owned(),
            (Some(_), Some(held)) => format!("held {held}"),
            (Some(_), None) => String::new(),
        };
        let what = match past.end {
            ContenderEnd::Gone => ContenderEnd::Gone.id(),
            ContenderEnd::Released | ContenderEnd::Open => "released",
            ContenderEnd::Left => "left",
            ContenderEnd::Expired => "expired",
            ContenderEnd::Deleted => "deleted",
            ContenderEnd::Closed => "closed",
            ContenderEnd::Unknown => "ended",
        };
        add(ended.before, what, why);
    }
}
