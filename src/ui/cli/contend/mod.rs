//! `lockscope contend` and `lockscope compare`: test clients, and their costs.
//!
//! Signals and a closed pipe end a run early. Its figures are still printed, once the clients and
//! their nodes are gone. Nothing is printed before that.

mod figures;
mod model;
mod options;
mod plot_file;
mod plot_page;
mod plot_values;
mod progress;
mod run_conditions;
pub(super) mod scenario;
mod server_timeout;
mod session_note;
mod side_by_side;
mod stop;
#[cfg(test)]
mod testing;
mod text_plot;

use std::cell::Cell;
use std::time::Duration;

use anyhow::bail;
use tokio::io::AsyncWrite;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use options::{CompareOptions, ContendOptions};
use plot_file::PlotFile;
use plot_page::plot_page;
use run_conditions::{RunConditions, server_versions};
use server_timeout::ServerTimeout;
use session_note::note_short_sessions;

use super::exit_answer::ExitAnswer;
use super::options::Format;
use super::output::{json, reader_left, send};
use super::progress_line::ProgressLine;
use super::resolved::ResolvedOptions;
use super::signals::on_signal;
use lockscope_base::time::now;
use lockscope_lab::contend::{self, ComparedFleets, Comparison, Fleet, FleetOptions, FleetOutcome, Progress, Scenario};
use lockscope_live::deadline::until;
use lockscope_live::zk::survey::ViewBy;

/// Runs one fleet and prints its outcome.
pub(super) async fn contend(
    settings: &ResolvedOptions,
    options: &ContendOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let scenario = options.scenario(settings.session_timeout)?;
    let fleet = fleet_options(settings)?;
    on_signal(async |stop: CancellationToken| {
        note_before(settings, &fleet, &scenario, &stop).await;
        let outcome = play(settings, fleet, scenario, options.stop_after, stop::requested(&stop)).await?;
        let text = match settings.format {
            Format::Json => json(&outcome)?,
            Format::Table => figures::table(&outcome),
        };
        print(&text, out).await?;
        answer([&outcome])
    })
    .await
}

/// Runs herds and chains and prints them side by side.
pub(super) async fn compare(
    settings: &ResolvedOptions,
    options: &CompareOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let (scenario, sizes) = (options.scenario(settings.session_timeout)?, options.sizes());
    let fleet = fleet_options(settings)?;
    options.plot.iter().try_for_each(PlotFile::check)?;
    on_signal(async |stop: CancellationToken| {
        note_before(settings, &fleet, &scenario, &stop).await;
        let started = now();
        let comparison = play_all(settings, &fleet, &scenario, &sizes, stop::requested(&stop)).await?;
        let text = match settings.format {
            Format::Json => json(&comparison)?,
            Format::Table => side_by_side::table(&comparison, settings.ascii),
        };
        print(&text, out).await?;
        if !options.plot.is_empty() {
            let (versions, utc) = (server_versions(&fleet).await, settings.utc);
            let (scenario, sizes) = (scenario.clone(), sizes.clone());
            let page = plot_page(&comparison, &RunConditions { started, utc, versions, scenario, sizes });
            options.plot.iter().try_for_each(|file| file.write(&page))?;
        }
        let pairs = comparison.runs.iter().flat_map(ComparedFleets::outcomes);
        answer(pairs.chain(&comparison.unpaired))
    })
    .await
}

/// Warns about known problems of the scenario on this ensemble, unless the run is stopped first.
async fn note_before(settings: &ResolvedOptions, fleet: &FleetOptions, scenario: &Scenario, stop: &CancellationToken) {
    tokio::select! {
        () = note_short_sessions(fleet, scenario, settings.timeout) => {}
        () = stop::requested(stop) => {}
    }
}

