//! `lockscope watch --store`: what happened to the locks, from a recording.

use std::path::Path;

use tokio::io::AsyncWrite;

use super::output::{note, send};
use super::past;
use super::resolved::ResolvedOptions;
use super::table_event::TableEvent;
use super::verdict::Verdict;
use super::watch::line;
use crate::diagnose::FindingChanges;
use crate::queue::{LockQueue, LockTable};
use crate::record::{Past, PastTime, Playback, PlaybackStep, Played};
use crate::report::Initial;
use crate::znode::Timestamp;

/// Prints what happened in a part of a recording: what was there at its beginning, and then every event.
pub(super) async fn run(
    settings: &ResolvedOptions,
    store: &Path,
    written: (Option<PastTime>, Option<PastTime>),
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<Verdict> {
    let mut past = Past::open(store)?;
    let (from, to) = past::span(&mut past, written, store, settings.utc)?;
    let mut playback = past::start_or_next(past, store, from, settings.utc)?;
    let mut was_synced = playback.state().table.is_reporting();
    if was_synced {
        let table = &playback.state().table;
        print(initial(table.locks(), from, table), settings, out).await?;
    }
    while let Some(step) = playback.step()? {
        if time_of(&step).is_some_and(|at| at > to) {
            break;
        }
        let events = events(step, &mut was_synced, &playback, (store, settings.utc));
        print(events, settings, out).await?;
    }
    Ok(Verdict::Yes)
}

fn time_of(step: &PlaybackStep) -> Option<Timestamp> {
    match step {
        PlaybackStep::Entry { at, .. } => Some(*at),
        PlaybackStep::Gap { from, .. } => Some(*from),
        PlaybackStep::Damaged { .. } => None,
    }
}

/// What a step means. Where the first reading of everything ends, what was found is what was there at the start.
fn events(
    step: PlaybackStep,
    was_synced: &mut bool,
    playback: &Playback,
    (store, utc): (&Path, bool),
) -> Vec<TableEvent> {
    match step {
        PlaybackStep::Entry { at, played: Played::Happenings(happenings), is_synced } => {
            let is_initial = is_synced && !std::mem::replace(was_synced, *was_synced || is_synced);
            let mut events: Vec<_> =
                happenings.into_iter().map(|happening| TableEvent::Happening(happening, None)).collect();
            let table = &playback.state().table;
            if is_initial {
                events.extend(initial(table.locks(), at, table));
            }
            events
        }
        PlaybackStep::Entry { at, played: Played::Findings(FindingChanges { raised, cleared }), .. } => {
            let event = |raised| move |finding| TableEvent::Finding { finding, raised, at };
            cleared.into_iter().map(event(false)).chain(raised.into_iter().map(event(true))).collect()
        }
        PlaybackStep::Gap { from, until } => {
            let table = &playback.state().table;
            // After a damaged part, everything that was there is known at once.
            *was_synced = table.is_reporting();
            let found = was_synced.then(|| initial(table.locks(), until, table)).unwrap_or_default();
            std::iter::once(TableEvent::Gap { from, until }).chain(found).collect()
        }
        PlaybackStep::Damaged { segment, damage } => {
            note(&past::left_out(store, &segment, damage, utc));
            Vec::new()
        }
    }
}

fn initial<'a>(locks: impl Iterator<Item = &'a LockQueue>, at: Timestamp, table: &'a LockTable) -> Vec<TableEvent> {
    locks.flat_map(|lock| Initial::of_lock(lock, at, table)).map(TableEvent::Initial).collect()
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
        events.iter().map(|event| line(event, settings.format, settings.utc)).collect::<std::io::Result<_>>()?;
    send(out, &lines).await
}
