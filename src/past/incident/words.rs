//! Names and sentences in a form that is safe on a page: of a lock, a client, a time, one hold, one
//! gap, and what is left out.

use std::time::Duration;

use super::Incident;
use crate::record::history::{PastContender, PastGap, PastMute};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{TimeRange, Timestamp, escaped};
use lockscope_model::text::human::{count, date_and_time, duration, exact_time, latency, plural};
use lockscope_model::text::{Charset, Keep, cut, fit};

/// The most columns of a name.
const NAME_COLUMNS: usize = 80;

/// The most columns of a sentence.
const SENTENCE_COLUMNS: usize = 600;

/// Returns a name from a znode or a server in a safe form: invisible characters are escaped as in
/// `\u{202e}`, and of a long name both ends are kept.
pub fn name(text: &str) -> String {
    without_noncharacters(fit(text, NAME_COLUMNS, Keep::Ends, Charset::Unicode))
}

/// Returns who muted a finding, until when and why, to follow its sentence.
pub fn muted(mute: &PastMute, utc: bool) -> String {
    let until = mute.until.map_or_else(|| "it is cleared".to_owned(), |until| date_and_time(until, utc));
    format!(" (muted by {} until {until}: {})", name(&mute.by), sentence(&escaped(&mute.note)))
}

/// Returns a sentence whose names are already escaped.
pub fn sentence(text: &str) -> String {
    let harmless = if text.chars().any(|char| char != '\\' && lockscope_base::znode::must_be_escaped(char)) {
        lockscope_base::znode::escaped(text).into_owned()
    } else {
        text.to_owned()
    };
    without_noncharacters(cut(&harmless, SENTENCE_COLUMNS, Keep::Ends, Charset::Unicode).clone())
}

/// Escapes the noncharacters that XML forbids.
fn without_noncharacters(text: String) -> String {
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
    } else {
        text
    }
}

/// Returns a lock's path, with the name of the queue if its parent has several.
pub fn lock(path: &str, own_name: Option<&str>) -> String {
    own_name.map_or_else(|| name(path), |own| format!("{} {}", name(path), name(own)))
}

/// Returns the known identity of a contender: `worker-3 (10.0.4.17:51586)`, or the known part of
/// it.
pub fn client(past: &PastContender) -> String {
    match (past.client_name.as_deref(), past.client.as_deref(), past.session) {
        (Some(own), Some(address), _) if !address.starts_with(own) => format!("{} ({})", name(own), name(address)),
        (_, Some(address), _) => name(address),
        (Some(own), None, Some(session)) => format!("{} (session {session})", name(own)),
        (Some(own), None, None) => name(own),
        (None, None, Some(session)) => format!("session {session}"),
        (None, None, None) => format!("the owner of {}", name(&past.node)),
    }
}

/// Returns the same for two contenders exactly if they are of one client: one name on one host, since
/// a client has another port after each reconnect, or else one address or one session.
pub fn same_client(past: &PastContender) -> String {
    let host = past.client.as_deref().map(|address| address.rsplit_once(':').map_or(address, |(host, _)| host));
    match (past.client_name.as_deref(), host, past.session) {
        (Some(own), host, _) => format!("name {own} {}", host.unwrap_or_default()),
        (None, Some(_), _) => format!("address {}", past.client.as_deref().unwrap_or_default()),
        (None, None, Some(session)) => format!("session {session}"),
        (None, None, None) => format!("node {}", past.node),
    }
}

/// Returns a time range such as `2026-05-01 02:00:00 to 02:30:00 UTC`; the day and zone appear once
/// when they are equal.
pub fn period(from: Timestamp, to: Timestamp, utc: bool) -> String {
    let (from, to) = (date_and_time(from, utc), date_and_time(to, utc));
    let parts = |text: &str| text.splitn(3, ' ').map(str::to_owned).collect::<Vec<_>>();
    match (&parts(&from)[..], &parts(&to)[..]) {
        ([day, began, zone], [last_day, ended, last_zone]) if zone == last_zone => {
            let last_day = if day == last_day { String::new() } else { format!("{last_day} ") };
            format!("{day} {began} to {last_day}{ended} {zone}")
        }
        _ => format!("{from} to {to}"),
    }
}