/// Runs one fleet until it is done, has contended for `stop_after`, or `stop` is cancelled.
async fn play(
    settings: &ResolvedOptions,
    options: FleetOptions,
    scenario: Scenario,
    stop_after: Option<Duration>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<FleetOutcome> {
    let mut line = ProgressLine::on_stderr();
    let timeout = ServerTimeout::new(settings.timeout);
    let (mut stop, mut expired) = (std::pin::pin!(stop), std::pin::pin!(timeout.expired()));
    let (mut end, mut gave_up) = (None, false);
    tracing::info!(connect = settings.connect, ?scenario, "test clients start");
    let mut fleet = Fleet::start(options, scenario)?;
    let ended = loop {
        tokio::select! {
            () = &mut stop => break Ok(()),
            () = until(end) => break Ok(()),
            () = &mut expired => {
                gave_up = timeout.had_begun();
                break if gave_up { Ok(()) } else { Err(timeout.no_answer(settings)) };
            }
            changed = fleet.changed() => match changed {
                Err(error) => break Err(error.into()),
                Ok(status) if status.finished => break Ok(()),
                Ok(status) => {
                    timeout.update(1, &status);
                    if end.is_none() && !status.elapsed.is_zero() {
                        end = stop_after.map(|time| Instant::now() + time.saturating_sub(status.elapsed));
                    }
                    line.show(Instant::now(), || progress::of(&status, None));
                }
            }
        }
    };
    line.end("the clients leave");
    let mut outcome = fleet.stop().await;
    if gave_up {
        note_servers_lost(&mut outcome, settings.timeout);
    }
    tracing::info!(acquisitions = outcome.acquisitions, left_behind = outcome.left_behind, "test clients are gone");
    ended.map(|()| outcome)
}

/// Runs all fleets of a comparison until they are done or `stop` is cancelled.
async fn play_all(
    settings: &ResolvedOptions,
    options: &FleetOptions,
    scenario: &Scenario,
    sizes: &[u32],
    stop: impl Future<Output = ()>,
) -> anyhow::Result<Comparison> {
    let mut line = ProgressLine::on_stderr();
    let timeout = ServerTimeout::new(settings.timeout);
    let gave_up = Cell::new(false);
    let interrupted = async {
        tokio::select! {
            () = stop => {}
            () = timeout.expired() => gave_up.set(true),
        }
    };
    let report = |progress: &Progress<'_>| {
        timeout.update(progress.fleet, progress.status);
        line.show(Instant::now(), || progress::of(progress.status, Some((progress.fleet, progress.of))));
    };
    tracing::info!(connect = settings.connect, ?scenario, ?sizes, "herds and chains start");
    let comparison = contend::compare(options, scenario, sizes, report, interrupted).await;
    if !gave_up.get() {
        return Ok(comparison?);
    }
    if !timeout.had_begun() {
        return Err(timeout.no_answer(settings));
    }
    let mut comparison = comparison?;
    let last = comparison.runs.last_mut().map(|run| run.chain_ahead.as_mut().unwrap_or(&mut run.chain));
    if let Some(outcome) = comparison.unpaired.as_mut().or(last) {
        note_servers_lost(outcome, settings.timeout);
    }
    Ok(comparison)
}

/// Records that a run ended for lack of servers, even if they are back by now.
fn note_servers_lost(outcome: &mut FleetOutcome, waited: Duration) {
    if !outcome.servers_lost {
        outcome.servers_lost = true;
        let waited = humantime::format_duration(waited);
        outcome
            .troubles
            .insert(0, format!("the servers were lost: none was there for {waited}, and the run was ended"));
    }
}

/// Returns the options of a fleet. The console itself sets no watches while a command runs clients.
fn fleet_options(settings: &ResolvedOptions) -> anyhow::Result<FleetOptions> {
    let asks_servers = settings.survey_options()?.by != ViewBy::Off;
    Ok(FleetOptions { connection: settings.connect_options()?, own_watches: 0, asks_servers })
}

/// Prints at the very end. A missing reader does not change the outcome of the run.
async fn print(text: &str, out: &mut (impl AsyncWrite + Unpin)) -> anyhow::Result<()> {
    send(out, text).await.or_else(|error| if reader_left(&error) { Ok(()) } else { Err(error) })
}

