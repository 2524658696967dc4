//! What is remembered about an election, in one line.

use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::queue::{Departure, ElectionKind, ElectionRecord, LockQueue, LockTable};
use lockscope_model::text::human::{duration, plural};

/// Maximum number of past leaders that are named.
const MAX_NAMED: usize = 3;

/// Returns whether a lock is shown as an election.
pub fn is_shown_as_election(table: &LockTable, lock: &LockQueue, now: Timestamp) -> bool {
    table.election_kind(lock, now).is_some_and(|kind| kind >= ElectionKind::Likely)
}

/// Returns how often the leader changed lately, as in `2 changes in 1h`; `None` if it was not
/// watched for long enough.
pub fn changes(table: &LockTable, lock: &LockQueue, now: Timestamp) -> Option<String> {
    let changes = table.changes_of_leader(lock, now);
    let (count, time) = changes
        .last_day
        .filter(|_| changes.last_hour == Some(0))
        .map(|count| (count, "1d"))
        .or(changes.last_hour.map(|count| (count, "1h")))?;
    Some(if count == 0 {
        format!("same for {time}")
    } else {
        format!("{} in {time}", plural(count, "change", "changes"))
    })
}

/// Returns the changes and the past leaders of an election; `None` if neither is known.
pub fn in_a_line(table: &LockTable, lock: &LockQueue, now: Timestamp) -> Option<String> {
    let past: Vec<String> = table
        .election_record(lock)
        .into_iter()
        .flat_map(ElectionRecord::tenures)
        .rev()
        .take(MAX_NAMED)
        .map(|tenure| tenure_in_a_line(tenure, now))
        .collect();
    let past = (!past.is_empty()).then(|| format!("led before: {}", past.join("; ")));
    let parts: Vec<String> =
        changes(table, lock, now).map(|changes| format!("leader: {changes}")).into_iter().chain(past).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn tenure_in_a_line(tenure: &Departure, now: Timestamp) -> String {
    let name = tenure.client.telling_name().or(tenure.client.address.as_deref());
    let of_session =
        || tenure.session.map_or_else(|| "nobody known".to_owned(), |session| format!("session {session}"));
    let who = name.map_or_else(of_session, |name| escaped(name).to_string());
    let led = tenure.led_for().map(|led| format!("for {} ", duration(led))).unwrap_or_default();
    format!("{who} {led}until {} ago ({})", duration(now.since(tenure.at)), tenure.end.in_sentence())
}
