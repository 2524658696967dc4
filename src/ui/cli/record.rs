//! `lockscope record`: records what happens to the locks, for later analysis.
//!
//! With several contexts it records each into a file of its own, in a task of its own. A context
//! that cannot be recorded is named, and the others go on. Where the reason may pass, it is tried
//! again, because nobody restarts a part of the program.
//!
//! Deletions by hand are read from the audit log. A log contains the deletions on all ensembles of
//! its users. A deletion belongs to this ensemble if it was made through at least one of the same
//! servers, `HOST:PORT`, below the same chroot, because a server belongs to one ensemble. The order
//! and the number of the servers do not matter.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, ensure};
use bytesize::ByteSize;
use chrono::DateTime;
use clap::Args;
use serde::Serialize;
use tokio::io::AsyncWrite;
use tokio::signal::unix::SignalKind;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::live_table::{LiveTable, TableRecording};
use super::options::{ChangeOptions, EnsembleOptions, SharedOptions, WhichLocks};
use super::output::{ExitAnswer, MayPass, Signals, json_of, note, ready, reloading, send, stopping};
use super::record_exports::{MetricsOptions, OtlpOptions, Questions, SharedExporter};
use super::resolved::ResolvedOptions;
use super::several::{InContext, OneOfEnsembles};
use super::table_event::UnreadableNotices;
use super::{options, several};
use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::{Timestamp, Zxid};
use lockscope_live::admin::Action;
use lockscope_live::admin::audit::{AuditEntry, AuditFollower};
use lockscope_live::exporter::ScrapeKind;
use lockscope_live::zk::EnsembleAddress;
use lockscope_model::diagnose::AcrossEnsembles;
use lockscope_model::report::{ReportedEnsemble, rfc3339};
use lockscope_past::record::tables::RecordedDeletion;
use lockscope_past::record::{Bounds, RecordOptions, Recorder, RecordingEnd, Rotation};

/// The most time whose events are lost when the program is killed.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The options of `lockscope record`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct RecordCommand {
    /// The file of the recording; made, for its owner only, where it is missing, and else continued.
    /// With several contexts: the folder of their files, NAME.db each
    #[arg(long, value_name = "FILE", required_unless_present_any = ["metrics", "otlp"])]
    pub store: Option<PathBuf>,
    /// Delete what is older, as in 12h or 30d
    #[arg(long, value_name = "DURATION", default_value = "7d", requires = "store", value_parser = options::parse_duration)]
    pub keep: Duration,
    /// Delete the oldest when the file and what lies beside it would become larger, as in 500MB or
    /// 2GiB; at least 16MiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", requires = "store", value_parser = size)]
    pub max_size: ByteSize,
    /// Begin another file each period, as in 1d or 6h (UTC), or at a size, as in 500MB: FILE-TIME.db
    /// beside FILE. All commands read FILE as all of them together. --keep and --max-size bound the
    /// files together
    #[arg(long, value_name = "PERIOD|SIZE", requires = "store", value_parser = rotation)]
    pub rotate: Option<Rotation>,
    /// Leave out the data of the nodes, which may hold secrets; who a contender is then shows by
    /// its address only
    #[arg(long)]
    pub no_data: bool,
    /// Let the group of the file read it from now on, and not only its owner
    #[arg(long, requires = "store")]
    pub group_read: bool,
    /// Record, too, what this audit log says of deletions by hand [default:
    /// $XDG_STATE_HOME/lockscope/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    #[command(flatten)]
    pub metrics: MetricsOptions,
    #[command(flatten)]
    pub otlp: OtlpOptions,
    #[command(flatten)]
    pub locks: WhichLocks,
    #[command(flatten)]
    pub ensemble: EnsembleOptions,
}

impl RecordCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        let Self { audit_log, locks, ensemble, .. } = self.clone();
        let changes = ChangeOptions { audit_log, ..ChangeOptions::default() };
        SharedOptions { locks, changes, ensemble, ..SharedOptions::default() }
    }

    fn options(&self) -> RecordOptions {
        let bounds = Bounds { keep: Some(self.keep), max_bytes: Some(self.max_size.as_u64()) };
        RecordOptions { bounds, with_data: !self.no_data, group_reads: self.group_read }
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Err(_) => Err("write a number and its unit, as in 500MB or 2GiB".to_owned()),
        Ok(size) if size.as_u64() < Bounds::MIN_BYTES => Err("it must not be smaller than 16MiB".to_owned()),
        Ok(size) => Ok(size),
    }
}

