//! `lockscope contend` and `lockscope compare`: test clients, and what they cost.
//!
//! Signals and a closed pipe end a run early; its figures are told all the same, after the clients and their nodes are
//! gone. Nothing is printed before that.

mod figures;
mod options;
mod patience;
mod plot;
mod progress;
mod scenario;
mod side_by_side;
mod stop;
#[cfg(test)]
mod testing;

use std::cell::Cell;
use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub(super) use options::{CompareOptions, ContendOptions};
use patience::Patience;
use progress::ProgressLine;
pub use scenario::BadScenario;

use super::arguments::Format;
use super::settings::Settings;
use super::{CliError, Verdict};
use crate::contend::{self, Comparison, Fleet, FleetOptions, Outcome, Progress, Scenario};

/// Lets one fleet contend and prints what it came to.
pub(super) async fn contend(
    settings: &Settings,
    format: Format,
    options: &ContendOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<Verdict, CliError> {
    let scenario = options.scenario(settings.session_timeout)?;
    let fleet = fleet_options(settings)?;
    stop::by_signals(async |told: CancellationToken| {
        let outcome = play(settings, fleet, scenario, options.during, stop::told(&told)).await?;
        let text = match format {
            Format::Json => json(&outcome)?,
            Format::Table => figures::table(&outcome),
        };
        print(&text, out).await?;
        Ok(verdict([&outcome]))
    })
    .await
}

/// Lets herds and chains contend and prints them side by side.
pub(super) async fn compare(
    settings: &Settings,
    format: Format,
    options: &CompareOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> Result<Verdict, CliError> {
    let scenario = options.scenario(settings.session_timeout)?;
    let fleet = fleet_options(settings)?;
    stop::by_signals(async |told: CancellationToken| {
        let comparison = play_all(settings, &fleet, &scenario, &options.sizes(), stop::told(&told)).await?;
        let text = match format {
            Format::Json => json(&comparison)?,
            Format::Table => side_by_side::table(&comparison, settings.ascii),
        };
        print(&text, out).await?;
        Ok(verdict(comparison.runs.iter().flat_map(|run| [&run.herd, &run.chain])))
    })
    .await
}

/// One fleet, until it is done, has contended for `during`, or `told` ends.
async fn play(
    settings: &Settings,
    options: FleetOptions,
    scenario: Scenario,
    during: Option<Duration>,
    told: impl Future<Output = ()>,
) -> Result<Outcome, CliError> {
    let mut line = ProgressLine::on_stderr();
    let patience = Patience::new(settings.timeout);
    let (mut told, mut lost) = (std::pin::pin!(told), std::pin::pin!(patience.lost()));
    let mut end = None;
    tracing::info!(connect = settings.connect, ?scenario, "test clients start");
    let mut fleet = Fleet::start(options, scenario)?;
    let ended = loop {
        tokio::select! {
            () = &mut told => break Ok(()),
            () = reached(end) => break Ok(()),
            () = &mut lost => break Err(patience.no_answer(&settings.connect)),
            changed = fleet.changed() => match changed {
                Err(error) => break Err(error.into()),
                Ok(status) if status.finished => break Ok(()),
                Ok(status) => {
                    patience.note(1, &status);
                    if end.is_none() && !status.elapsed.is_zero() {
                        end = during.map(|during| Instant::now() + during.saturating_sub(status.elapsed));
                    }
                    line.show(Instant::now(), || progress::of(&status, None));
                }
            }
        }
    };
    line.end("the clients leave");
    let outcome = fleet.stop().await;
    tracing::info!(acquisitions = outcome.acquisitions, left_behind = outcome.left_behind, "test clients are gone");
    ended.map(|()| outcome)
}

/// All fleets of a comparison, until they are done or `told` ends.
async fn play_all(
    settings: &Settings,
    options: &FleetOptions,
    scenario: &Scenario,
    sizes: &[u32],
    told: impl Future<Output = ()>,
) -> Result<Comparison, CliError> {
    let mut line = ProgressLine::on_stderr();
    let patience = Patience::new(settings.timeout);
    let silence = Cell::new(false);
    let interrupted = async {
        tokio::select! {
            () = told => {}
            () = patience.lost() => silence.set(true),
        }
    };
    let tell = |progress: &Progress<'_>| {
        patience.note(progress.fleet, progress.status);
        line.show(Instant::now(), || progress::of(progress.status, Some((progress.fleet, progress.of))));
    };
    tracing::info!(connect = settings.connect, ?scenario, ?sizes, "herds and chains start");
    let comparison = contend::compare(options, scenario, sizes, tell, interrupted).await;
    if silence.get() { Err(patience.no_answer(&settings.connect)) } else { Ok(comparison?) }
}

async fn reached(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// The console itself watches nothing while a command lets clients contend.
fn fleet_options(settings: &Settings) -> Result<FleetOptions, CliError> {
    Ok(FleetOptions { connection: settings.connect_options()?, own_watches: 0 })
}

fn json(facts: &impl Serialize) -> Result<String, CliError> {
    Ok(serde_json::to_string(facts).map_err(io::Error::from)? + "\n")
}

/// Prints at the very end. A reader who is gone changes nothing of what the run came to.
async fn print(text: &str, out: &mut (impl AsyncWrite + Unpin)) -> Result<(), CliError> {
    let printed = async {
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    };
    match printed.await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}

/// Whether the locks held what they promise, and nothing is left.
fn verdict<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Verdict {
    let is_bad = |outcome: &Outcome| outcome.violations > 0 || outcome.left_behind.is_some_and(|left| left > 0);
    if outcomes.into_iter().any(is_bad) { Verdict::No } else { Verdict::Yes }
}

#[cfg(test)]
mod tests {
    use super::testing::outcome;
    use super::*;

    #[test]
    fn a_violated_lock_and_nodes_left_behind_are_a_no() {
        let good = outcome("chain", 2);
        assert_eq!(verdict([&good, &good]).code(), 0);
        assert_eq!(verdict([&Outcome { left_behind: None, outlived: 1, ..good.clone() }]).code(), 0);
        assert_eq!(verdict([&good, &Outcome { violations: 1, ..good.clone() }]).code(), 1);
        assert_eq!(verdict([&Outcome { left_behind: Some(1), ..good.clone() }]).code(), 1);
        assert_eq!(Verdict::Ended(2).code(), 130);
    }

    #[tokio::test]
    async fn a_reader_who_is_gone_is_no_error() {
        let (reader, mut writer) = tokio::io::duplex(8);
        drop(reader);
        print("more than eight bytes", &mut writer).await.expect("nobody to complain to");
    }
}
