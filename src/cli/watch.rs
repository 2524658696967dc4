//! `lockscope watch`: what happens, line by line.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::duration;
use super::error::{CliError, Verdict};
use super::live_table::{LiveTable, TableEvent};
use super::options::{Format, ReadOptions};
use super::resolved::ResolvedOptions;
use super::shorten::{short_name, short_sentence};
use super::unreadable::{UnreadableNotices, every_root_is_readable};
use crate::diagnose::Finding;
use crate::queue::{Happening, WatchEvents};
use crate::report::{self, FindingLine, HappeningLine};
use crate::text::human::{duration, exact_time};
use crate::time::until;
use crate::znode::{Timestamp, escaped};

/// What `lockscope watch` takes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct WatchOptions {
    /// Stop after this time, as in 90s, 5m or 1h30m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    pub stop_after: Option<Duration>,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints what happens until SIGINT or SIGTERM, or for `stop_after`, and ends the session. Signals are obeyed even while the
/// reader of the output blocks it.
pub(super) async fn run(
    settings: &ResolvedOptions,
    stop_after: Option<Duration>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<Verdict, CliError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let end = stop_after.map(|time| Instant::now() + time);
    let mut live = LiveTable::start(settings)?;
    live.survey(settings, false)?;
    tracing::info!(connect = live.ensemble().connect(), "watching");
    let outcome = tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        () = until(end) => if live.synced().is_some() { Ok(()) } else { Err(live.no_answer()) },
        outcome = print(&mut live, settings, out) => outcome,
    };
    live.stop().await;
    outcome.map(|()| Verdict::Yes)
}

/// Prints until something fails, or a root turns out to be unreadable when everything was first read. What else cannot be read
/// is reported on stderr.
async fn print(
    live: &mut LiveTable,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), CliError> {
    let mut notices = UnreadableNotices::default();
    let mut checked = false;
    loop {
        // The first reading only yields which locks there are: the members of their queues did not just come.
        let events = live.next().await?;
        let lines: String = events.iter().map(|event| line(event, settings.format, settings.utc)).collect();
        if !lines.is_empty() {
            out.write_all(lines.as_bytes()).await?;
            out.flush().await?;
        }
        if live.synced().is_none() {
            continue;
        }
        if !checked {
            every_root_is_readable(live.table(), &settings.roots)?;
            checked = true;
        }
        let unreadable = notices.next(live.table());
        if !unreadable.is_empty() {
            // Who has closed stderr does not want to know.
            let _ = tokio::io::stderr().write_all(unreadable.as_bytes()).await;
        }
    }
}

fn line(event: &TableEvent, format: Format, utc: bool) -> String {
    match (event, format) {
        (TableEvent::Happening(happening, reason), Format::Table) => {
            happening_for_people(happening, reason.as_deref(), utc)
        }
        (TableEvent::Happening(happening, reason), Format::Json) => {
            json(&HappeningLine::new(happening, reason.as_deref()))
        }
        (TableEvent::Finding { finding, raised, at }, Format::Table) => finding_for_people(finding, *raised, *at, utc),
        (TableEvent::Finding { finding, raised, at }, Format::Json) => json(&FindingLine::new(finding, *raised, *at)),
    }
}

fn json(line: &impl serde::Serialize) -> String {
    // Only maps with other keys than text, and types that fail on purpose, cannot be written as JSON.
    report::json::to_string(line).map_or_else(|_| String::new(), |line| line + "\n")
}

fn finding_for_people(finding: &Finding, raised: bool, at: Timestamp, utc: bool) -> String {
    let (at, event, lock) = (exact_time(at, utc), FindingLine::event(raised), short_name(finding.lock.path.as_str()));
    let (severity, code) = (finding.severity, finding.code);
    let why = if raised { short_sentence(&finding.summary) } else { String::new() };
    format!("{at} {event:<15}  {lock}  {severity} {code}  {why}").trim_end().to_owned() + "\n"
}

fn happening_for_people(happening: &Happening, reason: Option<&str>, utc: bool) -> String {
    let mut line = format!("{} {:<12}", exact_time(happening.at, utc), happening.event.id());
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = line.write_fmt(text);
    };
    if let Some(lock) = &happening.lock {
        add(format_args!("  {}", short_name(lock.path.as_str())));
        if let Some(name_in_lock) = &lock.name {
            add(format_args!(" {}", short_name(name_in_lock)));
        }
    }
    if let Some(node) = &happening.node {
        add(format_args!("  {}", short_name(node)));
    }
    if let Some(session) = happening.session {
        add(format_args!("  {session}"));
    }
    if let Some(waited) = happening.waited_ms {
        add(format_args!("  waited {}", duration(Duration::from_millis(waited))));
    }
    if let Some(held) = happening.held_ms {
        add(format_args!("  held {}", duration(Duration::from_millis(held))));
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
    use crate::queue::{ContenderId, LockEvent, LockId, LockName};
    use crate::znode::{SessionId, Timestamp, ZnodePath, Zxid};

    fn acquired() -> Happening {
        let path = ZnodePath::new("/locks/bill\u{1b}ing").unwrap();
        Happening {
            at: Timestamp(1_714_574_467_250),
            event: LockEvent::Acquired,
            lock: Some(LockName { id: LockId(7), path, name: Some("db".into()) }),
            node: Some("db_lock_0000000042".into()),
            contender: Some(ContenderId { node: "db_lock_0000000042".into(), czxid: Zxid(77) }),
            session: Some(SessionId(0x1b)),
            waited_ms: Some(1250),
            held_ms: None,
            queue: 3,
            watch_events: WatchEvents { herd: 2, chain: 1 },
        }
    }

    fn disconnected() -> Happening {
        let watch_events = WatchEvents::default();
        Happening {
            event: LockEvent::Disconnected,
            lock: None,
            node: None,
            contender: None,
            session: None,
            waited_ms: None,
            queue: 0,
            watch_events,
            ..acquired()
        }
    }

    #[test]
    fn a_line_for_people_holds_what_is_known_and_no_control_characters() {
        let shown = happening_for_people(&acquired(), None, true)
            + &happening_for_people(&disconnected(), Some("reset by\u{7} peer"), true);
        insta::assert_snapshot!(shown, @r"
        14:41:07.250 acquired      /locks/bill\u{1b}ing db  db_lock_0000000042  0x1b  waited 1.2s  queue 3  herd 2 chain 1
        14:41:07.250 disconnected  reset by\u{7} peer
        ");
    }

    #[test]
    fn a_line_of_json_is_one_line() {
        let event = TableEvent::Happening(disconnected(), Some("two\nlines".to_owned()));
        let line = line(&event, Format::Json, false);
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["reason"], "two\nlines");
    }
}
