//! Events, one line each.

use std::fmt::Write;
use std::time::Duration;

use super::shorten::{short_lock, short_name, short_sentence};
use crate::diagnose::Finding;
use crate::ensemble::EnsembleEvent;
use crate::queue::{ChildRates, Happening, LockEvent, LockName, SampledCounts, WatchEvents};
use crate::report::{EnsembleEventLine, FindingLine, SampleLine};
use crate::text::human::{duration, exact_time, plural, rate};
use lockscope_base::znode::{Timestamp, escaped};

/// Returns the line of a raised or cleared finding, with its line break. Times are local unless
/// `utc` is set.
pub fn finding(finding: &Finding, raised: bool, at: Timestamp, utc: bool) -> String {
    let (at, event) = (exact_time(at, utc), FindingLine::event(raised));
    let lock = short_lock(&finding.lock.path, finding.lock.name.as_deref());
    let (severity, code) = (finding.severity, finding.code);
    let why = if raised { short_sentence(&finding.summary) } else { String::new() };
    format!("{at} {event:<15}  {lock}  {severity} {code}  {why}").trim_end().to_owned() + "\n"
}

/// Returns the line of a lock's sample, with its line break. Times are local unless `utc` is set.
pub fn sample(lock: &LockName, counts: SampledCounts, utc: bool) -> String {
    let (at, event) = (exact_time(counts.at, utc), SampleLine::EVENT);
    let lock = short_lock(&lock.path, lock.name.as_deref());
    let children = usize::try_from(counts.children).unwrap_or(usize::MAX);
    let children = plural(children, "child", "children");
    let rates = counts
        .per_second
        .map(|ChildRates { created, deleted }| format!("  created {}/s  deleted {}/s", rate(created), rate(deleted)));
    format!("{at} {event:<12}  {lock}  {children}{}\n", rates.unwrap_or_default())
}

/// Returns the line of a gap in a recording, with its line break. Times are local unless `utc` is
/// set.
pub fn gap(from: Timestamp, until: Timestamp, utc: bool) -> String {
    let (from, until) = (exact_time(from, utc), exact_time(until, utc));
    format!("{from} {:<12}  nothing was recorded until {until}\n", "gap")
}

/// Returns the line of something that happened to the ensemble, with its line break. Times are local
/// unless `utc` is set.
pub fn ensemble(event: &EnsembleEvent, at: Timestamp, utc: bool) -> String {
    let what = event.what.title();
    let what = match event.ended {
        Some(ended) if ended != event.began => {
            format!("over after {} at least: {what}", duration(ended.after.since(event.began.before)))
        }
        _ => what.to_owned(),
    };
    let member = event.member.as_deref().map(|member| format!("  {}", escaped(member))).unwrap_or_default();
    let epoch = event.epoch.map(|epoch| format!("  epoch {epoch}")).unwrap_or_default();
    let detail = event.detail.as_deref().map(|detail| format!("  {}", short_sentence(&escaped(detail))));
    let (at, kind, detail) = (exact_time(at, utc), EnsembleEventLine::EVENT, detail.unwrap_or_default());
    format!("{at} {kind:<12}  {what}{member}{epoch}{detail}\n")
}

/// Returns the line of an event, with its line break. `reason` is the cause, where it is known.
/// Times are local unless `utc` is set.
pub fn happening(happening: &Happening, reason: Option<&str>, utc: bool) -> String {
    let mut line = format!("{} {:<12}", exact_time(happening.at, utc), happening.event.title());
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Writing to a `String` cannot fail.
        let _ = line.write_fmt(text);
    };
    if let Some(lock) = &happening.lock {
        add(format_args!("  {}", short_lock(&lock.path, lock.name.as_deref())));
    }
    if let Some(node) = &happening.node {
        add(format_args!("  {}  {}", short_name(node), happening.client.in_sentence(happening.at)));
    }
    if let Some(session) = happening.session.filter(|_| happening.client.address.is_some()) {
        add(format_args!("  {session}"));
    }
    if let Some(waited) = happening.waited_ms {
        add(format_args!("  waited {}", duration(Duration::from_millis(waited))));
    }
    if let Some(held) = happening.held_ms {
        add(format_args!("  held {}", duration(Duration::from_millis(held))));
    }
    if happening.event == LockEvent::Settled {
        add(format_args!("  its session had expired"));
    }
    if happening.event == LockEvent::Waits {
        add(format_args!("  it stands first, but its session watches another node"));
    }
    if happening.may_have_expired {
        add(format_args!("  or its session expired"));
    }
    if happening.node.is_some() {
        add(format_args!("  queue {}", happening.queue));
    }
    let WatchEvents { herd, chain } = happening.watch_events;
    if herd + chain > 0 {
        add(format_args!("  herd {herd} chain {chain}"));
    }
    if let Some(reason) = reason {
        add(format_args!("  {}", escaped(reason)));
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{ClientIdentity, ContenderId, LockId};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

    fn acquired() -> Happening {
        let path = ZnodePath::new("/locks/bill\u{1b}ing").unwrap();
        Happening {
            ends_hold: false,
            at: Timestamp(1_714_574_467_250),
            event: LockEvent::Acquired,
            lock: Some(LockName { id: LockId(7), path, name: Some("db".into()) }),
            node: Some("db_lock_0000000042".into()),
            contender: Some(ContenderId { node: "db_lock_0000000042".into(), czxid: Zxid(77) }),
            session: Some(SessionId(0x1b)),
            client: ClientIdentity {
                name: Some("worker\u{1b}-3".into()),
                address: Some("10.0.4.17:51586".into()),
                last_listed: Some(Timestamp(1_714_574_457_250)),
                session: Some(SessionId(0x1b)),
                unread: false,
            },
            waited_ms: Some(1250),
            held_ms: None,
            may_have_expired: false,
            deleted_by: None,
            deleter: None,
            queue: 3,
            watch_events: WatchEvents { herd: 2, chain: 1 },
        }
    }

    #[test]
    fn a_sample_is_a_line_of_counts() {
        let lock = acquired().lock.expect("the event has a lock");
        let first = SampledCounts {
            at: acquired().at,
            since: acquired().at,
            children: 128,
            created: 0,
            deleted: 0,
            per_second: None,
        };
        let second = SampledCounts {
            children: 1,
            created: 51,
            deleted: 178,
            per_second: Some(ChildRates { created: 51.4, deleted: 178.0 }),
            ..first
        };
        insta::assert_snapshot!(sample(&lock, first, true) + &sample(&lock, second, true), @r"
        14:41:07.250 sampled       /locks/bill\u{1b}ing db  128 children
        14:41:07.250 sampled       /locks/bill\u{1b}ing db  1 child  created 51/s  deleted 178/s
        ");
    }

    #[test]
    fn a_line_for_people_contains_the_known_facts_and_no_control_characters() {
        let disconnected = Happening::of_connection(LockEvent::Disconnected, acquired().at);
        let shown = happening(&acquired(), None, true) + &happening(&disconnected, Some("reset by\u{7} peer"), true);
        insta::assert_snapshot!(shown, @r"
        14:41:07.250 acquired      /locks/bill\u{1b}ing db  db_lock_0000000042  worker\u{1b}-3 (was 10.0.4.17:51586 until 10s ago)  0x1b  waited 1.2s  queue 3  herd 2 chain 1
        14:41:07.250 disconnected  reset by\u{7} peer
        ");
    }
}
