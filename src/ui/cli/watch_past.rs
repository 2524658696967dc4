//! `lockscope watch --store`: prints the events of a recording.

use std::path::Path;

use tokio::io::AsyncWrite;

use super::exit_answer::ExitAnswer;
use super::output::{note, send};
use super::past;
use super::resolved::ResolvedOptions;
use super::table_event::{TableEvent, ToldEnsemble};
use super::watch::line;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::diagnose::FindingChanges;
use lockscope_model::report::Initial;
use lockscope_past::record::{Past, PastTime, Playback, PlaybackStep, Played};

/// Prints a part of a recording: the state at its beginning, and then every event.
pub(super) async fn run(
    settings: &ResolvedOptions,
    store: &Path,
    from: Option<PastTime>,
    to: Option<PastTime>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let mut past = Past::open(store)?;
    let TimeRange { from, to } = past::span(&mut past, from, to, store, settings.utc)?;
    let begins = past.span()?.map_or(from, |all| all.from);
    print_gap(TimeRange { from, to: begins }, settings, out).await?;
    let mut playback = past::start_or_next(past, store, from, settings.utc)?;
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
        print(events, settings, out).await?;
        if let Some(at) = found_at {
            print_initial(&playback, at, settings, out).await?;
        }
    }
    let ends = Past::open(store)?.span()?.map_or(to, |all| all.to);
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
    print(gap.into_iter().collect(), settings, out).await
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
        PlaybackStep::Entry { at, played: Played::Happenings(happenings), is_synced } => {
            let is_initial = is_synced && !std::mem::replace(was_synced, *was_synced || is_synced);
            let events = happenings.into_iter().map(|happening| TableEvent::Happening(happening, None)).collect();
            (events, is_initial.then_some(at))
        }
        PlaybackStep::Entry { at, played: Played::Findings(FindingChanges { raised, cleared }), .. } => {
            let event = |raised| move |finding| TableEvent::Finding { finding, raised, at };
            (cleared.into_iter().map(event(false)).chain(raised.into_iter().map(event(true))).collect(), None)
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
            print(std::mem::take(&mut events), settings, out).await?;
        }
    }
    print(events, settings, out).await
}

async fn print(
    events: Vec<TableEvent>,
    settings: &ResolvedOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let lines: String =
        events.iter().map(|event| line(event, settings.format, None, settings.utc)).collect::<std::io::Result<_>>()?;
    send(out, &lines).await
}