/// Writes times: with the date where the time of day could be mistaken.
#[derive(Clone, Copy, Debug)]
pub struct ShownTimes {
    window: TimeRange,
    utc: bool,
}

/// Within a longer time, the time of day says too little.
const LONGEST_DAY_MS: u128 = 24 * 3_600_000;

impl ShownTimes {
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

/// Returns the sentence of an incident without a cause that is worth one. A standstill that is shorter
/// than `brief` is none to people.
pub fn calm(incident: &Incident<'_>, brief: Duration) -> String {
    let holds = incident.window.contenders.iter().filter(|past| past.acquired.is_some()).count();
    let all = format!("({}, {})", plural(holds, "hold", "holds"), plural(incident.locks.len(), "lock", "locks"));
    match incident.longest() {
        Some(longest) if longest >= brief => format!(
            "Locks stood for up to {} while others waited for them, who waited {} in all {all}. No cause has a minute of it, or a hundredth.",
            duration(longest),
            duration(Duration::from_millis(incident.cost_ms()))
        ),
        longest => {
            let longest = longest.map(|longest| format!(" The longest time was {}.", duration(longest)));
            let longest = longest.unwrap_or_default();
            format!("No lock stood for a second or longer while others waited for it {all}.{longest}")
        }
    }
}

/// Describes the beginning and the end of a hold.
pub fn held(past: &PastContender, times: ShownTimes) -> String {
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
pub fn nothing_seen(gap: &PastGap, utc: bool) -> String {
    let (from, reason) = (date_and_time(gap.from, utc), sentence(&gap.reason));
    match gap.to {
        Some(to) => format!("Nothing was seen for {} from {from} on: {reason}.", latency(to.since(gap.from))),
        None => format!("Nothing was seen from {from} on: {reason}."),
    }
}

/// The most times whose source is told.
const MAX_COVERED: usize = 5;

/// Returns a sentence for each time that is from transaction logs, which tells what proves it.
pub fn logs(incident: &Incident<'_>, utc: bool) -> Vec<String> {
    let covered = incident.window.coverage.iter().flatten();
    let of_logs = covered.filter_map(|covered| {
        let (from, to) = (date_and_time(covered.time.from, utc), date_and_time(covered.time.to, utc));
        Some(format!("From {from} to {to} it is from {}.", covered.of_logs()?))
    });
    let mut sentences: Vec<String> = of_logs.collect();
    let others = sentences.len().saturating_sub(MAX_COVERED);
    sentences.truncate(MAX_COVERED);
    if others > 0 {
        sentences.push(format!("{} are from transaction logs.", plural(others, "other part", "other parts")));
    }
    sentences
}

/// Returns a sentence for each kind of content that is left out.
pub fn left_out(incident: &Incident<'_>) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_names_an_equal_day_and_zone_once() {
        let began = Timestamp(1_714_574_467_000);
        let after = |minutes: i64| Timestamp(began.0 + minutes * 60_000);
        assert_eq!(period(began, after(30), true), "2024-05-01 14:41:07 to 15:11:07 UTC");
        assert_eq!(period(began, after(24 * 60), true), "2024-05-01 14:41:07 to 2024-05-02 14:41:07 UTC");
        assert!(period(Timestamp(i64::MIN), began, true).ends_with("2024-05-01 14:41:07 UTC"));
    }

    #[test]
    fn no_name_hides_or_reverses_the_text_beside_it() {
        assert_eq!(name("a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\n"), r"a\u{202e}b\0\u{1b}[2J\u{ffff}\n");
        assert!(name(&"x".repeat(5_000)).chars().count() <= NAME_COLUMNS);
        assert_eq!(sentence(r"it is \u{1b} escaped"), r"it is \u{1b} escaped");
        assert!(!sentence("a\u{202e}b").contains('\u{202e}'));
        assert!(sentence(&"long ".repeat(5_000)).chars().count() <= SENTENCE_COLUMNS);
    }
}
