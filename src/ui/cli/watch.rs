//! `lockscope watch`: prints events line by line.

use std::io;
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::duration;
use super::exit_answer::ExitAnswer;
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{json_of, send};
use super::past::SpanOptions;
use super::resolved::ResolvedOptions;
use super::table_event::TableEvent;
use super::unreadable::{UnreadableNotices, every_root_is_readable};
use lockscope_live::deadline::until;
use lockscope_model::report::{EnsembleEventLine, FindingLine, GapLine, HappeningLine, InitialLine, SampleLine, lines};

/// The most events whose lines are written together.
pub(super) const MAX_EVENTS_AT_ONCE: usize = 1024;

/// The options of `lockscope watch`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct WatchOptions {
    /// Stop after this time, as in 90s, 5m or 1h30m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    pub stop_after: Option<Duration>,
    #[command(flatten)]
    pub past: SpanOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints events until SIGINT or SIGTERM, or for `stop_after`, and ends the session. Signals work
/// even while the reader of the output blocks it.
pub(super) async fn run(
    settings: &ResolvedOptions,
    stop_after: Option<Duration>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let end = stop_after.map(|time| Instant::now() + time);
    let mut live = LiveTable::start_to_watch(settings)?;
    live.survey(settings, Duration::MAX)?;
    tracing::info!(connect = live.ensemble().connect(), "watching");
    let outcome = tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        () = until(end) => if live.synced().is_some() { Ok(()) } else { Err(live.no_answer()) },
        outcome = print(&mut live, settings, out) => outcome,
    };
    live.stop().await;
    outcome.map(|()| ExitAnswer::Yes)
}

/// Prints until something fails, or a root turns out to be unreadable when everything was first
/// read. Other unreadable nodes are reported on stderr.
async fn print(
    live: &mut LiveTable,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    let mut notices = UnreadableNotices::default();
    let mut checked = false;
    loop {
        // The first reading yields the whole initial state, which may be large.
        for events in live.next().await?.chunks(MAX_EVENTS_AT_ONCE) {
            let lines: String = events
                .iter()
                .map(|event| line(event, settings.format, settings.label(), settings.utc))
                .collect::<io::Result<_>>()?;
            send(out, &lines).await?;
        }
        if !live.has_reported_start() {
            continue;
        }
        if !checked {
            every_root_is_readable(live.table(), &settings.roots)?;
            checked = true;
        }
        let unreadable = notices.next(live.table());
        if !unreadable.is_empty() {
            // A closed stderr is ignored.
            let _ = tokio::io::stderr().write_all(unreadable.as_bytes()).await;
        }
    }
}

/// Returns the line of an event, which names the context if there are several.
pub(super) fn line(event: &TableEvent, format: Format, context: Option<&str>, utc: bool) -> io::Result<String> {
    if let (Some(context), Format::Table) = (context, format) {
        return Ok(format!("{context}  {}", line(event, format, None, utc)?));
    }
    Ok(match (event, format) {
        (TableEvent::Happening(happening, reason), Format::Table) => {
            lines::happening(happening, reason.as_deref(), utc)
        }
        (TableEvent::Happening(happening, reason), Format::Json) => {
            json_of(context, &HappeningLine::new(happening, reason.as_deref()))?
        }
        (TableEvent::Initial(initial), Format::Table) => initial.for_people(utc),
        (TableEvent::Initial(initial), Format::Json) => json_of(context, &InitialLine::from(initial))?,
        (TableEvent::Sampled(lock, counts), Format::Table) => lines::sample(lock, *counts, utc),
        (TableEvent::Sampled(lock, counts), Format::Json) => json_of(context, &SampleLine::new(lock, *counts))?,
        (TableEvent::Gap { from, until }, Format::Table) => lines::gap(*from, *until, utc),
        (TableEvent::Gap { from, until }, Format::Json) => json_of(context, &GapLine::new(*from, *until))?,
        (TableEvent::Ensemble { event, at }, Format::Table) => lines::ensemble(event, *at, utc),
        (TableEvent::Ensemble { event, at }, Format::Json) => json_of(context, &EnsembleEventLine::new(event, *at))?,
        (TableEvent::Finding { finding, raised, at }, Format::Table) => lines::finding(finding, *raised, *at, utc),
        (TableEvent::Finding { finding, raised, at }, Format::Json) => {
            json_of(context, &FindingLine::new(finding, *raised, *at))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_base::znode::Timestamp;
    use lockscope_model::queue::{Happening, LockEvent};

    #[test]
    fn a_line_of_json_is_one_line() {
        let disconnected = Happening::of_connection(LockEvent::Disconnected, Timestamp(1_714_574_467_250));
        let event = TableEvent::Happening(disconnected, Some("two\nlines".to_owned()));
        let line = line(&event, Format::Json, None, false).unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["reason"], "two\nlines");
    }
}
