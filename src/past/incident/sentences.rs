//! Describes the standstills and their causes in a few sentences.

use std::time::Duration;

use super::lock_rows::Incident;
use super::standstill::Standstill;
use super::words;
use crate::record::history::PastContender;
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::Timestamp;
use lockscope_model::text::human::{count, date_and_time, duration, exact_time, plural};

/// The most standstills with a sentence.
pub(super) const MAX_SENTENCES: usize = 3;

/// Shorter standstills are not worth a sentence.
const MIN_STANDSTILL_MS: u64 = 1_000;

/// Returns the standstills that have a sentence.
pub(super) fn standstills(incident: &Incident<'_>) -> Vec<Standstill> {
    let mut longest = incident.longest(MAX_SENTENCES);
    longest.retain(|found| found.ms >= MIN_STANDSTILL_MS);
    longest
}

/// Returns one sentence for each of the longest standstills, or one that says that there was none.
pub(super) fn sentences(incident: &Incident<'_>, utc: bool) -> Vec<String> {
    let told = standstills(incident);
    let sentences: Vec<String> = told.iter().filter_map(|found| standstill(incident, found, utc)).collect();
    if !sentences.is_empty() {
        return sentences;
    }
    let holds = incident.window.contenders.iter().filter(|past| past.acquired.is_some()).count();
    let longest = incident.longest(1).first().map_or_else(String::new, |found| {
        format!(" The longest time was {}.", duration(Duration::from_millis(found.ms)))
    });
    vec![format!(
        "No lock was held for a second or longer while others waited for it ({}, {}).{longest}",
        plural(holds, "hold", "holds"),
        plural(incident.locks.len(), "lock", "locks")
    )]
}

fn standstill(incident: &Incident<'_>, found: &Standstill, utc: bool) -> Option<String> {
    let past = incident.contender(found.holder)?;
    let lock = words::lock(&past.lock, past.name.as_deref());
    let length = duration(Duration::from_millis(found.ms));
    let since = exact_time(found.from, utc);
    let waited = match found.attempts {
        0 => plural(found.waiters, "other waited", "others waited"),
        tries => {
            let others = plural(found.waiters, "other waited or tried", "others waited or tried");
            format!("{others} {} in vain", plural(tries, "time", "times"))
        }
    };
    let held = held(past, incident.times().from, utc);
    let why = incident.cause(past, found).map_or_else(
        || why_by_end(past).to_owned(),
        |finding| {
            format!(
                "{}: {}",
                words::name(&finding.code),
                words::sentence(&finding.summary).trim_end_matches('.').to_owned()
            )
        },
    );
    Some(format!(
        "{lock} stood still for {length} from {since} on while {waited}: {} {held} ({why}).",
        words::client(past)
    ))
}

/// Describes the beginning and the end of a hold.
fn held(past: &PastContender, window_began: Timestamp, utc: bool) -> String {
    let time = |at: Timestamp| if at < window_began { date_and_time(at, utc) } else { exact_time(at, utc) };
    let from = past.acquired.map_or_else(String::new, |acquired| match acquired.exactly() {
        Some(at) => time(at),
        None => format!("{} or earlier", time(acquired.before)),
    });
    let at = past.ended.map(|ended| time(ended.before)).unwrap_or_default();
    match past.end {
        ContenderEnd::Open => format!("has held it since {from}, and still held it when the recording ended"),
        ContenderEnd::Gone => {
            format!("held it from {from} until {at}, when its node was gone: released, or deleted by another")
        }
        ContenderEnd::Released | ContenderEnd::Left => format!("held it from {from} until it released it at {at}"),
        ContenderEnd::Expired => format!("held it from {from} until its session expired at {at}"),
        ContenderEnd::Closed => format!("held it from {from} until its client closed the session at {at}"),
        ContenderEnd::Deleted => match past.deleted_by {
            Some(session) => format!("held it from {from} until the session {session} deleted its node at {at}"),
            None => format!("held it from {from} until its node was deleted by hand at {at}"),
        },
        ContenderEnd::Unknown if past.ended.is_some_and(|ended| ended.exactly().is_some()) => {
            format!("held it from {from} until {at}, when its node was gone: released, deleted by another, or expired")
        }
        ContenderEnd::Unknown => {
            let after = past.ended.map(|ended| time(ended.after)).unwrap_or_default();
            format!("held it from {from} until a time between {after} and {at} that nobody saw")
        }
    }
}

/// Explains the length of a hold by its end.
fn why_by_end(past: &PastContender) -> &'static str {
    match past.end {
        ContenderEnd::Expired => {
            "its client was gone without releasing it: the servers waited for the end of its session"
        }
        ContenderEnd::Deleted => "somebody else ended it; no finding says why it held so long",
        _ => "no finding says why: the holder kept it so long",
    }
}

/// Returns a sentence for each kind of content that is left out.
pub(super) fn left_out(incident: &Incident<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    if incident.window.left_out > 0 {
        let left_out = count(incident.window.left_out);
        sentences.push(format!("{left_out} earlier contenders are not on this page: report a shorter time."));
    }
    if incident.window.is_cut {
        sentences.push("There are more findings or deletions than this page has: report a shorter time.".to_owned());
    }
    sentences
}
