//! Everything known about one entry of a lock's history.

use super::timeline_entry::who_deletes;
use super::{Sign, Tone, Writer};
use crate::tui::lock_history::{HistoryEntry, Stay, StayEnd};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::{ClientIdentity, HoldBounds};
use lockscope_model::text::human::{date_and_time, duration, exact_time};
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

pub fn write(page: &mut Writer, entry: &HistoryEntry, utc: bool) {
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

fn write_stay(page: &mut Writer, stay: &Stay, utc: bool) {
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
