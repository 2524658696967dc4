//! The options that choose a recording, or the transaction logs of servers, and a time range; and
//! two commands that take a recording alone.
//!
//! `lockscope cut` copies a part of a recording into a file of its own. `lockscope replay` shows a
//! recording on the screen.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tempfile::TempDir;

use super::import::ImportPlan;
use super::options::{DisplayOptions, EnsembleOptions, SharedOptions};
use super::output::{ExitAnswer, note, run_blocking};
use super::past::{NamedStore, Stores, WholeStore};
use super::resolved::ResolvedOptions;
use super::{import, past};
use crate::tui;
use crate::tui::ReplayOptions;
use crate::tui::app::Settings;
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};
use lockscope_past::record::{CutOptions, DamagedSegment, Past, PastTime, Store, cut};

/// Which recording, and which time of it.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Recording")]
pub(super) struct RecordingOptions {
    /// The recording, a file that `lockscope record` writes or wrote
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    #[command(flatten)]
    pub times: TimeOptions,
}

/// Which time, and how times are written.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Recording")]
pub(super) struct TimeOptions {
    /// From this time on, as in 02:13, -10m or 2026-05-01T02:13:00Z [default: from the beginning]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<PastTime>,
    /// Up to this time [default: up to the end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<PastTime>,
    /// Show and read times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

impl TimeOptions {
    /// Returns the options shared with other commands.
    fn shared(&self) -> SharedOptions {
        SharedOptions {
            ensemble: EnsembleOptions { utc: self.utc, ..EnsembleOptions::default() },
            ..SharedOptions::default()
        }
    }
}

/// Which recording or which transaction logs, and which time of them.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Recording")]
pub(super) struct SourceOptions {
    /// The recording, a file that `lockscope record` or `lockscope import` writes or wrote, or a
    /// folder of recordings, NAME.db each; can be given several times
    #[arg(long, value_name = "FILE", required_unless_present = "from_logs")]
    pub store: Vec<PathBuf>,
    /// Read these transaction logs of servers in place of a recording: a dataDir or dataLogDir, a
    /// folder version-2, or a single file; can be given several times
    #[arg(long, value_name = "PATH", conflicts_with = "store")]
    pub from_logs: Vec<PathBuf>,
    /// Look only for locks below this node of the logs; can be given several times [default: /]
    #[arg(long, value_name = "PATH", requires = "from_logs")]
    pub root: Vec<ZnodePath>,
    #[command(flatten)]
    pub times: TimeOptions,
}

/// A recording to read, and the requested bounds of time.
pub(super) struct OpenedSource {
    pub store: Store,
    /// What the recording is called in a sentence.
    pub name: String,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Where the recording lies; it is deleted at the end.
    _folder: Option<TempDir>,
}

impl SourceOptions {
    /// Returns the options shared with other commands.
    pub(super) fn shared(&self) -> SharedOptions {
        let mut shared = self.times.shared();
        shared.locks.root = Some(self.root.clone()).filter(|roots| !roots.is_empty());
        shared
    }

    /// Returns the recordings, if there are several.
    pub(super) fn several(&self) -> anyhow::Result<Option<Vec<NamedStore>>> {
        Ok(match Stores::find(&self.store)? {
            Stores::Several(several) if !self.store.is_empty() => Some(several),
            Stores::One(_) | Stores::Several(_) => None,
        })
    }

    /// Opens the only recording, or imports the transaction logs into a temporary one.
    pub(super) async fn open(&self, settings: &ResolvedOptions) -> anyhow::Result<OpenedSource> {
        match &self.store[..] {
            [store, ..] => self.open_store(store, settings),
            [] => self.import(settings).await,
        }
    }

    /// Opens one of the recordings.
    pub(super) fn open_store(&self, store: &Path, settings: &ResolvedOptions) -> anyhow::Result<OpenedSource> {
        let whole = WholeStore::tables(store)?;
        let mut past = Past::open(&whole.path)?;
        let time = past::span(&mut past, self.times.from, self.times.to, store, settings.utc)?;
        Ok(OpenedSource {
            store: Store::open(&whole.path)?,
            name: store.to_string_lossy().into_owned(),
            from: self.times.from.map(|_| time.from),
            to: self.times.to.map(|_| time.to),
            _folder: whole.folder,
        })
    }

    async fn import(&self, settings: &ResolvedOptions) -> anyhow::Result<OpenedSource> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder: set TMPDIR to one with room")?;
        let target = folder.path().join("imported.db");
        let plan = ImportPlan {
            places: self.from_logs.clone(),
            target: target.clone(),
            from: self.times.from,
            to: self.times.to,
            with_data: true,
        };
        let (done, time) = import::carry_out(settings, plan).await?;
        import::note_defects(&done, settings.utc);
        Ok(OpenedSource {
            store: Store::open(&target)?,
            name: "these logs".to_owned(),
            from: self.times.from.map(|_| time.from),
            to: self.times.to.map(|_| time.to),
            _folder: Some(folder),
        })
    }
}

/// The options of `lockscope cut`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Cut")]
pub(super) struct CutCommand {
    /// Where to write: a file that is not there yet; made for its owner only
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Leave out the data of the nodes, which may hold secrets, and the names of clients that come
    /// from it
    #[arg(long)]
    pub no_data: bool,
    #[command(flatten)]
    pub recording: RecordingOptions,
}

impl CutCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        self.recording.times.shared()
    }
}

/// Writes the file; after a failure or a signal, no file exists. Damaged segments are named and
/// left out.
pub async fn run_cut(settings: &ResolvedOptions, command: &CutCommand) -> anyhow::Result<ExitAnswer> {
    let RecordingOptions { store, times } = &command.recording;
    let whole = WholeStore::stream(store, times.from, times.to, settings.utc)?;
    let time = past::span(&mut Past::open(&whole.path)?, times.from, times.to, store, settings.utc)?;
    let options = CutOptions { time, with_data: !command.no_data };
    let (from, output) = (whole.path.clone(), command.output.clone());
    let done = run_blocking(move |is_stopped| cut(&from, &output, options, is_stopped)).await?;
    for DamagedSegment { segment, damage } in done? {
        note(&past::left_out(store, &segment, damage, settings.utc));
    }
    Ok(ExitAnswer::Yes)
}

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
pub async fn run_replay(settings: &ResolvedOptions, command: &ReplayCommand) -> anyhow::Result<ExitAnswer> {
    let whole = WholeStore::stream(&command.store, None, None, settings.utc)?;
    let Some(TimeRange { from: first, to: end }) = Past::open(&whole.path)?.span()? else {
        anyhow::bail!("nothing was recorded in {} yet", command.store.display())
    };
    let at = command.at.map(|at| past::resolve(at, end, settings.utc)).transpose()?;
    if let Some(at) = at.filter(|at| *at < first) {
        return Err(past::not_recorded(&whole.path, at, settings.utc));
    }
    let shown = Settings {
        ascii: settings.ascii,
        utc: settings.utc,
        bindings: settings.bindings.clone(),
        screens: settings.screens.clone(),
        commands: settings.commands.clone(),
        ..Settings::default()
    };
    let (theme, mouse) = (settings.palette, settings.mouse);
    let options = ReplayOptions { store: whole.path.clone(), at, settings: shown, theme, mouse };
    Box::pin(tui::replay(options)).await?;
    Ok(ExitAnswer::Yes)
}