/// Returns whether the locks kept their promises and nothing is left behind. Fails when the servers
/// were lost or a fleet acquired nothing, because the answer is then unknown.
fn answer<'a>(outcomes: impl IntoIterator<Item = &'a FleetOutcome>) -> anyhow::Result<ExitAnswer> {
    let mut answer = ExitAnswer::Yes;
    for outcome in outcomes {
        if outcome.servers_lost {
            bail!(lost(outcome));
        }
        if outcome.acquisitions == 0 {
            bail!(idle(outcome));
        }
        if outcome.violations > 0 || outcome.left_behind.is_some_and(|left| left > 0) {
            answer = ExitAnswer::No;
        }
    }
    Ok(answer)
}

/// Describes a fleet that acquired nothing, and why as far as that is known.
fn idle(outcome: &FleetOutcome) -> String {
    let unknown = "others held it, or the run was too short";
    let why = outcome.troubles.first().map_or(unknown, String::as_str);
    format!("no test client acquired {}: {why}", outcome.path)
}

/// Describes why the servers were lost, and what may be left behind.
fn lost(outcome: &FleetOutcome) -> String {
    let why = outcome.troubles.first().map_or("the servers were lost", String::as_str);
    let nodes = &outcome.left_behind_nodes;
    match (outcome.left_behind, nodes.first()) {
        (Some(0), _) => why.to_owned(),
        (_, None) => format!("{why}; nodes below {} go when their sessions expire", outcome.path),
        (_, Some(first)) => {
            let more = if nodes.len() > 1 { format!(" and {} more", nodes.len() - 1) } else { String::new() };
            format!("{why}; {first}{more} may be left behind until their sessions expire")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::outcome;
    use super::*;

    #[test]
    fn a_violated_lock_and_nodes_left_behind_are_a_no() {
        let good = outcome("chain", 2);
        let code = |outcomes: &[&FleetOutcome]| answer(outcomes.iter().copied()).expect("connected fleets").code();
        assert_eq!(code(&[&good, &good]), 0);
        assert_eq!(code(&[&FleetOutcome { left_behind: None, outlived: 1, ..good.clone() }]), 0);
        assert_eq!(code(&[&good, &FleetOutcome { violations: 1, ..good.clone() }]), 1);
        assert_eq!(code(&[&FleetOutcome { left_behind: Some(1), ..good.clone() }]), 1);
        assert_eq!(ExitAnswer::Ended(2).code(), 130);
    }

    #[test]
    fn servers_that_were_lost_are_an_error_that_names_what_may_be_left() {
        let good = outcome("chain", 2);
        let node = |name: &str| good.path.child(name);
        let lost = FleetOutcome {
            servers_lost: true,
            left_behind: None,
            left_behind_nodes: vec![node("a"), node("b"), node("c")],
            troubles: vec!["the servers were lost: zk1 is silent".to_owned()],
            ..good.clone()
        };
        let said = answer([&good, &lost]).expect_err("lost").to_string();
        assert_eq!(
            said,
            "the servers were lost: zk1 is silent; /lockscope/chain/a and 2 more may be left behind until their sessions expire"
        );
        let unnamed = FleetOutcome { left_behind_nodes: Vec::new(), ..lost.clone() };
        assert!(answer([&unnamed]).expect_err("lost").to_string().contains("nodes below /lockscope/chain go when"));
        let back = FleetOutcome { left_behind: Some(0), ..unnamed };
        assert!(answer([&back]).expect_err("lost").to_string().ends_with("zk1 is silent"));
    }

    #[test]
    fn a_fleet_that_acquired_nothing_is_an_error_that_says_why() {
        let good = outcome("chain", 2);
        let idle = FleetOutcome { acquisitions: 0, left_behind: Some(1), ..good.clone() };
        let said = |idle: &FleetOutcome| answer([&good, idle]).expect_err("no acquisition").to_string();
        assert_eq!(said(&idle), "no test client acquired /lockscope/chain: others held it, or the run was too short");
        let troubled = FleetOutcome { troubles: vec!["the server is too old".to_owned()], ..idle };
        assert_eq!(said(&troubled), "no test client acquired /lockscope/chain: the server is too old");
    }

    #[tokio::test]
    async fn a_missing_reader_is_no_error() {
        let (reader, mut writer) = tokio::io::duplex(8);
        drop(reader);
        print("more than eight bytes", &mut writer).await.expect("no error without a reader");
    }
}
