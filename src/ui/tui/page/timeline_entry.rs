//! Everything known about one entry of the timeline.

use super::{Sign, Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::Ending;
use lockscope_model::diagnose::{Finding, Severity};
use lockscope_model::queue::{Happening, LockEvent};
use lockscope_model::text::human::{date_and_time, duration, plural};

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

pub fn write_happening(page: &mut Writer, happening: &Happening, utc: bool) {
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

pub fn write_finding(page: &mut Writer, at: Timestamp, finding: &Finding, raised: bool, utc: bool) {
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

pub fn write_deletion(page: &mut Writer, at: Timestamp, node: &str, ending: &Ending, utc: bool) {
    page.fact("what", &format!("{node} {ending}"), Tone::Strong);
    page.fact("when", &date_and_time(at, utc), Tone::Text);
}
