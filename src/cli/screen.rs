//! `lockscope` without a command: the screen.

use clap::Args;

use super::options::{ChangeOptions, DisplayOptions, EnsembleOptions, LockOptions, SharedOptions};
use super::resolved::ResolvedOptions;
use super::verdict::Verdict;
use crate::tui;

/// What the screen takes. These options may also stand before a command that takes them.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct ScreenOptions {
    #[command(flatten)]
    pub locks: LockOptions,
    #[command(flatten)]
    pub display: DisplayOptions,
    #[command(flatten)]
    pub changes: ChangeOptions,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl ScreenOptions {
    pub(super) fn shared(self) -> SharedOptions {
        let Self { locks, display, changes, ensemble } = self;
        SharedOptions { locks, display, changes, ensemble, ..SharedOptions::default() }
    }
}

/// Shows the screen until it is left.
pub(super) async fn run(settings: &ResolvedOptions) -> anyhow::Result<Verdict> {
    let options = settings.tui_options(settings.observe_options()?, settings.survey_options()?);
    // On the heap: the screen's state is large, and the headless commands share this future.
    Box::pin(tui::run(options)).await?;
    Ok(Verdict::Yes)
}
