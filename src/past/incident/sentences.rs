//! Sentences about one hold, one gap, and what is left out.

use super::lock_rows::Incident;
use super::words;
use crate::record::history::{PastContender, PastGap};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::text::human::{count, date_and_time, duration, exact_time, latency, plural};

/// Writes times: with the date where the time of day could be mistaken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    window: TimeRange,
    utc: bool,
}

/// Within a longer time, the time of day says too little.
const LONGEST_DAY_MS: u128 = 24 * 3_600_000;

impl Times {
    pub fn of(incident: &Incident<'_>, utc: bool) -> Self {
        Self { window: incident.times(), utc }
    }

    pub fn at(self, at: Timestamp) -> String {
        let is_of_the_day = at >= self.window.from && self.window.length().as_millis() <= LONGEST_DAY_MS;
        if is_of_the_day { exact_time(at, self.utc) } else { date_and_time(at, self.utc) }
    }

    /// Returns the time of a moment within bounds, such as `between 14:41:12.000 and 14:41:13.000`.
    pub fn between(self, bounds: TimeRange) -> String {
        match bounds {
            TimeRange { from, to } if from == to => format!("at {}", self.at(to)),
            TimeRange { from, to } => format!("between {} and {}", self.at(from), self.at(to)),
        }
    }

    /// Returns a time such as `from 14:41:12.000 to 14:41:39.000 (27s)`.
    pub fn of_range(self, time: TimeRange) -> String {
        format!("from {} to {} ({})", self.at(time.from), self.at(time.to), duration(time.length()))
    }
}

/// Returns the sentence of an incident without a standstill that is worth one.
pub(super) fn calm(incident: &Incident<'_>) -> String {
    let holds = incident.window.contenders.iter().filter(|past| past.acquired.is_some()).count();
    let longest = incident.longest().map(|longest| format!(" The longest time was {}.", duration(longest)));
    format!(
        "No lock stood for a second or longer while others waited for it ({}, {}).{}",
        plural(holds, "hold", "holds"),
        plural(incident.locks.len(), "lock", "locks"),
        longest.unwrap_or_default()
    )
}

/// Describes the beginning and the end of a hold.
pub(super) fn held(past: &PastContender, times: Times) -> String {
    let from = past.acquired.map_or_else(String::new, |acquired| match acquired.exactly() {
        Some(at) => times.at(at),
        None => format!("{} or earlier", times.at(acquired.before)),
    });
    let at = past.ended.map(|ended| times.at(ended.before)).unwrap_or_default();
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
            let after = past.ended.map(|ended| times.at(ended.after)).unwrap_or_default();
            format!("held it from {from} until a time between {after} and {at} that nobody saw")
        }
    }
}

/// Returns the sentence of a time in which nothing was seen.
pub(super) fn nothing_seen(gap: &PastGap, utc: bool) -> String {
    let (from, reason) = (date_and_time(gap.from, utc), words::sentence(&gap.reason));
    match gap.to {
        Some(to) => format!("Nothing was seen for {} from {from} on: {reason}.", latency(to.since(gap.from))),
        None => format!("Nothing was seen from {from} on: {reason}."),
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
