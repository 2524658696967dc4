//! `lockscope cut`: copies a part of a recording into a file of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::exit_answer::ExitAnswer;
use super::options::SharedOptions;
use super::output::note;
use super::past;
use super::recorded::RecordingOptions;
use super::resolved::ResolvedOptions;
use lockscope_past::record::{CutOptions, DamagedSegment, Past, cut};

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
pub(super) async fn run(settings: &ResolvedOptions, command: &CutCommand) -> anyhow::Result<ExitAnswer> {
    let RecordingOptions { store, times } = &command.recording;
    let time = past::span(&mut Past::open(store)?, times.from, times.to, store, settings.utc)?;
    let options = CutOptions { time, with_data: !command.no_data };
    let stops = Arc::new(AtomicBool::new(false));
    let cutting = tokio::task::spawn_blocking({
        let (store, output, stops) = (store.clone(), command.output.clone(), Arc::clone(&stops));
        move || cut(&store, &output, options, &|| stops.load(Ordering::Relaxed))
    });
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let listening = tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stops.store(true, Ordering::Relaxed);
    });
    let done = cutting.await?;
    listening.abort();
    for DamagedSegment { segment, damage } in done? {
        note(&past::left_out(store, &segment, damage, settings.utc));
    }
    Ok(ExitAnswer::Yes)
}
