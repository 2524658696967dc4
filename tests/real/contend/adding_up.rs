//! The counts of clients, links and servers agree.

use std::time::Duration;

use lockscope_lab::contend::{FleetOutcome, Scenario};
use lockscope_lock::Algorithm;

use super::fixture::{FleetFixture, all_algorithms, scenario};
use crate::harness::server::Server;

fn adds_up(outcome: &FleetOutcome, acquisitions: u64) {
    assert_eq!(outcome.acquisitions, acquisitions, "{outcome:#?}");
    assert_eq!((outcome.violations, outcome.outlived, outcome.expired_sessions), (0, 0, 0), "{outcome:#?}");
    assert_eq!(outcome.left_behind, Some(0), "{outcome:#?}");
    let events = &outcome.watch_events;
    assert_eq!(events.delivered, events.on_the_wire, "{outcome:#?}");
    let server = outcome.server.expect("the server counts");
    assert_eq!(events.delivered, server.children + server.deleted, "{outcome:#?}");
    assert_eq!(outcome.wait_ms.count, acquisitions);
    assert_eq!(outcome.hold_ms.count, acquisitions);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_links_and_servers_count_the_same_events_for_every_lock() {
    let server = Server::start();
    for algorithm in all_algorithms() {
        let path = format!("/adding-up/{}", algorithm.name());
        let outcome = FleetFixture::start(&server.connect_string(), scenario(algorithm, &path, 10, 20)).finish().await;
        adds_up(&outcome, 200);
    }
    assert!(!server.words("dump").contains("/adding-up"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_herd_costs_an_event_for_each_client_and_acquisition_and_a_chain_only_one() {
    let server = Server::start();
    let run = async |algorithm| {
        let path = format!("/cost/{algorithm:?}");
        FleetFixture::start(&server.connect_string(), scenario(algorithm, &path, 40, 10)).finish().await
    };
    let (herd, chain) = (run(Algorithm::Herd).await, run(Algorithm::Chain).await);
    adds_up(&herd, 400);
    adds_up(&chain, 400);
    assert!(herd.watch_events.per_acquisition > 20.0, "{herd:#?}");
    assert!(chain.watch_events.per_acquisition <= 1.0, "{chain:#?}");
    assert_eq!(herd.server.expect("it counts").deleted, 0);
    assert_eq!(chain.server.expect("it counts").children, 0);
    // The model is an upper bound for the herd, except for the holders' own events, which it leaves
    // out.
    let events = &herd.watch_events;
    assert!(events.delivered <= events.modelled_herd + herd.acquisitions, "{herd:#?}");
    // A client that asks during a release may or may not still find the released node.
    assert!(chain.watch_events.delivered.abs_diff(chain.watch_events.modelled_chain) <= 40, "{chain:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_counts_of_a_thousand_clients_agree_too() {
    let server = Server::start();
    // No session may expire while a busy machine starts the other clients.
    let scenario =
        Scenario { session_timeout: Duration::from_secs(40), ..scenario(Algorithm::Chain, "/many", 1000, 2) };
    let outcome = FleetFixture::start(&server.connect_string(), scenario).finish().await;
    adds_up(&outcome, 2000);
}
