//! `lockscope replay`: shows a recording on the screen.

use std::path::PathBuf;

use clap::Args;

use super::exit_answer::ExitAnswer;
use super::options::{DisplayOptions, EnsembleOptions, SharedOptions};
use super::past;
use super::resolved::ResolvedOptions;
use crate::tui::{self, ReplayOptions};
use lockscope_base::znode::TimeRange;
use lockscope_past::record::{Past, PastTime};

/// The options of `lockscope replay`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ReplayCommand {
    /// The recording; it may be recorded meanwhile
    #[arg(value_name = "FILE")]
    pub store: PathBuf,
    /// The moment to begin with: 02:13, 02:13:30, -10m or 2026-05-01T02:13:00Z [default: the end of
    /// the recording]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<PastTime>,
    #[command(flatten)]
    pub display: DisplayOptions,
    /// Show times in UTC instead of local time
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

impl ReplayCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        let ensemble = EnsembleOptions { utc: self.utc, ..EnsembleOptions::default() };
        SharedOptions { display: self.display.clone(), ensemble, ..SharedOptions::default() }
    }
}

/// Shows the recording until the screen is left.
pub(super) async fn run(settings: &ResolvedOptions, command: &ReplayCommand) -> anyhow::Result<ExitAnswer> {
    let Some(TimeRange { from: first, to: end }) = Past::open(&command.store)?.span()? else {
        anyhow::bail!("nothing was recorded in {} yet", command.store.display())
    };
    let at = command.at.map(|at| past::resolve(at, end, settings.utc)).transpose()?;
    if let Some(at) = at.filter(|at| *at < first) {
        return Err(past::not_recorded(&command.store, at, settings.utc));
    }
    let options = ReplayOptions {
        store: command.store.clone(),
        at,
        ascii: settings.ascii,
        theme: settings.palette,
        mouse: settings.mouse,
        utc: settings.utc,
        bindings: settings.bindings.clone(),
        screens: settings.screens.clone(),
        commands: settings.commands.clone(),
    };
    Box::pin(tui::replay(options)).await?;
    Ok(ExitAnswer::Yes)
}
