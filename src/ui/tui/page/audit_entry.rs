//! Everything the audit log records about one change.

use chrono::DateTime;

use super::{Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::text::human::{date_and_time, exact_time};

/// The result of a change without a recorded outcome.
pub const NO_OUTCOME: &str = "no outcome";

/// Parses a time of the log. Returns `None` for any other text: whoever can write the file can
/// write anything into it.
pub fn time(text: &str) -> Option<Timestamp> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| Timestamp(time.timestamp_millis()))
}

/// Returns the result of the change in a word or two.
pub fn result(entry: &AuditEntry) -> &str {
    entry.outcome.as_ref().map_or(NO_OUTCOME, |outcome| outcome.result.as_str())
}

pub fn write(page: &mut Writer, entry: &AuditEntry, utc: bool) {
    write_result(page, entry);
    write_node(page, entry);
    write_who(page, entry, utc);
    page.fact("entry", &entry.id, Tone::Text);
}

fn write_result(page: &mut Writer, entry: &AuditEntry) {
    match &entry.outcome {
        Some(outcome) => {
            let tone = if is_done(entry) { Tone::Text } else { Tone::Careful };
            // The next line shows the path.
            let reason = outcome.reason.strip_prefix(&entry.subject.path).unwrap_or(&outcome.reason).trim_start();
            let text = if reason == "is deleted" { String::new() } else { format!(": {reason}") };
            page.fact("result", &format!("{}{text}", outcome.result), tone);
        }
        None => page.fact(
            "result",
            "no outcome was written: the program was ended, or is still working; the outcome is not known, so check \
                 whether the node exists",
            Tone::Careful,
        ),
    }
}

fn write_node(page: &mut Writer, entry: &AuditEntry) {
    let subject = &entry.subject;
    page.fact("path", &subject.path, Tone::Text);
    let mut facts = vec![entry.action.clone()];
    if !subject.lock.is_empty() && subject.lock != subject.path {
        facts.push(format!("lock {}", subject.lock));
    }
    facts.extend(subject.sequence.map(|number| format!("number {number}")));
    facts.extend(subject.czxid.map(|czxid| format!("czxid {czxid}")));
    facts.extend(subject.version.map(|version| format!("version {version}")));
    page.fact("what", &facts.join(", "), Tone::Text);
    let owner = subject.owner.as_deref().map_or("no session".to_owned(), |owner| format!("session {owner}"));
    page.fact("owner", &format!("{owner}, {}", subject.life), Tone::Text);
    if !subject.evidence.is_empty() {
        page.fact("evidence", &subject.evidence, Tone::Text);
    }
}

fn write_who(page: &mut Writer, entry: &AuditEntry, utc: bool) {
    let who = &entry.who;
    let sudo = who.sudo_user.as_deref().map(|user| format!(", by sudo from {user}")).unwrap_or_default();
    page.fact("who", &format!("{} (uid {}{sudo}) on {}, process {}", who.user, who.uid, who.host, who.pid), Tone::Text);
    let known = if who.identities.is_empty() { "anonymous".to_owned() } else { who.identities.join(", ") };
    let session = who.own_session.as_deref().map(|session| format!(", session {session}")).unwrap_or_default();
    page.fact("there as", &format!("{known}{session}, at {}", who.ensemble), Tone::Text);
    let confirmed = entry.confirmed_by.as_deref();
    let confirmed = confirmed.map(|by| format!("; confirmed by {by}")).unwrap_or_default();
    let outcome = entry.outcome.as_ref().filter(|_| entry.intended);
    let done =
        outcome.map(|outcome| format!("; outcome at {}", shown_time(&outcome.at, exact_time, utc))).unwrap_or_default();
    page.fact("when", &format!("{}{confirmed}{done}", shown_time(&entry.at, date_and_time, utc)), Tone::Text);
}

fn shown_time(text: &str, shown: fn(Timestamp, bool) -> String, utc: bool) -> String {
    time(text).map_or_else(|| text.to_owned(), |time| shown(time, utc))
}

/// Returns whether the requested change was made.
pub fn is_done(entry: &AuditEntry) -> bool {
    matches!(result(entry), "deleted" | "asked")
}
