//! Compares a herd, a chain and a look-ahead chain in several sizes, one fleet after the other.

use serde::Serialize;

use super::{ContendError, Fleet, FleetOptions, FleetOutcome, FleetStatus, Scenario};
use lockscope_lock::Algorithm;

/// The outcomes of a herd, a chain and a look-ahead chain of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFleets {
    /// The number of clients of each fleet.
    pub clients: u32,
    /// The herd's figures.
    pub herd: FleetOutcome,
    /// The chain's figures.
    pub chain: FleetOutcome,
    /// The chain's acquisitions per second divided by the herd's; `None` if one of them made none.
    pub throughput_ratio: Option<f64>,
    /// The herd's watch events per acquisition divided by the chain's; `None` if the herd had none,
    /// or if hardly anybody waited in the chain, so that the ratio would say nothing.
    pub watch_event_ratio: Option<f64>,
    /// The look-ahead chain's figures; `None` if the comparison ended before.
    pub chain_ahead: Option<FleetOutcome>,
    /// The look-ahead chain's acquisitions per second divided by the chain's; `None` if one of them
    /// made none.
    pub look_ahead_ratio: Option<f64>,
}

/// The outcome of a comparison. `lockscope compare` prints it as JSON: fields are added, never
/// renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of the JSON's format.
    pub schema: u32,
    /// The outcomes for each number of clients, in the requested order.
    pub runs: Vec<ComparedFleets>,
    /// A herd without a chain to compare, because the comparison ended before.
    pub unpaired: Option<FleetOutcome>,
    /// The smallest number of clients from which the chain was faster in every larger run too;
    /// `None` if the herd was not slower in the largest run.
    pub herd_costs_more_from: Option<u32>,
    /// Whether the comparison ended before all runs were done.
    pub interrupted: bool,
}

/// The progress of a comparison.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// The number of the running fleet, from 1.
    pub fleet: usize,
    /// The number of all fleets.
    pub of: usize,
    /// The status of the running fleet.
    pub status: &'a FleetStatus,
}

/// The compared algorithms, in the order of their runs.
const COMPARED: [Algorithm; 3] = [Algorithm::Herd, Algorithm::Chain, Algorithm::ChainAhead];

/// The default minimum of acquisitions of each client, and of all clients together: enough for
/// steady figures, and few enough for a herd of hundreds to end soon.
const DEFAULT_ACQUISITIONS: (u32, u32) = (4, 400);

/// Runs a herd, a chain and a look-ahead chain in each of the sizes, one fleet after the other.
///
/// The scenario's own algorithm and number of clients do not count. Each fleet uses a child of the
/// scenario's path, named after its algorithm. Without `rounds`, each client makes 4 acquisitions,
/// or more if that gives fewer than 400 in all.
///
/// `on_progress` is called at most ten times a second. When `interrupted` resolves, the running
/// fleet ends with its figures so far, and no other starts. Not cancel safe: if the future is
/// dropped, the clients end in the background and the figures are lost.
///
/// # Errors
///
/// The error of the first fleet that cannot run.
pub async fn compare(
    options: &FleetOptions,
    scenario: &Scenario,
    sizes: &[u32],
    mut on_progress: impl FnMut(&Progress<'_>),
    interrupted: impl Future<Output = ()>,
) -> Result<Comparison, ContendError> {
    let mut interrupted = std::pin::pin!(interrupted);
    let (mut runs, mut unpaired) = (Vec::new(), None);
    let (mut fleet, of) = (0, sizes.len() * COMPARED.len());
    let mut stopped = false;
    for clients in sizes.iter().copied() {
        let mut outcomes = Vec::new();
        for algorithm in COMPARED {
            fleet += 1;
            let path = scenario.path.child(algorithm.name());
            let rounds = scenario
                .rounds
                .unwrap_or_else(|| DEFAULT_ACQUISITIONS.0.max(DEFAULT_ACQUISITIONS.1.div_ceil(clients.max(1))));
            let scenario = Scenario { algorithm, path, clients, rounds: Some(rounds), ..scenario.clone() };
            let mut running = Fleet::start(options.clone(), scenario)?;
            let done = loop {
                tokio::select! {
                    () = &mut interrupted, if !stopped => {
                        stopped = true;
                        break Ok(());
                    }
                    changed = running.changed() => match changed {
                        Ok(status) if status.finished => break Ok(()),
                        Ok(status) => on_progress(&Progress { fleet, of, status: &status }),
                        Err(error) => break Err(error),
                    }
                }
            };
            outcomes.push(running.stop().await);
            done?;
            if stopped {
                break;
            }
        }
        let mut outcomes = outcomes.into_iter();
        match (outcomes.next(), outcomes.next()) {
            (Some(herd), Some(chain)) => runs.push(ComparedFleets::of(clients, herd, chain, outcomes.next())),
            (alone, _) => unpaired = alone,
        }
        if stopped {
            break;
        }
    }
    Ok(Comparison { unpaired, interrupted: stopped, ..Comparison::of(runs) })
}

impl Comparison {
    /// Creates the outcome from these runs.
    pub fn of(runs: Vec<ComparedFleets>) -> Self {
        Self { schema: 1, herd_costs_more_from: tipping_point(&runs), runs, unpaired: None, interrupted: false }
    }
}

/// Minimum number of a chain's watch events an acquisition for a ratio. A chain in which each client
/// waits has one.
const MIN_CHAIN_EVENTS: f64 = 0.5;

impl ComparedFleets {
    /// Creates the outcome of the fleets of one size.
    pub fn of(clients: u32, herd: FleetOutcome, chain: FleetOutcome, chain_ahead: Option<FleetOutcome>) -> Self {
        let ratio = |above: f64, below: f64| (above > 0.0 && below > 0.0).then(|| above / below);
        Self {
            clients,
            throughput_ratio: ratio(chain.acquisitions_per_second, herd.acquisitions_per_second),
            watch_event_ratio: ratio(herd.watch_events.per_acquisition, chain.watch_events.per_acquisition)
                .filter(|_| chain.watch_events.per_acquisition >= MIN_CHAIN_EVENTS),
            look_ahead_ratio: chain_ahead
                .as_ref()
                .and_then(|ahead| ratio(ahead.acquisitions_per_second, chain.acquisitions_per_second)),
            herd,
            chain,
            chain_ahead,
        }
    }

    /// Returns the outcomes of the fleets that ran, in order.
    pub fn outcomes(&self) -> impl Iterator<Item = &FleetOutcome> {
        [&self.herd, &self.chain].into_iter().chain(&self.chain_ahead)
    }
}

/// Returns the size from which the herd was slower in all larger runs too.
fn tipping_point(runs: &[ComparedFleets]) -> Option<u32> {
    let mut by_size: Vec<&ComparedFleets> = runs.iter().collect();
    by_size.sort_by_key(|run| run.clients);
    let slower = |run: &&&ComparedFleets| run.throughput_ratio.is_some_and(|ratio| ratio > 1.0);
    by_size.iter().rev().take_while(slower).last().map(|run| run.clients)
}
