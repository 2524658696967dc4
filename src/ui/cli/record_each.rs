//! `lockscope record` with several contexts: records each into a file of its own, in a task of its
//! own.
//!
//! A context that cannot be recorded is named, and the others go on. Where the reason may pass, it
//! is tried again, because nobody restarts a part of the program.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::signal::unix::SignalKind;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::exit_answer::ExitAnswer;
use super::options::SharedOptions;
use super::output::note;
use super::record::{self, RecordCommand};
use super::record_questions::{Questions, SharedExporter};
use super::record_service::MayPass;
use super::several::{self, InContext};
use super::signals::Signals;
use lockscope_base::time::Backoff;

/// The first and the longest pause before a context is recorded again that could not be.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// Records until SIGINT or SIGTERM. `given` are the options of all contexts.
pub(super) async fn run(
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
    let mut tasks = JoinSet::new();
    for InContext { name, .. } in contexts {
        let store = command.store.as_deref().map(|folder| file_of(folder, &name));
        let questions = exporter.as_mut().map_or(Questions::Own(None), |exporter| exporter.add(&name));
        let command = RecordCommand { store, ..command.clone() };
        tasks.spawn(keep_recording(name, command, given.clone(), questions));
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
) -> Option<String> {
    let mut backoff = Backoff::new(RETRY.0, RETRY.1);
    loop {
        let settings = || several::again(&given, &name);
        match Box::pin(record::run(&command, settings, &mut questions, &mut tokio::io::stdout())).await {
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
