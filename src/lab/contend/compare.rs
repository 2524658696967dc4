//! Compares a herd, a chain and a look-ahead chain in several sizes, one fleet after the other, and
//! concludes in a sentence from which size on a herd costs more than it is worth.

use serde::Serialize;

use super::{ContendError, Fleet, FleetOptions, FleetOutcome, FleetStatus, Scenario};
use lockscope_lock::Algorithm;
use lockscope_model::text::human::{plural, ratio};

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
pub struct CompareProgress<'a> {
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
    mut on_progress: impl FnMut(&CompareProgress<'_>),
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
                        Ok(status) => on_progress(&CompareProgress { fleet, of, status: &status }),
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

/// The smallest ratio that is not shown as 1.
const MIN_RATIO: f64 = 1.05;

impl Comparison {
    /// Returns a sentence that names the number of clients from which a herd costs more than it is
    /// worth. What it costs is told of the largest size, in which clients wait most.
    pub fn conclusion(&self) -> String {
        let Some(largest) = self.runs.iter().max_by_key(|run| run.clients) else {
            return "The run ended before a herd and a chain of the same size had run: there is nothing to compare."
                .to_owned();
        };
        let from = self.herd_costs_more_from;
        let Some(run) = self.runs.iter().find(|run| Some(run.clients) == from) else {
            let events = events(largest).map_or_else(String::new, |events| format!(", but {events}"));
            return format!("Up to {} a herd is not slower than a chain here{events}.", clients(largest));
        };
        // A ratio that rounds to 1 is not a reason.
        let faster = largest.throughput_ratio.filter(|times| *times >= MIN_RATIO).map(ratio);
        let faster = faster.map(|times| format!("the chain acquires {times} times as often"));
        let reasons: Vec<String> = events(largest).into_iter().chain(faster).collect();
        let costs = match &*reasons {
            [] => String::new(),
            reasons => format!(" With {}, {}.", clients(largest), reasons.join(", and ")),
        };
        format!("From {} on, a herd costs more than it is worth here.{costs}", clients(run))
    }
}

fn events(run: &ComparedFleets) -> Option<String> {
    let times = ratio(run.watch_event_ratio?);
    let of_chain = run.chain.watch_events.per_acquisition;
    let spread = run.herd.watch_events.spread.map(|spread| spread.map(|events| ratio(events / of_chain)));
    let spread = spread.filter(|[least, greatest]| least != greatest);
    let within =
        spread.map_or_else(String::new, |[least, greatest]| format!(" ({least} to {greatest} within the run)"));
    Some(format!("each acquisition causes {times} times as many watch events as in a chain{within}"))
}

fn clients(run: &ComparedFleets) -> String {
    plural(run.clients, "client", "clients")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{FleetOutcome, FleetStatus, Scenario, WatchEventCounts};
    use super::*;
    use lockscope_base::znode::ZnodePath;
    use lockscope_lock::Algorithm;

    /// Returns the outcome of a fleet with this many acquisitions a second and watch events an
    /// acquisition.
    fn outcome(clients: u32, per_second: f64, per_acquisition: f64, spread: Option<[f64; 2]>) -> FleetOutcome {
        let scenario = Scenario::new(Algorithm::Herd, ZnodePath::root().child("l"), clients);
        FleetOutcome {
            acquisitions_per_second: per_second,
            watch_events: WatchEventCounts { per_acquisition, spread, ..WatchEventCounts::default() },
            ..FleetStatus::new(&Arc::new(scenario)).so_far()
        }
    }

    /// Returns a comparison in which a client of the chain seldom waits in the smallest size.
    fn comparison() -> Comparison {
        let run = |clients: u32, herd: (f64, f64, Option<[f64; 2]>), chain: (f64, f64)| {
            let herd = outcome(clients, herd.0, herd.1, herd.2);
            ComparedFleets::of(clients, herd, outcome(clients, chain.0, chain.1, None), None)
        };
        Comparison::of(vec![
            run(2, (900.0, 1.0, None), (1_000.0, 0.03)),
            run(100, (160.0, 96.0, Some([80.9, 108.2])), (1_000.0, 1.0)),
            run(10, (800.0, 9.0, Some([8.0, 10.0])), (1_000.0, 1.0)),
        ])
    }

    #[test]
    fn the_largest_size_is_quoted_with_its_spread() {
        assert_eq!(
            comparison().conclusion(),
            "From 2 clients on, a herd costs more than it is worth here. With 100 clients, each acquisition causes 96.0 \
             times as many watch events as in a chain (80.9 to 108 within the run), and the chain acquires 6.2 times as \
             often."
        );
    }

    #[test]
    fn a_chain_in_which_nobody_waited_has_no_ratio() {
        let comparison = comparison();
        assert_eq!(comparison.runs[0].watch_event_ratio, None);
        assert_eq!(comparison.runs[1].watch_event_ratio, Some(96.0));
        let smallest = Comparison::of(vec![comparison.runs[0].clone()]);
        assert_eq!(
            smallest.conclusion(),
            "From 2 clients on, a herd costs more than it is worth here. With 2 clients, the chain acquires 1.1 times as \
             often."
        );
    }
}
