//! `lockscope watch`: prints events line by line.
//!
//! With several contexts it prints the events of all of them. Each context is followed by a task of
//! its own. A context that fails is named, and the others go on.
//!
//! With `--store` it prints the events of a recording.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::duty::{Duty, FindingsOnDuty};
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{ExitAnswer, interrupted, json_of, note, send};
use super::past::SpanOptions;
use super::resolved::ResolvedOptions;
use super::several::{Failures, InContext, OneOfEnsembles};
use super::table_event::{TableEvent, ToldEnsemble, UnreadableNotices, UnreportedFindings, every_root_is_readable};
use super::{options, past};
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_live::deadline::until;
use lockscope_model::report::{
    EnsembleEventLine, FindingLine, GapLine, HappeningLine, Initial, InitialLine, SampleLine, lines,
};
use lockscope_past::record::{LookOutcome, Past, PastTime, Playback, PlaybackStep, PlayedEntry};

/// The most events whose lines are written together.
const MAX_EVENTS_AT_ONCE: usize = 1024;

/// The options of `lockscope watch`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct WatchOptions {
    /// Stop after this time, as in 90s, 5m or 1h30m
    #[arg(long = "for", value_name = "DURATION", value_parser = options::parse_duration)]
    pub stop_after: Option<Duration>,
    #[command(flatten)]
    pub past: SpanOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints events until SIGINT or SIGTERM, or for `stop_after`, and ends the session. Signals work
/// even while the reader of the output blocks it. On duty, only findings are printed.
pub async fn run(
    settings: &ResolvedOptions,
    stop_after: Option<Duration>,
    duty: Option<Duty>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let interrupted = interrupted()?;
    let end = stop_after.map(|time| Instant::now() + time);
    let mut live = LiveTable::start_to_watch(settings)?;
    live.survey(settings, Duration::MAX)?;
    tracing::info!(connect = live.ensemble().connect(), "watching");
    let outcome = tokio::select! {
        () = interrupted => Ok(()),
        () = until(end) => if live.synced().is_some() { Ok(()) } else { Err(live.no_answer()) },
        outcome = print_live(&mut live, settings, duty.as_ref(), out) => outcome,
    };
    live.stop().await;
    outcome.map(|()| ExitAnswer::Yes)
}

/// Prints until something fails.
async fn print_live(
    live: &mut LiveTable,
    settings: &ResolvedOptions,
    duty: Option<&Duty>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    let mut followed = FollowedEvents::new(live, settings, duty);
    loop {
        for events in followed.next().await?.chunks(MAX_EVENTS_AT_ONCE) {
            send(out, &lines_of(events, settings)?).await?;
        }
    }
}

/// The events of an ensemble that is followed.
struct FollowedEvents<'a> {
    live: &'a mut LiveTable,
    settings: &'a ResolvedOptions,
    notices: UnreadableNotices,
    are_roots_checked: bool,
    duty: Option<FindingsOnDuty>,
}

impl<'a> FollowedEvents<'a> {
    fn new(live: &'a mut LiveTable, settings: &'a ResolvedOptions, duty: Option<&Duty>) -> Self {
        let duty = duty.map(|duty| duty.of(settings));
        Self { live, settings, notices: UnreadableNotices::default(), are_roots_checked: false, duty }
    }

    /// Returns the next events; the first reading yields the whole initial state, which may be
    /// large. Fails when a root turns out to be unreadable once that is reported. Other unreadable
    /// nodes are named on standard error.
    async fn next(&mut self) -> anyhow::Result<Vec<TableEvent>> {
        if self.live.has_reported_start() {
            if !self.are_roots_checked {
                every_root_is_readable(self.live.table(), &self.settings.roots)?;
                self.are_roots_checked = true;
            }
            let unreadable = self.notices.next(self.live.table());
            if !unreadable.is_empty() {
                // A closed stderr is ignored.
                let _ = tokio::io::stderr().write_all(unreadable.as_bytes()).await;
            }
        }
        let events = self.live.next().await?;
        Ok(match &mut self.duty {
            Some(duty) => duty.take(events, self.live.table(), Instant::now()),
            None => events,
        })
    }
}

fn lines_of(events: &[TableEvent], settings: &ResolvedOptions) -> io::Result<String> {
    events.iter().map(|event| line(event, settings.format, settings.label(), settings.utc)).collect()
}

