//! Test clients in different places: over TLS, below a chroot, beside an observer, on servers that
//! limit connections.

use std::time::Duration;

use lockscope_lab::contend::{ContendError, Fleet, FleetOptions, Scenario, compare};
use lockscope_live::observe::Observer;
use lockscope_live::zk::{ConnectOptions, TlsFiles};
use lockscope_lock::Algorithm;
use lockscope_model::queue::{Change, LockTable};

use super::fixture::{FleetFixture, options, scenario};
use crate::harness::relay::{Fault, Place, Relay, Then};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::observing;

#[tokio::test(flavor = "multi_thread")]
async fn the_counts_agree_over_tls_and_below_a_chroot() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    zk::make(&zk::connect(&server.connect_string()).await, ["/rooms".to_owned(), "/rooms/one".to_owned()]).await;
    let certificates = server.certificates();
    let tls = TlsFiles {
        ca: certificates.authority.clone(),
        cert: Some(certificates.client.clone()),
        key: Some(certificates.client_key.clone()),
    };
    let connect = format!("{}/rooms/one", server.secure_connect_string()).replace("127.0.0.1", "localhost");
    let connection = ConnectOptions { connect, tls: Some(tls), ..options("").connection };
    let options = FleetOptions { connection, own_watches: 0, asks_servers: true };
    let fleet = Fleet::start(options, scenario(Algorithm::Chain, "/deep/lock", 5, 10)).expect("a sound scenario");
    let outcome = FleetFixture { fleet }.finish().await;
    assert_eq!((outcome.acquisitions, outcome.violations, outcome.left_behind), (50, 0, Some(0)), "{outcome:#?}");
    assert_eq!(outcome.watch_events.delivered, outcome.watch_events.on_the_wire, "{outcome:#?}");
    let server_says = outcome.server.expect("it answers over TLS too");
    assert_eq!(outcome.watch_events.delivered, server_says.deleted, "{outcome:#?}");
    // The parents that the fleet created are removed with it.
    let client = zk::connect(&server.connect_string()).await;
    assert_eq!(client.list_children("/rooms/one").await.expect("it is there"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn parents_deleted_by_another_client_during_creation_are_created_again() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    // From the lock up to the existing root, and down again.
    for request in 1..=5 {
        let relay = Relay::start(&server.connect_string()).await;
        relay.arm(&[Fault { place: Place::BeforeRequest(request), then: Then::Stall }]);
        let path = format!("/stage{request}/scene/lock");
        let fixture = FleetFixture::start(&relay.connect_string(), scenario(Algorithm::Chain, &path, 2, 2));
        eventually("the request", async || if relay.stalled() { Ok(()) } else { Err(request) }).await;
        for made in [format!("/stage{request}/scene"), format!("/stage{request}")] {
            let _ = client.delete(&made, None).await;
        }
        relay.resume();
        let outcome = fixture.finish().await;
        assert_eq!((outcome.acquisitions, outcome.left_behind), (4, Some(0)), "request {request}: {outcome:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_lock_is_created_with_its_parents_and_nothing_remains() {
    let server = Server::start();
    let path = "/level".repeat(100);
    let outcome = FleetFixture::start(&server.connect_string(), scenario(Algorithm::Chain, &path, 1, 1)).finish().await;
    assert_eq!((outcome.acquisitions, outcome.left_behind), (1, Some(0)), "{outcome:#?}");
    let client = zk::connect(&server.connect_string()).await;
    assert_eq!(client.list_children("/").await.expect("it is there"), ["zookeeper"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_consoles_own_watch_is_subtracted_from_the_servers_count() {
    let server = Server::start();
    let connection = options(&server.connect_string()).connection;
    let mut observer = Observer::start(observing(connection.clone()));
    while !observer.next().await.expect("it runs").iter().any(|seen| seen.change == Change::Synced) {}
    let options = FleetOptions { connection, own_watches: 1, asks_servers: true };
    let fleet = Fleet::start(options, scenario(Algorithm::Chain, "/watched", 5, 20)).expect("a sound scenario");
    let outcome = FleetFixture { fleet }.finish().await;
    assert_eq!(outcome.server.expect("it counts").deleted, outcome.watch_events.delivered, "{outcome:#?}");
    observer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_and_the_clients_model_the_same_costs() {
    let server = Server::start();
    let connection = options(&server.connect_string()).connection;
    let mut observer = Observer::start(observing(connection.clone()));
    let options = FleetOptions { connection, own_watches: 1, asks_servers: true };
    // A client that has released is in the queue again before the next release, as the model
    // assumes, even on a busy machine.
    let hold = Duration::from_millis(10);
    let scenario = Scenario { hold, ..scenario(Algorithm::Chain, "/modelled", 10, 30) };
    let fleet = Fleet::start(options, scenario).expect("a sound scenario");
    let mut fixture = FleetFixture { fleet };
    let (mut table, mut shown) = (LockTable::new([]), (0, 0));
    let outcome = loop {
        tokio::select! {
            seen = observer.next() => for seen in seen.expect("it runs") {
                for happening in table.apply(seen.change, seen.at) {
                    shown.0 += happening.watch_events.herd;
                    shown.1 += happening.watch_events.chain;
                }
            },
            status = fixture.fleet.changed() => if status.expect("it runs").finished {
                break fixture.fleet.stop().await;
            },
        }
    };
    observer.stop().await;
    let events = &outcome.watch_events;
    let close = |shown: u64, modelled: u64| shown.abs_diff(modelled) * 5 <= modelled;
    assert!(close(shown.0, events.modelled_herd) && close(shown.1, events.modelled_chain), "{shown:?} {outcome:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_at_their_connection_limit_are_reported_with_what_to_do() {
    let server = Settings::default().line("maxClientCnxns=3").start();
    let connect = server.connect_string();
    // The fleet's own session takes the last free connection. When several connections open in one
    // burst, the server accepts more than its limit, since it counts them later.
    let _sessions = [zk::connect(&connect).await, zk::connect(&connect).await];
    let mut fleet = Fleet::start(options(&connect), scenario(Algorithm::Chain, "/full", 6, 1)).expect("a scenario");
    let error = loop {
        match fleet.changed().await {
            Err(error) => break error,
            Ok(status) => assert!(!status.finished, "{status:#?}"),
        }
    };
    let ContendError::Clients { asked: 6, .. } = &error else { panic!("{error:?}") };
    assert!(error.to_string().contains("maxClientCnxns"), "{error}");
    assert_eq!(fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_counts_each_size_and_says_from_which_size_the_herd_was_slower() {
    let server = Server::start();
    let base = scenario(Algorithm::Chain, "/compared", 1, 10);
    let mut reported = 0;
    let comparison =
        compare(&options(&server.connect_string()), &base, &[2, 20], |_| reported += 1, std::future::pending())
            .await
            .expect("it runs");
    let sizes: Vec<u32> = comparison.runs.iter().map(|run| run.clients).collect();
    assert_eq!((sizes.as_slice(), comparison.interrupted), ([2, 20].as_slice(), false));
    assert!(reported > 0);
    assert!(comparison.runs[1].watch_event_ratio.is_some_and(|ratio| ratio > 10.0), "{comparison:#?}");
    // The speed of each depends on the load of the machine.
    let slower_from =
        comparison.runs.iter().rev().take_while(|run| run.throughput_ratio.is_some_and(|ratio| ratio > 1.0));
    assert_eq!(comparison.herd_costs_more_from, slower_from.last().map(|run| run.clients), "{comparison:#?}");
    assert!(!server.words("dump").contains("/compared"));
}
