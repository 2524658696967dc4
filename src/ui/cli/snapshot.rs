//! `lockscope snapshot`: prints every lock once.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::live_table::LiveTable;
use super::options::{Format, ReadOptions};
use super::output::{print, write_json};
use super::past::{self, Moment, MomentOptions};
use super::resolved::ResolvedOptions;
use super::unreadable::some_root_is_readable;
use super::verdict::Verdict;
use lockscope_live::zk::survey::{SurveyOptions, ViewBy, survey_once};
use lockscope_model::report::{Snapshot, lines};
use lockscope_model::server_view::ServerView;
use lockscope_past::record::PastTime;

/// The options of `lockscope snapshot`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct SnapshotOptions {
    #[command(flatten)]
    pub past: MomentOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// Prints the known state at a moment of a recording.
pub(super) fn run_past(
    settings: &ResolvedOptions,
    store: &Path,
    at: Option<PastTime>,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let Moment { at, state, ensemble, .. } = past::moment(store, at, settings.utc)?;
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &Snapshot::new(&ensemble, &state.table, at).with_diagnosis(&state.diagnosis)),
        Format::Table => lines::locks(out, &state.table, &state.diagnosis, &[], at),
    })?;
    Ok(Verdict::Yes)
}

/// Reads everything, prints it and ends the session. An unreadable root is named in the output; the
/// command fails only when no root can be read.
pub(super) async fn run(settings: &ResolvedOptions, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let asking = tokio::spawn(survey(settings.survey_options()?));
    let mut live = LiveTable::start(settings)?;
    let taken_at = match live.read_once().await {
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
    print(out, |out| match settings.format {
        Format::Json => write_json(out, &Snapshot::new(&ensemble, &locks, taken_at).with_diagnosis(&diagnosis)),
        Format::Table => lines::locks(out, &locks, &diagnosis, &settings.roots, taken_at),
    })?;
    // The program ends: freeing tens of thousands of contenders would only delay that.
    std::mem::forget((locks, diagnosis));
    Ok(Verdict::Yes)
}

/// Asks the servers about themselves; `None` when they are not to be asked, or did not answer.
async fn survey(options: SurveyOptions) -> Option<ServerView> {
    match options.by {
        ViewBy::Off => None,
        _ => survey_once(&options, true).await.ok(),
    }
}