/// Returns the line of an event, which names the context if there are several.
fn line(event: &TableEvent, format: Format, context: Option<&str>, utc: bool) -> io::Result<String> {
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
        (TableEvent::Finding { finding, news, at }, Format::Table) => lines::finding(finding, *news, *at, utc),
        (TableEvent::Finding { finding, news, at }, Format::Json) => {
            json_of(context, &FindingLine::new(finding, *news, *at))?
        }
    })
}

/// The most texts that wait to be written; each holds up to [`MAX_EVENTS_AT_ONCE`] lines. When the
/// reader is slow, the contexts wait.
const MAX_WAITING: usize = 16;

/// What a task says of its context.
enum Said {
    Lines(String),
    Failed(String, anyhow::Error),
}

/// Prints events until SIGINT or SIGTERM, or for `stop_after`, and ends the sessions. A context
/// that does not answer is waited for; one that never answered, or that refuses the session, makes
/// the command fail at the end.
pub async fn run_each(
    contexts: Vec<InContext>,
    format: Format,
    stop_after: Option<Duration>,
    duty: Option<Duty>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let interrupted = interrupted()?;
    let end = stop_after.map(|time| Instant::now() + time);
    let mut failures = Failures::of(contexts.len());
    let (sender, mut said) = mpsc::channel(MAX_WAITING);
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let across = Arc::default();
    for InContext { name, settings, .. } in contexts {
        let (sender, stop, duty) = (sender.clone(), stop.clone(), duty.clone());
        let others = OneOfEnsembles::new(&name, &across);
        tasks.spawn(async move {
            let followed = match settings {
                Ok(settings) => follow(settings, others, duty.as_ref(), &sender, &stop).await,
                Err(error) => Err(error),
            };
            if let Err(error) = followed {
                // Nobody reads when the output has failed.
                let _ = sender.send(Said::Failed(name, error)).await;
            }
        });
    }
    drop(sender);
    let mut outcome = tokio::select! {
        () = interrupted => Ok(()),
        () = until(end) => Ok(()),
        outcome = print_said(&mut said, &mut failures, format, out) => outcome,
    };
    stop.cancel();
    if outcome.is_ok() {
        // What was seen before the end is still printed.
        outcome = print_said(&mut said, &mut failures, format, out).await;
    }
    drop(said);
    while tasks.join_next().await.is_some() {}
    outcome?;
    failures.end()?;
    Ok(ExitAnswer::Yes)
}

/// Prints what the tasks say until all of them have ended.
async fn print_said(
    said: &mut mpsc::Receiver<Said>,
    failures: &mut Failures,
    format: Format,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    while let Some(said) = said.recv().await {
        match said {
            Said::Lines(lines) => send(out, &lines).await?,
            Said::Failed(name, error) => {
                let mut line = Vec::new();
                failures.add(&name, &error, format, &mut line)?;
                send(out, &String::from_utf8_lossy(&line)).await?;
            }
        }
    }
    Ok(())
}

