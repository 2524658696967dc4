//! `lockscope record`: writes down what happens to the locks, for those who come after the fact.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use serde::Serialize;
use tokio::io::AsyncWrite;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::block_in_place;
use tokio::time::{MissedTickBehavior, interval};

use super::duration;
use super::live_table::LiveTable;
use super::options::{EnsembleOptions, SharedOptions, WhichLocks};
use super::output::{json, note, send};
use super::resolved::ResolvedOptions;
use super::unreadable::UnreadableNotices;
use super::verdict::Verdict;
use crate::record::{Bounds, RecordOptions, Recorder};
use crate::report::{Ensemble, rfc3339};
use crate::time::now;

/// At the most so much of what happened is lost when the program is killed.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// A recorder waits for servers for as long as it takes: whoever starts it is not there to start it again.
const PATIENCE: Duration = Duration::from_hours(24 * 366);

/// What `lockscope record` takes.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct RecordCommand {
    /// The file of the recording; made, for its owner only, where it is missing, and else continued
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// Delete what is older, as in 12h or 30d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration::parse)]
    pub keep: Duration,
    /// Delete the oldest when the file and what lies beside it would become larger, as in 500MB or 2GiB; at least 16MiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size)]
    pub max_size: ByteSize,
    /// Leave out the data of the nodes, which may hold secrets; who a contender is then shows by its address only
    #[arg(long)]
    pub no_data: bool,
    #[command(flatten)]
    pub locks: WhichLocks,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl RecordCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { locks, ensemble, .. } = self.clone();
        SharedOptions { locks, ensemble, ..SharedOptions::default() }
    }

    fn options(&self) -> RecordOptions {
        let bounds = Bounds { keep: Some(self.keep), max_bytes: Some(self.max_size.as_u64()) };
        RecordOptions { bounds, with_data: !self.no_data }
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Err(_) => Err("write a number and its unit, as in 500MB or 2GiB".to_owned()),
        Ok(size) if size.as_u64() < Bounds::MIN_BYTES => Err("it must not be smaller than 16MiB".to_owned()),
        Ok(size) => Ok(size),
    }
}

/// The first line.
#[derive(Serialize)]
struct Started<'a> {
    recording: &'a str,
    since: Option<String>,
}

/// Why a run ended.
enum End {
    Stopped,
    /// The settings are to be read again.
    Reload,
}

/// Records until SIGINT or SIGTERM. On SIGHUP the settings are read again by `settle`; bad ones are named, and the old ones stay.
pub(super) async fn run(
    command: &RecordCommand,
    settle: impl Fn() -> anyhow::Result<ResolvedOptions>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<Verdict> {
    let mut settings = patient(settle()?);
    let mut recorder = Recorder::start(&command.store, connect(&settings).connect(), command.options())?;
    let path = command.store.to_string_lossy();
    send(out, &json(&Started { recording: &path, since: rfc3339(now()) })?).await?;
    loop {
        let mut live = LiveTable::start_to_record(&settings, recorder)?;
        let end = record(&mut live, &settings).await;
        let Some((ended, table)) = live.stop_recording().await else { return end.map(|_| Verdict::Yes) };
        recorder = ended;
        match end {
            Ok(End::Reload) => match settle() {
                Ok(new) => settings = patient(new),
                Err(error) => note(&format!("the settings stay as they were: {error}")),
            },
            end => {
                block_in_place(|| recorder.stop(&table, now()))?;
                return end.map(|_| Verdict::Yes);
            }
        }
        block_in_place(|| recorder.start_over(connect(&settings).connect(), &table, now()))?;
    }
}

/// The ensemble without what its name may hold of identities.
fn connect(settings: &ResolvedOptions) -> Ensemble {
    Ensemble::new(&settings.connect, None)
}

fn patient(settings: ResolvedOptions) -> ResolvedOptions {
    ResolvedOptions { timeout: PATIENCE, timeout_is_given: true, ..settings }
}

/// Records by these settings until a signal comes, or until the ensemble refuses the session.
async fn record(live: &mut LiveTable, settings: &ResolvedOptions) -> anyhow::Result<End> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut flush = interval(FLUSH_INTERVAL);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    live.survey(settings, true, Duration::MAX)?;
    let mut notices = UnreadableNotices::default();
    let mut trouble = None;
    loop {
        tokio::select! {
            biased;
            _ = interrupt.recv() => return Ok(End::Stopped),
            _ = terminate.recv() => return Ok(End::Stopped),
            _ = hang_up.recv() => return Ok(End::Reload),
            _ = flush.tick() => {
                let now = block_in_place(|| live.flush_recording().map(str::to_owned));
                if let Some(sentence) = now.as_ref().filter(|_| now != trouble) {
                    note(&format!("nothing is written at the moment, and tried again: {sentence}"));
                }
                trouble = now;
            }
            events = live.next() => {
                events?;
                let unreadable = notices.next(live.table());
                if !unreadable.is_empty() {
                    // Lines that end by themselves; who has closed stderr does not want to know.
                    eprint_lines(&unreadable);
                }
            }
        }
    }
}

fn eprint_lines(lines: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(lines.as_bytes());
}
