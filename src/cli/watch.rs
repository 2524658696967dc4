//! `lockscope watch`: what happens, line by line.

use std::fmt::Write;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::CliError;
use super::arguments::Format;
use super::follow::{Follower, Told};
use super::human::{clock, span};
use super::settings::Settings;
use crate::queue::Happening;
use crate::report::HappeningLine;
use crate::znode::escaped;

/// Prints happenings until SIGINT, SIGTERM or the end of `during`, and ends the session. The output may block for as long
/// as its reader likes: signals are heard all the same.
pub(super) async fn run(
    settings: &Settings,
    format: Format,
    during: Option<Duration>,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), CliError> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let end = during.map(|during| Instant::now() + during);
    let mut follower = Follower::start(settings)?;
    let outcome = tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        () = reached(end) => Ok(()),
        outcome = print(&mut follower, format, settings.utc, out) => outcome,
    };
    let outcome = match outcome {
        Ok(()) if end.is_some_and(|end| end <= Instant::now()) && follower.synced().is_none() => {
            Err(follower.no_answer())
        }
        outcome => outcome,
    };
    follower.stop().await;
    outcome
}

async fn reached(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Prints until something fails.
async fn print(
    follower: &mut Follower,
    format: Format,
    utc: bool,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<(), CliError> {
    loop {
        // Of the first reading the table tells only which locks it found: who stands in their queues did not just come.
        let lines: String = follower.next().await?.iter().map(|told| line(told, format, utc)).collect();
        if !lines.is_empty() {
            out.write_all(lines.as_bytes()).await?;
            out.flush().await?;
        }
    }
}

fn line((happening, reason): &Told, format: Format, utc: bool) -> String {
    match format {
        Format::Table => for_people(happening, reason.as_deref(), utc),
        Format::Json => {
            let line = HappeningLine::new(happening, reason.as_deref());
            // Only maps with other keys than text, and types that fail on purpose, cannot be written as JSON.
            serde_json::to_string(&line).map_or_else(|_| String::new(), |line| line + "\n")
        }
    }
}

fn for_people(happening: &Happening, reason: Option<&str>, utc: bool) -> String {
    let mut line = format!("{} {:<12}", clock(happening.at, utc), happening.event.id());
    let mut add = |text: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = line.write_fmt(text);
    };
    if let Some(lock) = &happening.lock {
        add(format_args!("  {}", escaped(lock.path.as_str())));
        if let Some(name) = &lock.name {
            add(format_args!(" {}", escaped(name)));
        }
    }
    if let Some(node) = &happening.node {
        add(format_args!("  {}", escaped(node)));
    }
    if let Some(session) = happening.session {
        add(format_args!("  {session}"));
    }
    if let Some(waited) = happening.waited_ms {
        add(format_args!("  waited {}", span(Duration::from_millis(waited))));
    }
    if let Some(held) = happening.held_ms {
        add(format_args!("  held {}", span(Duration::from_millis(held))));
    }
    if happening.node.is_some() {
        let events = happening.watch_events;
        add(format_args!("  queue {}  herd {} chain {}", happening.queue, events.herd, events.chain));
    }
    if let Some(reason) = reason {
        add(format_args!("  {}", escaped(reason)));
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}