/// Parses a period or a size.
fn rotation(text: &str) -> Result<Rotation, String> {
    match (options::parse_duration(text), size(text)) {
        (Ok(period), _) if period < Rotation::MIN_PERIOD => {
            Err("a period must not be shorter than a minute".to_owned())
        }
        (Ok(period), _) => Ok(Rotation::Every(period)),
        (Err(_), Ok(size)) => Ok(Rotation::At(size.as_u64())),
        (Err(_), Err(error)) if text.parse::<ByteSize>().is_ok() => Err(error),
        (Err(_), Err(_)) => Err("write a period as in 1d or 6h, or a size as in 500MB".to_owned()),
    }
}

/// The first line of output.
#[derive(Serialize)]
struct Started {
    /// The path of the file; `null` when no file is written.
    recording: Option<String>,
    since: Option<String>,
    /// The address of the metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<String>,
    /// The URL of the collector.
    #[serde(skip_serializing_if = "Option::is_none")]
    otlp: Option<String>,
}

/// Why a run ended.
enum RunEnd {
    Stopped,
    /// The run continues with these settings.
    Reload(Box<ResolvedOptions>),
}

/// Records one ensemble, with metrics of its own.
pub async fn run_one(
    command: &RecordCommand,
    read_settings: impl Fn() -> anyhow::Result<ResolvedOptions>,
) -> anyhow::Result<ExitAnswer> {
    run(command, read_settings, &mut Questions::Own(None), None, &mut tokio::io::stdout()).await
}

/// Records until SIGINT or SIGTERM. On SIGHUP `read_settings` reads the settings again; invalid
/// ones are reported, and the old ones stay.
async fn run(
    command: &RecordCommand,
    read_settings: impl Fn() -> anyhow::Result<ResolvedOptions>,
    questions: &mut Questions,
    across: Option<&Arc<Mutex<AcrossEnsembles>>>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let mut signals = Signals::listen()?;
    let read_settings = || usable(read_settings()?);
    let mut settings = read_settings()?;
    let reload = || {
        reloading();
        read_settings()
    };
    let start = |store: &PathBuf| match command.rotate {
        Some(rotation) => {
            Recorder::start_in_parts(store, &settings.ensemble_name(), command.options(), rotation, now())
        }
        None => Recorder::start(store, &settings.ensemble_name(), command.options()),
    };
    let recorder = command.store.as_ref().map(start).transpose().map_err(MayPass::of_store)?;
    questions.start(&command.metrics).await?;
    let spans = command.otlp.start(&settings, command.no_data, recorder.as_ref().and_then(Recorder::left_gap))?;
    let started = Started {
        recording: command.store.as_ref().map(|store| store.to_string_lossy().into_owned()),
        since: rfc3339(now()),
        metrics: questions.address().map(|address| address.to_string()),
        otlp: command.otlp.otlp.as_ref().map(ToString::to_string),
    };
    send(out, &json_of(settings.label(), &started)?).await?;
    let mut deletions = (recorder.is_some() || spans.is_some()).then(|| FollowedDeletions::start(&settings));
    let mut recording = TableRecording { recorder, counters: command.metrics.counters(spans.is_some()), spans };
    loop {
        let mut live = LiveTable::start_to_record(&settings, recording)?;
        if let (Some(across), Some(name)) = (across, settings.label()) {
            live.compare_with(OneOfEnsembles::new(name, across));
        }
        ready(&status(&settings));
        let end = record(&mut live, &settings, &mut deletions, questions, &reload, &mut signals).await;
        if !matches!(end, Ok(RunEnd::Reload(_))) {
            stopping();
        }
        let Some((ended, table)) = live.stop_recording().await else { return end.map(|_| ExitAnswer::Yes) };
        recording = ended;
        match end {
            Ok(RunEnd::Reload(new)) => settings = *new,
            end => {
                let TableRecording { recorder, spans, .. } = recording;
                let stop = |recorder: Recorder| block_in_place(|| recorder.stop(&table, now()));
                let stored = recorder.map(stop).transpose();
                if let Some(spans) = spans {
                    spans.stop(&table).await;
                }
                let answer = answer(stored.map_err(MayPass::of_store)?, &settings.prefix());
                return end.and(answer);
            }
        }
        if let Some(deletions) = &mut deletions {
            deletions.go_on_with(&settings);
        }
        questions.reload(&command.metrics);
        if let Some(spans) = &mut recording.spans {
            spans.go_on_with(&settings, &table).await?;
        }
        if let Some(recorder) = &mut recording.recorder {
            block_in_place(|| recorder.start_over(&settings.ensemble_name(), &table, now()))?;
        }
        if let Some(counters) = &mut recording.counters {
            counters.start_over();
        }
    }
}