/// Follows one context until it fails or is stopped.
async fn follow(
    settings: ResolvedOptions,
    others: OneOfEnsembles,
    duty: Option<&Duty>,
    said: &mpsc::Sender<Said>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let settings = settings.waiting_endlessly();
    let mut live = LiveTable::start_to_watch(&settings)?;
    live.compare_with(others);
    live.survey(&settings, Duration::MAX)?;
    let ended = stop.run_until_cancelled(pass_on(&mut live, &settings, duty, said)).await;
    let never_answered = live.synced().is_none().then(|| live.no_answer());
    live.stop().await;
    match (ended, never_answered) {
        (Some(failed), _) => failed,
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

/// Passes the lines on until something fails, or nobody reads them any more.
async fn pass_on(
    live: &mut LiveTable,
    settings: &ResolvedOptions,
    duty: Option<&Duty>,
    said: &mpsc::Sender<Said>,
) -> anyhow::Result<()> {
    let mut followed = FollowedEvents::new(live, settings, duty);
    loop {
        for events in followed.next().await?.chunks(MAX_EVENTS_AT_ONCE) {
            if said.send(Said::Lines(lines_of(events, settings)?)).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Prints a part of a recording: the state at its beginning, and then every event.
pub async fn run_past(
    settings: &ResolvedOptions,
    store: &Path,
    from: Option<PastTime>,
    to: Option<PastTime>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let whole = past::WholeStore::stream(store, from, to, settings.utc)?;
    let mut past = Past::open(&whole.path)?;
    let TimeRange { from, to } = past::span(&mut past, from, to, store, settings.utc)?;
    let begins = past.span()?.map_or(from, |all| all.from);
    print_gap(TimeRange { from, to: begins }, settings, out).await?;
    let mut playback = past::start_or_next(past, &whole.path, from, settings.utc)?;
    let mut was_synced = playback.state().table.is_reporting();
    if was_synced {
        print_initial(&playback, from, settings, out).await?;
    }
    let mut told_ensemble = ToldEnsemble::default();
    told_ensemble.news(playback.state().table.ensemble_line(), from);
    while let Some(step) = playback.step()? {
        if time_of(&step).is_some_and(|at| at > to) {
            break;
        }
        let at = time_of(&step).unwrap_or(from);
        let (mut events, found_at) = events(step, &mut was_synced, &playback, store, settings.utc);
        events.extend(told_ensemble.news(playback.state().table.ensemble_line(), at));
        print_events(events, settings, out).await?;
        if let Some(at) = found_at {
            print_initial(&playback, at, settings, out).await?;
        }
    }
    let ends = Past::open(&whole.path)?.span()?.map_or(to, |all| all.to);
    print_gap(TimeRange { from: ends, to }, settings, out).await?;
    Ok(ExitAnswer::Yes)
}

/// Prints the gap between two moments, if there is time between them.
async fn print_gap(
    TimeRange { from, to: until }: TimeRange,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    let gap = (from < until).then_some(TableEvent::Gap { from, until });
    print_events(gap.into_iter().collect(), settings, out).await
}

fn time_of(step: &PlaybackStep) -> Option<Timestamp> {
    match step {
        PlaybackStep::Entry { at, .. } => Some(*at),
        PlaybackStep::Gap { from, .. } => Some(*from),
        PlaybackStep::Damaged { .. } => None,
    }
}

/// Returns the events of a step. If the step completes the known state, also returns when: at the
/// end of the first reading, and after a gap.
fn events(
    step: PlaybackStep,
    was_synced: &mut bool,
    playback: &Playback,
    store: &Path,
    utc: bool,
) -> (Vec<TableEvent>, Option<Timestamp>) {
    match step {
        PlaybackStep::Entry { at, played: PlayedEntry::Happenings(happenings), is_synced } => {
            let is_initial = is_synced && !std::mem::replace(was_synced, *was_synced || is_synced);
            let events = happenings.into_iter().map(|happening| TableEvent::Happening(happening, None)).collect();
            (events, is_initial.then_some(at))
        }
        PlaybackStep::Entry { at, played: PlayedEntry::Findings(changes), .. } => {
            let events = UnreportedFindings::new(LookOutcome { at, forgotten: Vec::new(), changes });
            (events.map(|(finding, news, at)| TableEvent::Finding { finding, news, at }).collect(), None)
        }
        PlaybackStep::Gap { from, until } => {
            // After a damaged part, and at a seam, the whole state is known at once.
            *was_synced = playback.state().table.is_reporting();
            // At the seam between a recorder and a log only the state is known anew.
            let gap = (from != until).then_some(TableEvent::Gap { from, until });
            (gap.into_iter().collect(), was_synced.then_some(until))
        }
        PlaybackStep::Damaged { segment, damage } => {
            note(&past::left_out(store, &segment, damage, utc));
            (Vec::new(), None)
        }
    }
}

/// The most events of the initial state printed at once: the lines of all of them would fill the
/// memory.
const EVENTS_AT_ONCE: usize = 1_000;

/// Prints the whole initial state.
async fn print_initial(
    playback: &Playback,
    at: Timestamp,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    let table = &playback.state().table;
    let mut events = Vec::new();
    for lock in table.locks() {
        events.extend(Initial::of_lock(lock, at, table).into_iter().map(TableEvent::Initial));
        if events.len() >= EVENTS_AT_ONCE {
            print_events(std::mem::take(&mut events), settings, out).await?;
        }
    }
    print_events(events, settings, out).await
}

async fn print_events(
    events: Vec<TableEvent>,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    send(out, &lines_of(&events, settings)?).await
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
