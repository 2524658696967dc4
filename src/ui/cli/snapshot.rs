//! `lockscope snapshot`: prints every lock once.

use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::ensure;
use clap::Args;
use futures::StreamExt;

use super::exit_answer::ExitAnswer;
use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, reader_left, write_json_of};
use super::past::{self, Moment, MomentOptions};
use super::resolved::ResolvedOptions;
use super::several::{self, Failures, InContext};
use super::stores::{Stores, Unread};
use super::unreadable::some_root_is_readable;
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::survey::{SurveyOptions, ViewBy, survey_once};
use lockscope_model::diagnose::Diagnosis;
use lockscope_model::queue::LockTable;
use lockscope_model::report::{Ensemble, Snapshot, lines};
use lockscope_model::server_view::ServerView;
use lockscope_model::text::human::date_and_time;
use lockscope_past::record::PastTime;

/// The options of `lockscope snapshot`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct SnapshotOptions {
    #[command(flatten)]
    pub past: MomentOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints the known state at a moment of a recording, or of several.
pub(super) fn run_past(
    settings: &ResolvedOptions,
    past: &MomentOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let several = match Stores::find(&past.store)? {
        Stores::One(store) => return print_past(settings, &store, past.at, out).map(|()| ExitAnswer::Yes),
        Stores::Several(several) => several,
    };
    let mut unread = Unread::default();
    for store in &several {
        match print_past(&store.settings(settings), &store.path, past.at, out) {
            Ok(()) => {}
            Err(error) if reader_left(&error) => return Err(error),
            Err(error) => unread.add(store, &error),
        }
    }
    unread.end(several.len())?;
    Ok(ExitAnswer::Yes)
}

fn print_past(
    settings: &ResolvedOptions,
    store: &Path,
    at: Option<PastTime>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Moment { at, state, ensemble, .. } = past::moment(store, at, settings.utc)?;
    // Among several, an ensemble that was not seen must not look like one without locks.
    ensure!(
        settings.label().is_none() || state.table.is_live(),
        "nothing is known of the locks at {}: there was no connection; name another time",
        date_and_time(at, settings.utc)
    );
    print(out, |out| match settings.format {
        Format::Json => {
            let snapshot = Snapshot::new(&ensemble, &state.table, at).with_diagnosis(&state.diagnosis);
            write_json_of(out, settings.label(), &snapshot)
        }
        Format::Table => {
            several::write_heading(out, settings.label(), &ensemble)?;
            lines::locks(out, &state.table, &state.diagnosis, &[], at)
        }
    })
}

/// The locks of one ensemble, as they were read.
struct Taken {
    settings: ResolvedOptions,
    ensemble: Ensemble,
    locks: LockTable,
    diagnosis: Diagnosis,
    at: Timestamp,
}

/// Reads everything, prints it and ends the session. An unreadable root is named in the output; the
/// command fails only when no root can be read.
pub(super) async fn run(settings: ResolvedOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let taken = take(settings).await?;
    taken.print(out)?;
    // The program ends: freeing tens of thousands of contenders would only delay that.
    std::mem::forget(taken);
    Ok(ExitAnswer::Yes)
}

/// Prints the locks of each context. Fails at the end when one of them could not be reached.
pub(super) async fn run_each(
    contexts: Vec<InContext>,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let mut failures = Failures::of(contexts.len());
    let mut taken = pin!(several::results(contexts, take));
    while let Some((name, taken)) = taken.next().await {
        match taken {
            Ok(taken) => taken.print(out)?,
            Err(error) => failures.add(&name, &error, format, out)?,
        }
    }
    failures.end()?;
    Ok(ExitAnswer::Yes)
}

async fn take(settings: ResolvedOptions) -> anyhow::Result<Taken> {
    let asking = tokio::spawn(survey(settings.survey_options()?));
    let mut live = LiveTable::start(&settings)?;
    let at = match live.read_once().await {
        Ok(at) => at,
        Err(error) => {
            live.stop().await;
            return Err(error);
        }
    };
    // Bounded by the time limit of each server.
    if let Ok(Some(view)) = asking.await {
        live.apply_view(&Arc::new(view));
    }
    let ensemble = live.ensemble();
    let (locks, diagnosis, _) = live.stop().await;
    some_root_is_readable(&locks, &settings.roots)?;
    Ok(Taken { settings, ensemble, locks, diagnosis, at })
}

impl Taken {
    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let Self { settings, ensemble, locks, diagnosis, at } = self;
        print(out, |out| match settings.format {
            Format::Json => {
                let snapshot = Snapshot::new(ensemble, locks, *at).with_diagnosis(diagnosis);
                write_json_of(out, settings.label(), &snapshot)
            }
            Format::Table => {
                several::write_heading(out, settings.label(), ensemble)?;
                lines::locks(out, locks, diagnosis, &settings.roots, *at)
            }
        })
    }
}

/// Asks the servers about themselves; `None` when they are not to be asked, or did not answer.
async fn survey(options: SurveyOptions) -> Option<ServerView> {
    match options.by {
        ViewBy::Off => None,
        _ => survey_once(&options, true).await.ok(),
    }
}
