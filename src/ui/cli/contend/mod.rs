//! `lockscope contend` and `lockscope compare`: test clients, and their costs.
//!
//! Signals and a closed pipe end a run early. Its figures are still printed, once the clients and
//! their nodes are gone. Nothing is printed before that, except the progress on a terminal, and a
//! warning where the clients' sessions may expire while a member has no leader.
//!
//! A run waits so long for sessions before it begins, and for servers that are lost in the middle,
//! as [`ServerTimeout`] says.

mod figures;
mod options;
mod plot_page;

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::bail;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time;
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::options::Format;
use super::output;
use super::output::{ExitAnswer, ProgressLine, json, note, on_signal, send, without_reader};
use super::resolved::ResolvedOptions;
use figures::clients;
use lockscope_base::time::now;
use lockscope_lab::contend;
use lockscope_lab::contend::{
    CompareProgress, ComparedFleets, Comparison, Fleet, FleetOptions, FleetOutcome, FleetStatus, Scenario,
};
use lockscope_live::deadline::until;
use lockscope_live::zk;
use lockscope_live::zk::four_letter::FourLetterWord;
use lockscope_live::zk::survey::ViewBy;
use lockscope_live::zk::{ConnectOptions, Dialer, SessionRole, close_session};
use lockscope_model::server_view::SyncSettings;
use lockscope_model::text::human::{count, exact_seconds, latency, rate};
use options::PlotFile;
use plot_page::{RunConditions, plot_page, server_versions};

pub use options::{CompareOptions, ContendOptions};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod testing;

/// Runs one fleet and prints its outcome.
pub async fn contend(
    settings: &ResolvedOptions,
    options: &ContendOptions,
    out: &mut (impl AsyncWrite + Unpin),
) -> anyhow::Result<ExitAnswer> {
    let scenario = options.scenario(settings.session_timeout)?;
    let fleet = fleet_options(settings)?;
    on_signal(async |stop: CancellationToken| {
        note_before(settings, &fleet, &scenario, &stop).await;
        let outcome = play(settings, fleet, scenario, options.stop_after, stop_requested(&stop)).await?;
        let text = match settings.format {
            Format::Json => json(&outcome)?,
            Format::Table => figures::figures_table(&outcome),
        };
        print(&text, out).await?;
        answer([&outcome])
    })
    .await
}

