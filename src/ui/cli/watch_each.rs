//! `lockscope watch` with several contexts: prints the events of all of them, line by line.
//!
//! Each context is followed by a task of its own. A context that fails is named, and the others go
//! on.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::exit_answer::ExitAnswer;
use super::live_table::LiveTable;
use super::options::Format;
use super::output::send;
use super::resolved::ResolvedOptions;
use super::several::{Failures, InContext, PATIENCE};
use super::unreadable::{UnreadableNotices, every_root_is_readable};
use super::watch::{MAX_EVENTS_AT_ONCE, line};
use lockscope_live::deadline::until;

/// The most texts that wait to be written; each holds up to [`MAX_EVENTS_AT_ONCE`] lines. When the
/// reader is slow, the contexts wait.
const MAX_WAITING: usize = 16;

/// What a task says of its context.
enum Said {
    Lines(String),
    Failed(String, anyhow::Error),
}

/// Prints events until SIGINT or SIGTERM, or for `stop_after`, and ends the sessions. A context
/// that does not answer is waited for; one that never answered, or that refuses the session, makes
/// the command fail at the end.
pub(super) async fn run(
    contexts: Vec<InContext>,
    format: Format,
    stop_after: Option<Duration>,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let end = stop_after.map(|time| Instant::now() + time);
    let mut failures = Failures::of(contexts.len());
    let (sender, mut said) = mpsc::channel(MAX_WAITING);
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    for InContext { name, settings, .. } in contexts {
        let (sender, stop) = (sender.clone(), stop.clone());
        tasks.spawn(async move {
            let followed = match settings {
                Ok(settings) => follow(settings, &sender, &stop).await,
                Err(error) => Err(error),
            };
            if let Err(error) = followed {
                // Nobody reads when the output has failed.
                let _ = sender.send(Said::Failed(name, error)).await;
            }
        });
    }
    drop(sender);
    let mut outcome = tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        () = until(end) => Ok(()),
        outcome = print(&mut said, &mut failures, format, out) => outcome,
    };
    stop.cancel();
    if outcome.is_ok() {
        // What was seen before the end is still printed.
        outcome = print(&mut said, &mut failures, format, out).await;
    }
    drop(said);
    while tasks.join_next().await.is_some() {}
    outcome?;
    failures.end()?;
    Ok(ExitAnswer::Yes)
}

/// Prints what the tasks say until all of them have ended.
async fn print(
    said: &mut mpsc::Receiver<Said>,
    failures: &mut Failures,
    format: Format,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<()> {
    while let Some(said) = said.recv().await {
        match said {
            Said::Lines(lines) => send(out, &lines).await?,
            Said::Failed(name, error) => {
                let mut line = Vec::new();
                failures.add(&name, &error, format, &mut line)?;
                send(out, &String::from_utf8_lossy(&line)).await?;
            }
        }
    }
    Ok(())
}

/// Follows one context until it fails or is stopped.
async fn follow(settings: ResolvedOptions, said: &mpsc::Sender<Said>, stop: &CancellationToken) -> anyhow::Result<()> {
    let settings = ResolvedOptions { timeout: PATIENCE, timeout_is_given: true, ..settings };
    let mut live = LiveTable::start_to_watch(&settings)?;
    live.survey(&settings, Duration::MAX)?;
    let ended = stop.run_until_cancelled(say(&mut live, &settings, said)).await;
    let never_answered = live.synced().is_none().then(|| live.no_answer());
    live.stop().await;
    match (ended, never_answered) {
        (Some(failed), _) => failed,
        (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

async fn say(live: &mut LiveTable, settings: &ResolvedOptions, said: &mpsc::Sender<Said>) -> anyhow::Result<()> {
    let mut notices = UnreadableNotices::default();
    let mut is_checked = false;
    loop {
        for events in live.next().await?.chunks(MAX_EVENTS_AT_ONCE) {
            let lines = events.iter().map(|event| line(event, settings.format, settings.label(), settings.utc));
            if said.send(Said::Lines(lines.collect::<std::io::Result<_>>()?)).await.is_err() {
                return Ok(());
            }
        }
        if !live.has_reported_start() {
            continue;
        }
        if !is_checked {
            every_root_is_readable(live.table(), &settings.roots)?;
            is_checked = true;
        }
        let unreadable = notices.next(live.table());
        if !unreadable.is_empty() {
            // A closed stderr is ignored.
            let _ = tokio::io::stderr().write_all(unreadable.as_bytes()).await;
        }
    }
}
