//! The conclusion of a comparison, as a sentence. Pure.

use super::{ComparedFleets, Comparison};
use lockscope_model::text::human::{plural, ratio};

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