/// Reports what became of the file at the end. Fails where a part of the recording is lost because a
/// file went, whatever was recorded afterwards.
fn answer(ended: Option<RecordingEnd>, of: &str) -> anyhow::Result<ExitAnswer> {
    let Some(RecordingEnd { file_news, has_lost }) = ended else { return Ok(ExitAnswer::Yes) };
    if let Some(news) = file_news {
        note(&format!("{of}{news}"));
    }
    ensure!(!has_lost, "a part of what was recorded is lost; the message about the file says which");
    Ok(ExitAnswer::Yes)
}

/// Returns what the service manager shows.
fn status(settings: &ResolvedOptions) -> String {
    if settings.label().is_some() { "several ensembles".to_owned() } else { settings.ensemble_name() }
}

/// Returns the settings, if a connection with them is possible. Waits for servers indefinitely.
fn usable(settings: ResolvedOptions) -> anyhow::Result<ResolvedOptions> {
    let settings = settings.waiting_endlessly();
    settings.survey_options()?;
    Ok(settings)
}

/// Records with these settings until a signal comes or the ensemble refuses the session.
async fn record(
    live: &mut LiveTable,
    settings: &ResolvedOptions,
    deletions: &mut Option<FollowedDeletions>,
    questions: &mut Questions,
    read_settings: &impl Fn() -> anyhow::Result<ResolvedOptions>,
    signals: &mut Signals,
) -> anyhow::Result<RunEnd> {
    let mut flush = interval(FLUSH_INTERVAL);
    flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
    live.survey(settings, Duration::MAX)?;
    let mut notices = UnreadableNotices::default();
    let (mut trouble, ensemble) = (None, settings.ensemble_name());
    let of = settings.prefix();
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => match (signal == SignalKind::hangup()).then(read_settings) {
                None => return Ok(RunEnd::Stopped),
                Some(Ok(new)) => return Ok(RunEnd::Reload(Box::new(new))),
                Some(Err(error)) => {
                    note(&format!("{of}recording goes on with the settings as they were: {error:#}"));
                    ready(&status(settings));
                }
            },
            _ = flush.tick() => {
                let now = block_in_place(|| {
                    let deleted = deletions.iter_mut().flat_map(FollowedDeletions::next);
                    deleted.for_each(|deletion| live.record_deletion(deletion));
                    live.flush_recording()
                });
                live.flush_spans(&ensemble);
                match (&now, &trouble) {
                    (Some(sentence), _) if now != trouble => note(&format!("{of}{sentence}")),
                    (None, Some(_)) => note(&format!("{of}the recording is written again")),
                    _ => {}
                }
                trouble = now;
            }
            step = next_step(live, questions) => {
                match step.map_err(MayPass::of)? {
                    RecordWork::Asked(question) => live.answer(question, &ensemble),
                    RecordWork::Changed => {}
                }
                let unreadable = notices.next(live.table());
                if !unreadable.is_empty() {
                    // The lines end with line breaks; a closed stderr is ignored.
                    eprint_lines(&unreadable);
                }
            }
        }
    }
}

/// The next work of the recorder.
enum RecordWork {
    Changed,
    Asked(ScrapeKind),
}

/// Waits for the next changes or the next question. Neither can starve the other. Cancel safe.
async fn next_step(live: &mut LiveTable, questions: &mut Questions) -> anyhow::Result<RecordWork> {
    tokio::select! {
        question = questions.next() => Ok(RecordWork::Asked(question)),
        events = live.next() => events.map(|_| RecordWork::Changed),
    }
}

fn eprint_lines(lines: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(lines.as_bytes());
}

/// The first and the longest pause before a context is recorded again that could not be.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// Records until SIGINT or SIGTERM. `given` are the options of all contexts.
pub async fn run_each(
    command: RecordCommand,
    given: SharedOptions,
    contexts: Vec<InContext>,
) -> anyhow::Result<ExitAnswer> {
    let mut exporter = command.metrics.start().await?.map(SharedExporter::new);
    if let Some(folder) = &command.store {
        let mode = if command.group_read { 0o750 } else { 0o700 };
        block_in_place(|| DirBuilder::new().recursive(true).mode(mode).create(folder))
            .with_context(|| format!("cannot create the folder {}: name a folder with --store", folder.display()))?;
    }
    let all = contexts.len();
    let across = Arc::default();
    let mut tasks = JoinSet::new();
    for InContext { name, .. } in contexts {
        let store = command.store.as_deref().map(|folder| file_of(folder, &name));
        let questions = exporter.as_mut().map_or(Questions::Own(None), |exporter| exporter.add(&name));
        let command = RecordCommand { store, ..command.clone() };
        tasks.spawn(keep_recording(name, command, given.clone(), questions, Arc::clone(&across)));
    }
    let _answering = exporter.map(|exporter| AbortOnDropHandle::new(tokio::spawn(exporter.answer(command.metrics))));
    let mut failed = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        if let Some(name) = ended.context("a part of the recorder failed; the message above says where")? {
            failed.push(name);
        }
    }
    failed.sort();
    ensure!(failed.is_empty(), "{} of {all} contexts could not be recorded: {}", failed.len(), failed.join(", "));
    Ok(ExitAnswer::Yes)
}

