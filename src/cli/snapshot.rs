//! `lockscope snapshot`: every lock, once.

use std::io::Write;
use std::sync::Arc;

use super::live_table::LiveTable;
use super::options::Format;
use super::output::{print, write_json};
use super::resolved::ResolvedOptions;
use super::unreadable::some_root_is_readable;
use super::verdict::Verdict;
use crate::report::{Snapshot, lines};
use crate::server_view::ServerView;
use crate::zk::survey::{SurveyOptions, ViewBy, survey_once};

/// Reads everything, prints it and ends the session. A root that cannot be read is named in the output; the command fails
/// only when no root can be read.
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
    // Bounded by the time that each server is given.
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
    Ok(Verdict::Yes)
}

/// What the servers say about themselves; `None` when they are not to be asked, or did not answer.
async fn survey(options: SurveyOptions) -> Option<ServerView> {
    match options.by {
        ViewBy::Off => None,
        _ => survey_once(&options, true).await.ok(),
    }
}
