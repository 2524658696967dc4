//! `lockscope snapshot`: every lock, once.

use std::io::{BufWriter, Write};

use super::arguments::Format;
use super::follow::Follower;
use super::settings::Settings;
use super::{CliError, table};
use crate::queue::LockTable;
use crate::report::{Snapshot, json};
use crate::server_view::ServerView;
use crate::zk::survey::{SurveyOptions, ViewBy, survey_once};
use crate::znode::ZnodePath;

/// Reads everything, prints it and ends the session. A root that cannot be read is told in the output; the command fails
/// only when none can.
pub(super) async fn run(settings: &Settings, format: Format, out: &mut impl Write) -> Result<(), CliError> {
    let asking = tokio::spawn(survey(settings.survey_options()?));
    let mut follower = Follower::start(settings)?;
    let taken_at = loop {
        if let Some(at) = follower.synced() {
            break at;
        }
        if let Err(error) = follower.next().await {
            follower.stop().await;
            return Err(error);
        }
    };
    // Bounded by the patience with each server.
    if let Ok(Some(view)) = asking.await {
        follower.told(view);
    }
    let ensemble = follower.ensemble();
    let (locks, diagnosis, _) = follower.stop().await;
    check_roots(&locks, &settings.roots)?;
    let mut out = BufWriter::new(out);
    match format {
        Format::Json => {
            json::to_writer(&mut out, &Snapshot::new(&ensemble, &locks, taken_at).with_diagnosis(&diagnosis))
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table => table::write(&mut out, &locks, &settings.roots, taken_at)?,
    }
    Ok(out.flush()?)
}

/// What the servers say about themselves; `None` when they are not to be asked.
async fn survey(options: SurveyOptions) -> Option<ServerView> {
    match options.by {
        ViewBy::Off => None,
        _ => survey_once(&options, true).await.ok(),
    }
}

pub(super) fn check_roots(locks: &LockTable, roots: &[ZnodePath]) -> Result<(), CliError> {
    let unreadable = locks.unreadable();
    // A root within an unreadable one is not looked at by itself.
    let is_hidden = |root: &ZnodePath| unreadable.keys().any(|place| root.is_within(place));
    if locks.lock_count() > 0 || !roots.iter().all(is_hidden) {
        return Ok(());
    }
    let reasons: Vec<String> = unreadable.iter().map(|(place, why)| format!("{place} ({why})")).collect();
    Err(CliError::NothingReadable(reasons.join(", ")))
}
