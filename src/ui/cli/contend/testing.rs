//! Outcomes and a status made by hand, for tests.

use std::sync::Arc;
use std::time::Duration;

use crate::testing::path;
use lockscope_lab::contend::{
    ComparedFleets, Comparison, FleetOutcome, FleetStatus, LinkBytes, Quantiles, RequestCount, Scenario, ServerEvents,
    WatchEventCounts,
};
use lockscope_lock::Algorithm;

/// Returns the outcome of a fleet; a herd slows down with the square of its size.
pub(super) fn outcome(recipe: &'static str, clients: u32) -> FleetOutcome {
    let acquisitions = 1000;
    let is_herd = recipe == "herd";
    let (events, per_second, requests) = match recipe {
        "herd" => (acquisitions * u64::from(clients) + 115, 40_000.0 / f64::from(clients).powi(2), 5.0),
        "chain-ahead" => (2 * acquisitions - 3, 2400.0, 6.0),
        _ => (acquisitions - 1, 1234.5, 5.0),
    };
    let millis = Duration::from_millis;
    let waits =
        Quantiles { count: acquisitions, p50: millis(40), p90: millis(52), p99: millis(410), max: millis(1250) };
    FleetOutcome {
        recipe,
        path: path(&format!("/lockscope/{recipe}")),
        clients,
        rounds: Some(20),
        seed: 42,
        acquisitions,
        elapsed: millis(3210),
        acquisitions_per_second: per_second,
        watch_events: WatchEventCounts {
            delivered: events,
            per_acquisition: super::figures::per(events, acquisitions),
            on_the_wire: events,
            modelled_herd: acquisitions * u64::from(clients) * 2,
            modelled_chain: acquisitions - 1,
            woken_in_vain: events - events.min(acquisitions - 1),
            coalesced: is_herd.then_some(0.5),
            spread: is_herd.then(|| [0.9, 1.1].map(|part| part * f64::from(clients))),
        },
        requests: RequestCount { total: 5000, per_acquisition: requests },
        bytes: LinkBytes { up: 123_456, down: 1_234_567 },
        wait_ms: waits,
        hold_ms: Quantiles { p50: Duration::ZERO, p90: Duration::from_micros(430), ..waits },
        server: Some(if is_herd {
            ServerEvents { children: events, deleted: 0 }
        } else {
            ServerEvents { children: 0, deleted: events }
        }),
        left_behind: Some(0),
        accepted_writes: 2 * acquisitions,
        ..FleetStatus { finished: true, ..FleetStatus::new(&scenario(clients)) }.so_far()
    }
}

/// Returns the status of a fleet of three clients that has contended for `elapsed`.
pub(super) fn status(connected: u32, elapsed: Duration) -> FleetStatus {
    FleetStatus { elapsed, connected, ..FleetStatus::new(&scenario(3)) }
}

fn scenario(clients: u32) -> Arc<Scenario> {
    Arc::new(Scenario::new(Algorithm::Chain, path("/lock"), clients))
}

/// Returns the outcomes of a herd, a chain and a look-ahead chain of this size.
fn run(clients: u32) -> ComparedFleets {
    let (herd, chain) = (outcome("herd", clients), outcome("chain", clients));
    let chain_ahead = Some(outcome("chain-ahead", clients));
    ComparedFleets {
        clients,
        throughput_ratio: Some(chain.acquisitions_per_second / herd.acquisitions_per_second),
        watch_event_ratio: Some(herd.watch_events.per_acquisition / chain.watch_events.per_acquisition),
        look_ahead_ratio: chain_ahead
            .as_ref()
            .map(|ahead: &FleetOutcome| ahead.acquisitions_per_second / chain.acquisitions_per_second),
        herd,
        chain,
        chain_ahead,
    }
}

pub(super) fn comparison(sizes: &[u32], herd_costs_more_from: Option<u32>) -> Comparison {
    let runs = sizes.iter().copied().map(run).collect();
    Comparison { schema: 1, runs, unpaired: None, herd_costs_more_from, interrupted: false }
}