/// Runs herds and chains and prints them side by side.
pub async fn compare(
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
        let comparison = play_all(settings, &fleet, &scenario, &sizes, stop_requested(&stop)).await?;
        let text = match settings.format {
            Format::Json => json(&comparison)?,
            Format::Table => figures::comparison_table(&comparison, settings.ascii),
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
        () = stop_requested(stop) => {}
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
                    line.show(Instant::now(), || of(&status, None));
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
    let report = |progress: &CompareProgress<'_>| {
        timeout.update(progress.fleet, progress.status);
        line.show(Instant::now(), || of(progress.status, Some((progress.fleet, progress.of))));
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
    without_reader(send(out, text).await)
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

/// Returns the progress of a fleet. `place` is its number among the fleets, from 1, and the number
/// of fleets.
fn of(status: &FleetStatus, place: Option<(usize, usize)>) -> String {
    let scenario = &status.scenario;
    let place = place.map_or_else(String::new, |(fleet, of)| format!("fleet {fleet} of {of}, "));
    let start = format!("{place}{}: ", scenario.algorithm.name());
    if status.elapsed.is_zero() {
        return format!("{start}{} of {} connected", count(status.connected), clients(scenario.clients));
    }
    let made = count(status.totals.acquisitions);
    let all = scenario.rounds.map(|rounds| u64::from(rounds) * u64::from(scenario.clients));
    let of = all.map_or_else(String::new, |all| format!(" of {}", count(all)));
    let acquisitions = if all.unwrap_or(status.totals.acquisitions) == 1 { "acquisition" } else { "acquisitions" };
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let per_second = status.totals.acquisitions as f64 / status.elapsed.as_secs_f64();
    format!(
        "{start}{}, {made}{of} {acquisitions}, {}/s, {}",
        clients(status.connected),
        rate(per_second),
        latency(status.elapsed)
    )
}

/// How often to check whether standard output still has a reader.
const READER_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Waits until the token is cancelled or nobody reads standard output any more.
async fn stop_requested(token: &CancellationToken) {
    let mut checks = interval(READER_CHECK_INTERVAL);
    let gone = async {
        while !reader_is_gone(io::stdout()) {
            checks.tick().await;
        }
    };
    tokio::select! {
        () = token.cancelled() => {}
        () = gone => {}
    }
}

/// Returns whether a pipe has lost its reader, or a terminal was closed.
fn reader_is_gone(out: impl AsFd) -> bool {
    // Errors and hang-ups are always reported.
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

/// The last status of the running fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FleetState {
    /// The number of the fleet in the run.
    fleet: usize,
    connected: u32,
    /// The wanted number of clients.
    wanted: u32,
    has_begun: bool,
    /// Whether the servers have been lost for longer than the limit.
    is_lost: bool,
    trouble: Option<String>,
}

/// Expires when no further client gets a session, or, once the clients contend, when the servers
/// are lost.
struct ServerTimeout {
    limit: Duration,
    state: watch::Sender<FleetState>,
}

impl ServerTimeout {
    /// Creates a timeout. Each further session must come within `limit`, and the servers may be
    /// lost for `limit` in the middle of a run.
    fn new(limit: Duration) -> Self {
        Self { limit, state: watch::Sender::default() }
    }

    /// Takes the status of a fleet into account.
    fn update(&self, fleet: usize, status: &FleetStatus) {
        let has_begun = !status.elapsed.is_zero();
        let is_lost = status.servers_lost_for.is_some_and(|lost| lost >= self.limit);
        self.state.send_if_modified(|state| {
            let is_progress = (state.fleet, state.connected, state.has_begun, state.is_lost)
                != (fleet, status.connected, has_begun, is_lost);
            *state = FleetState {
                fleet,
                connected: status.connected,
                wanted: status.scenario.clients,
                has_begun,
                is_lost,
                trouble: status.clients.iter().find_map(|client| client.trouble.clone()),
            };
            is_progress
        });
    }

    /// Resolves when no session came, or no server was there, for too long. Call it once for the
    /// whole run: each call restarts the time.
    async fn expired(&self) {
        let mut state = self.state.subscribe();
        loop {
            let (waits, is_lost) = {
                let state = state.borrow_and_update();
                (!state.has_begun, state.has_begun && state.is_lost)
            };
            if is_lost {
                return;
            }
            // The sender belongs to `self`, so it stays alive.
            if waits && time::timeout(self.limit, state.changed()).await.is_err() {
                return;
            }
            if !waits && state.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns whether the clients have contended, so that there are figures to print.
    fn had_begun(&self) -> bool {
        self.state.borrow().has_begun
    }

    /// Returns the error that the servers did not answer, with the reason.
    fn no_answer(&self, settings: &ResolvedOptions) -> anyhow::Error {
        let FleetState { connected, wanted, trouble, .. } = self.state.borrow().clone();
        let why = trouble.unwrap_or_else(|| format!("{} is silent", settings.connect));
        let got =
            if connected == 0 { "no test client".to_owned() } else { format!("{connected} of {wanted} test clients") };
        let hint = if connected == 0 { settings.how_to_name_servers() } else { "" };
        output::no_answer(self.limit, format_args!("{got} got a session: {why}{hint}"))
    }
}

/// The longest wait for the information that the warning needs. A server that hangs is given up
/// earlier.
const MAX_NOTE_WAIT: Duration = Duration::from_secs(5);

/// Warns on stderr when the clients' sessions are too short for the ensemble's settings. Prints
/// nothing when the servers do not report the settings or are not asked.
async fn note_short_sessions(fleet: &FleetOptions, scenario: &Scenario, max_wait: Duration) {
    let sentence = timeout(max_wait.min(MAX_NOTE_WAIT), find_short_sessions(fleet, scenario.session_timeout)).await;
    if let Ok(Some(sentence)) = sentence {
        note(&sentence);
    }
}

async fn find_short_sessions(fleet: &FleetOptions, asked: Duration) -> Option<String> {
    if !fleet.asks_servers {
        return None;
    }
    let dialer = Dialer::new(&fleet.connection).await.ok()?;
    let answers = dialer.ask_each(FourLetterWord::Conf).await;
    let settings = answers.into_iter().filter_map(|(_, answer)| SyncSettings::from_conf(&answer.ok()?.text));
    let settings = settings.max_by_key(|settings| settings.safe_session_timeout())?;
    // The servers bound the timeout, so only a session shows the real value.
    let (session_timeout, role) = (asked, SessionRole::Client);
    let options = ConnectOptions { session_timeout, role, ..fleet.connection.clone() };
    let session = zk::connect(&options).await.ok()?;
    let negotiated = session.session_timeout();
    close_session(session).await;
    sentence(settings, asked, negotiated)
}

/// Returns the warning for sessions with the `negotiated` timeout, when `asked` was requested;
/// `None` when they are long enough.
fn sentence(settings: SyncSettings, asked: Duration, negotiated: Duration) -> Option<String> {
    let safe = settings.safe_session_timeout();
    if negotiated >= safe {
        return None;
    }
    let enough = format!("{}s", safe.as_millis().div_ceil(1000));
    let remedy = if asked < safe {
        format!("use --session-timeout {enough} or longer")
    } else {
        format!("the servers allow no longer ones: set their maxSessionTimeout to {enough} or longer")
    };
    Some(format!(
        "Sessions of {} are shorter than {}: a member that loses its leader keeps its clients for up to {} (syncLimit × \
         tickTime), so two clients may hold at once meanwhile; {remedy}.",
        exact_seconds(negotiated),
        exact_seconds(safe),
        exact_seconds(settings.keeps_clients_for()),
    ))
}