/// Returns the file of a context. Names of contexts have no slashes.
fn file_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.db"))
}

/// Records one context until a signal comes. Returns its name when it cannot be recorded.
async fn keep_recording(
    name: String,
    command: RecordCommand,
    given: SharedOptions,
    mut questions: Questions,
    across: Arc<Mutex<AcrossEnsembles>>,
) -> Option<String> {
    let mut backoff = Backoff::new(RETRY.0, RETRY.1);
    loop {
        let settings = || several::again(&given, &name);
        match Box::pin(run(&command, settings, &mut questions, Some(&across), &mut tokio::io::stdout())).await {
            Ok(ExitAnswer::No) => return Some(name),
            Ok(_) => return None,
            Err(error) if error.is::<MayPass>() => {
                let pause = backoff.next_pause();
                note(&format!("{name}: {error:#}; tried again in {} s", pause.as_secs()));
                if ends_within(pause).await {
                    return Some(name);
                }
            }
            Err(error) => {
                note(&format!("{name}: {error:#}"));
                return Some(name);
            }
        }
    }
}

/// Waits. Returns whether a signal to end came meanwhile.
async fn ends_within(pause: Duration) -> bool {
    let Ok(mut signals) = Signals::listen() else { return true };
    tokio::select! {
        () = sleep(pause) => false,
        signal = signals.next() => signal != SignalKind::hangup(),
    }
}

/// The audit log, filtered by ensemble.
struct FollowedDeletions {
    follower: Option<AuditFollower>,
    ensemble: EnsembleAddress,
    /// The error of the last read, once it was reported.
    trouble: Option<String>,
}

impl FollowedDeletions {
    /// Follows what is appended to the log from now on. Blocks the thread during disk access.
    fn start(settings: &ResolvedOptions) -> Self {
        let follower = settings.audit_log.as_deref().map(AuditFollower::start);
        Self { follower, ensemble: EnsembleAddress::of(&settings.ensemble_name()), trouble: None }
    }

    /// Continues with new settings: in the same log, or in another one if the settings name it.
    fn go_on_with(&mut self, settings: &ResolvedOptions) {
        self.ensemble = EnsembleAddress::of(&settings.ensemble_name());
        if self.follower.as_ref().map(AuditFollower::path) != settings.audit_log.as_deref() {
            *self = Self::start(settings);
        }
    }

    /// Returns the outcomes since the last call. An unreadable log is reported once. Blocks the
    /// thread during disk access.
    fn next(&mut self) -> Vec<RecordedDeletion> {
        let Some(follower) = &mut self.follower else { return Vec::new() };
        let next = follower.take_new();
        let trouble = next.as_ref().err().map(ToString::to_string);
        if let Some(error) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            let path = follower.path().display();
            note(&format!("deletions by hand are not recorded: the audit log {path} cannot be read: {error}"));
        }
        self.trouble = trouble;
        let entries = next.unwrap_or_default().into_iter();
        entries
            .filter(|entry| {
                EnsembleAddress::of(ReportedEnsemble::new(&entry.who.ensemble, None).connect())
                    .is_of_the_same(&self.ensemble)
            })
            .filter_map(deletion)
            .collect()
    }
}

fn deletion(entry: AuditEntry) -> Option<RecordedDeletion> {
    // What was noted about a finding is recorded with the finding.
    if Action::ALL.iter().all(|action| action.id() != entry.action) {
        return None;
    }
    let outcome = entry.outcome?;
    let at = DateTime::parse_from_rfc3339(&outcome.at).map_or_else(|_| now(), |at| Timestamp(at.timestamp_millis()));
    let by = entry.who.sudo_user.unwrap_or(entry.who.user);
    Some(RecordedDeletion {
        at,
        lock: entry.subject.lock,
        path: entry.subject.path,
        czxid: entry.subject.czxid.map(Zxid),
        by: Some(by).filter(|user| !user.is_empty()),
        result: outcome.result,
        reason: Some(outcome.reason),
    })
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    #[test]
    fn the_documented_bounds_are_also_those_of_the_screens_file() {
        let definition = RecordCommand::augment_args(clap::Command::new("record"));
        let matches = definition.get_matches_from(["record", "--store", "locks.db"]);
        assert_eq!(RecordCommand::from_arg_matches(&matches).unwrap().options().bounds, Bounds::USUAL);
    }
}
