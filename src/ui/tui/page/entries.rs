//! Everything known about one entry: of a lock's history, of the timeline, or of the audit log.

use chrono::DateTime;

use super::{PageWriter, Sign, Tone};
use crate::tui::lock_history::{HistoryEntry, Stay, StayEnd};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::Ending;
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::{Finding, Severity};
use lockscope_model::queue::{ClientIdentity, Happening, HoldBounds, LockEvent};
use lockscope_model::text::human::{date_and_time, duration, exact_time, plural};
use lockscope_model::text::{Charset, Keep, fit};

/// Maximum columns of a node's name in the title.
const MAX_TITLE: usize = 50;

/// Returns the entry's title.
pub fn title(entry: &HistoryEntry, charset: Charset) -> String {
    match entry {
        HistoryEntry::Stay(stay) => fit(&stay.node, MAX_TITLE, Keep::Ends, charset),
        HistoryEntry::Finding { finding, .. } => finding.code.to_string(),
    }
}

pub fn write_history_entry(page: &mut PageWriter, entry: &HistoryEntry, utc: bool) {
    match entry {
        HistoryEntry::Stay(stay) => write_stay(page, stay, utc),
        HistoryEntry::Finding { raised_at, cleared_at, finding } => {
            let sign = match finding.severity {
                Severity::Critical => Sign::Bad,
                Severity::Warning => Sign::Warning,
                Severity::Info => Sign::Info,
            };
            page.add(Some(sign), Some("what"), &finding.sentence(), Tone::Strong);
            page.fact("remedy", &finding.remedy, Tone::Text);
            page.fact("when", &span_of(*raised_at, *cleared_at, utc), Tone::Text);
            if let Some(node) = &finding.node {
                page.fact("node", node, Tone::Text);
            }
        }
    }
}

fn span_of(raised_at: Option<Timestamp>, cleared_at: Option<Timestamp>, utc: bool) -> String {
    let raised = raised_at
        .map_or("found at a time no longer known".to_owned(), |at| format!("found at {}", date_and_time(at, utc)));
    match (raised_at, cleared_at) {
        (_, None) => format!("{raised}; not mended yet"),
        (Some(from), Some(at)) => {
            format!("{raised}; mended at {}, after {}", exact_time(at, utc), duration(at.since(from)))
        }
        (None, Some(at)) => format!("{raised}; mended at {}", exact_time(at, utc)),
    }
}

fn write_stay(page: &mut PageWriter, stay: &Stay, utc: bool) {
    if let Some(who) = stay.client.beside_session(|at| exact_time(at, utc)) {
        page.fact("who", &who, Tone::Strong);
    }
    if let Some(data) = stay.data().filter(|data| ClientIdentity::name_in(data.as_bytes()).is_none()) {
        page.fact("data", data, Tone::Text);
    }
    page.fact("session", &session(stay), Tone::Text);
    page.fact("came", &came(stay, utc), Tone::Text);
    if let Some(held) = stay.held {
        page.fact("held", &held_for(stay, held, utc), Tone::Text);
    } else if stay.end != StayEnd::WaiterGone {
        page.fact("held", "not known for how long", Tone::Unsure);
    }
    let tone = if matches!(stay.end, StayEnd::Expired | StayEnd::Deleted) { Tone::Careful } else { Tone::Text };
    page.fact("end", &end(stay, utc), tone);
    if matches!(stay.end, StayEnd::HolderGone | StayEnd::WaiterGone) {
        page.fact("by", who_deletes(stay.end == StayEnd::HolderGone), Tone::Text);
    }
    page.fact("node", &stay.node, Tone::Text);
}

fn session(stay: &Stay) -> String {
    match stay.session {
        Some(id) => id.to_string(),
        None if stay.client.unread => "not known: its node was not read".to_owned(),
        None => "none: no session's end deletes it".to_owned(),
    }
}

fn came(stay: &Stay, utc: bool) -> String {
    let waited = stay.waited.map(|waited| format!("; waited for {}", duration(waited))).unwrap_or_default();
    match stay.known.as_deref() {
        None => format!("not seen{waited}"),
        Some(known) => match known.came_at {
            Some(at) => format!("at {}{waited}", date_and_time(at, utc)),
            None => format!(
                "before it was first seen; its node was created at {} by the server's clock{waited}",
                date_and_time(known.created_at, utc)
            ),
        },
    }
}

fn held_for(stay: &Stay, held: HoldBounds, utc: bool) -> String {
    let time = if held.is_exact() {
        duration(held.at_least)
    } else {
        format!("at least {}, at most {}", duration(held.at_least), duration(held.at_most))
    };
    let since = stay.held_since().map(|(earliest, latest)| {
        let latest_shown = exact_time(latest, utc);
        if earliest == latest {
            format!("since {latest_shown}")
        } else {
            format!("since some time between {} and {latest_shown}", exact_time(earliest, utc))
        }
    });
    format!("{time}, {}", since.unwrap_or_default())
}

fn end(stay: &Stay, utc: bool) -> String {
    let at = date_and_time(stay.until, utc);
    let text = match stay.end {
        StayEnd::Open => return "it holds the lock now".to_owned(),
        StayEnd::HolderGone if stay.may_have_expired => "gone, or its session expired,",
        StayEnd::HolderGone => StayEnd::HolderGone.id(),
        StayEnd::Expired => "its session expired",
        StayEnd::WaiterGone if stay.may_have_expired => "gone before its turn, or its session expired,",
        StayEnd::WaiterGone => "gone before its turn",
        StayEnd::Deleted => "deleted from this console",
    };
    if stay.end_unseen {
        format!("{text} while there was no connection, before {at}")
    } else {
        format!("{text} at {at}")
    }
}

/// The note beside the end of a stay whose cause is unknown.
pub const MAY_HAVE_EXPIRED: &str = "its session expired: the servers were last asked too long before to tell";

/// Says who may have deleted the node of a holder or of a waiter.
pub fn who_deletes(held: bool) -> &'static str {
    if held {
        "released by its client, or deleted by another: ZooKeeper does not say which"
    } else {
        "its client gave up, or another deleted it: ZooKeeper does not say which"
    }
}

pub fn write_happening(page: &mut PageWriter, happening: &Happening, utc: bool) {
    let lock = happening.lock.as_ref().map(|lock| format!(" {lock}")).unwrap_or_default();
    let at = date_and_time(happening.at, utc);
    page.fact("what", &format!("{}{lock} at {at}", happening.event.title()), Tone::Strong);
    if matches!(happening.event, LockEvent::Released | LockEvent::Left) {
        page.fact("by", who_deletes(happening.event == LockEvent::Released), Tone::Text);
    }
    if happening.event == LockEvent::Settled {
        page.fact("why", "its session had expired: the server that ends sessions counted it", Tone::Text);
    }
    if happening.event == LockEvent::Waits {
        page.fact("why", "it stands first, but its session watches another node of the queue", Tone::Text);
    }
    if happening.may_have_expired {
        page.fact("or", MAY_HAVE_EXPIRED, Tone::Text);
    }
    if happening.node.is_some() {
        page.fact("who", &happening.client.in_sentence(happening.at), Tone::Text);
    }
    let span = |millis: Option<u64>| millis.map(|millis| duration(std::time::Duration::from_millis(millis)));
    let waited = span(happening.waited_ms).map(|waited| format!("waited for {waited}"));
    let held = span(happening.held_ms).filter(|_| happening.event != LockEvent::Enqueued);
    let times: Vec<_> = waited.into_iter().chain(held.map(|held| format!("held for {held}"))).collect();
    if !times.is_empty() {
        page.fact("times", &times.join(", "), Tone::Text);
    }
    if happening.lock.is_some() {
        let events = happening.watch_events;
        let cost = plural(events.herd, "watch event", "watch events");
        page.fact("cost", &format!("{cost} herd-style, {} chain-style", events.chain), Tone::Text);
    }
    if let Some(node) = &happening.node {
        page.fact("node", node, Tone::Text);
    }
}

pub fn write_finding(page: &mut PageWriter, at: Timestamp, finding: &Finding, raised: bool, utc: bool) {
    let sign = match finding.severity {
        _ if !raised => Sign::Good,
        Severity::Critical => Sign::Bad,
        Severity::Warning => Sign::Warning,
        Severity::Info => Sign::Info,
    };
    page.add(Some(sign), Some("what"), &finding.sentence(), Tone::Strong);
    if raised {
        page.fact("remedy", &finding.remedy, Tone::Text);
    }
    page.fact(
        "when",
        &format!("{} at {}", if raised { "found" } else { "mended" }, date_and_time(at, utc)),
        Tone::Text,
    );
    page.fact("lock", &finding.lock.to_string(), Tone::Text);
    if let Some(node) = &finding.node {
        page.fact("node", node, Tone::Text);
    }
}

pub fn write_deletion(page: &mut PageWriter, at: Timestamp, node: &str, ending: &Ending, utc: bool) {
    page.fact("what", &format!("{node} {ending}"), Tone::Strong);
    page.fact("when", &date_and_time(at, utc), Tone::Text);
}

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

pub fn write_audit_entry(page: &mut PageWriter, entry: &AuditEntry, utc: bool) {
    write_result(page, entry);
    write_node(page, entry);
    write_who(page, entry, utc);
    page.fact("entry", &entry.id, Tone::Text);
}

fn write_result(page: &mut PageWriter, entry: &AuditEntry) {
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

fn write_node(page: &mut PageWriter, entry: &AuditEntry) {
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
    let life = if subject.life.is_empty() { String::new() } else { format!(", {}", subject.life) };
    page.fact("owner", &format!("{owner}{life}"), Tone::Text);
    if !subject.evidence.is_empty() {
        page.fact("evidence", &subject.evidence, Tone::Text);
    }
}

fn write_who(page: &mut PageWriter, entry: &AuditEntry, utc: bool) {
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
    matches!(result(entry), "deleted" | "asked" | "noted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, table};
    use lockscope_model::queue::Change;

    #[test]
    fn of_one_that_was_never_read_no_session_is_denied() {
        let (mut table, now) = (table([], Timestamp(1_000)), Timestamp(1_000));
        let path = path("/q/_c_c3d2e1f0-0000-4000-8000-000000000000-lock-0000000001");
        table.apply(Change::Appeared { path }, now);
        let holder = table.locks().next().and_then(|lock| lock.first_holder()).expect("a holder");
        assert_eq!(session(&Stay::of(holder, &table, now)), "not known: its node was not read");
    }
}
