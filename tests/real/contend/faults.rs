//! Faults of clients that hold or wait, and the next holder afterwards.

use std::time::Duration;

use lockscope_lab::contend::{ClientId, ClientState, FleetCommand, FleetStatus, LinkState, Scenario};
use lockscope_lock::Algorithm;

use super::fixture::{FleetFixture, client, scenario};
use crate::harness::server::Server;

/// A short session timeout, since the test waits for it.
const SESSION: Duration = Duration::from_secs(2);

/// A hold that never ends by itself.
const FOR_EVER: Duration = Duration::from_secs(3600);

fn holders(status: &FleetStatus) -> Vec<ClientId> {
    status.clients.iter().filter(|client| client.state == ClientState::Holding).map(|client| client.id).collect()
}

/// Starts three clients of which one holds and keeps the lock. Returns the holder and the next in
/// line.
async fn one_holds_two_wait(server: &Server, path: &str) -> (FleetFixture, ClientId, ClientId) {
    let scenario = Scenario { hold: FOR_EVER, session_timeout: SESSION, ..scenario(Algorithm::Chain, path, 1, 1) };
    let mut fixture = FleetFixture::start(&server.connect_string(), scenario);
    fixture.until("one that holds", |status| holders(status) == [ClientId(1)]).await;
    for id in [2, 3] {
        fixture.order(FleetCommand::Join(1));
        // A client is certainly in the queue only after two requests, one to create and one to
        // list; the third sets the watch.
        fixture
            .until("one more in the queue", |status| {
                status.clients.iter().any(|client| client.id == ClientId(id) && client.requests >= 3)
            })
            .await;
    }
    (fixture, ClientId(1), ClientId(2))
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_holder_leaves_the_next_in_line_acquires_at_once() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/leave").await;
    fixture.order(FleetCommand::Leave(holder));
    let status = fixture.until("handed over", |status| holders(status) == [next]).await;
    assert_eq!((status.totals.violations, status.totals.expired), (0, 0));
    assert!(status.clients.iter().all(|client| client.id != holder), "{status:#?}");
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_holder_crashes_the_next_acquires_only_after_the_session_expired() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/crash").await;
    let crashed_at = fixture.fleet.status().age;
    fixture.order(FleetCommand::Crash(holder));
    let crashed = fixture.until_client(holder, "crashed", |client| client.state == ClientState::Crashed).await;
    assert_eq!(client(&crashed, holder).link, LinkState::Cut);
    assert!(holders(&crashed).is_empty(), "its session lives, so nobody else holds: {crashed:#?}");
    let status = fixture.until("handed over", |status| holders(status) == [next]).await;
    // The last heartbeat may be a third of the timeout old.
    let after = client(&status, next).since.saturating_sub(crashed_at);
    assert!(after >= SESSION / 2, "{after:?}");
    assert_eq!((status.totals.violations, status.totals.outlived), (0, 0), "a dead process claims nothing");
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_waiter_crashes_the_holder_keeps_the_lock() {
    let server = Server::start();
    let (mut fixture, holder, middle) = one_holds_two_wait(&server, "/crash-waiter").await;
    fixture.order(FleetCommand::Crash(middle));
    // When the node goes, the client behind gets an event and finds that it is still not its turn.
    let status = fixture.until_client(ClientId(3), "woken", |client| client.events == 1).await;
    assert_eq!(holders(&status), [holder]);
    fixture.order(FleetCommand::Leave(holder));
    fixture.until("handed to the third", |status| holders(status) == [ClientId(3)]).await;
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_distinguish_a_frozen_holder_past_its_session_from_the_next_holder() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/freeze").await;
    fixture.order(FleetCommand::Freeze(holder));
    let frozen = fixture.until_client(holder, "frozen", |client| client.frozen).await;
    assert_eq!(
        (client(&frozen, holder).state, client(&frozen, holder).link),
        (ClientState::Holding, LinkState::Paused)
    );
    let status = fixture.until("two holders", |status| holders(status) == [holder, next]).await;
    assert_eq!((status.totals.outlived, status.totals.violations), (1, 0), "{status:#?}");
    let [overlap] = status.overlaps.as_slice() else { panic!("{status:#?}") };
    assert_eq!((overlap.first, overlap.second, overlap.outlived), (holder, next, true));
    assert!(overlap.first_token < overlap.second_token);
    fixture.order(FleetCommand::Thaw(holder));
    let thawed = fixture.until_client(holder, "aware of its loss", |client| client.expired == 1).await;
    assert_eq!(holders(&thawed), [next]);
    // The client opens a new session.
    fixture.until_client(holder, "back", |client| client.state == ClientState::Done && client.session.is_some()).await;
    let outcome = fixture.fleet.stop().await;
    assert_eq!((outcome.outlived, outcome.violations, outcome.left_behind), (1, 0, Some(0)), "{outcome:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_waiter_gets_its_turn_when_it_thaws_in_time() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/freeze-waiter").await;
    fixture.order(FleetCommand::Freeze(next));
    fixture.until_client(next, "frozen", |client| client.frozen).await;
    fixture.order(FleetCommand::Leave(holder));
    fixture.until("without its holder", |status| status.clients.len() == 2).await;
    fixture.order(FleetCommand::Thaw(next));
    let status = fixture.until("handed over", |status| !holders(status).is_empty()).await;
    // A busy machine may thaw the client too late: then its session has expired, and the third
    // client is next.
    let heir = if client(&status, next).expired == 0 { next } else { ClientId(3) };
    assert_eq!(holders(&status), [heir], "{status:#?}");
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_holder_stops_holding_before_the_next_one_acquires() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/cut").await;
    fixture.order(FleetCommand::Cut(holder));
    let reported = fixture.until("nobody that holds", |status| holders(status).is_empty()).await;
    assert_eq!(client(&reported, holder).link, LinkState::Cut);
    let status = fixture.until("handed over", |status| holders(status) == [next]).await;
    assert_eq!((status.totals.violations, status.totals.outlived), (0, 0), "{status:#?}");
    fixture.order(FleetCommand::Heal(holder));
    fixture.until_client(holder, "healed", |client| client.link == LinkState::Whole).await;
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_cut_costs_a_waiter_nothing() {
    let server = Server::start();
    let (mut fixture, holder, next) = one_holds_two_wait(&server, "/short-cut").await;
    fixture.order(FleetCommand::Cut(next));
    fixture.until_client(next, "cut", |client| client.link == LinkState::Cut).await;
    fixture.order(FleetCommand::Heal(next));
    fixture.order(FleetCommand::Leave(holder));
    let status = fixture.until("handed over", |status| !holders(status).is_empty()).await;
    let heir = if client(&status, next).expired == 0 { next } else { ClientId(3) };
    assert_eq!(holders(&status), [heir], "{status:#?}");
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_is_paid_by_each_round_trip_of_that_client_alone() {
    let server = Server::start();
    let late = Duration::from_millis(100);
    let scenario = Scenario { rounds: None, ..scenario(Algorithm::Chain, "/delay", 1, 1) };
    let mut fixture = FleetFixture::start(&server.connect_string(), scenario);
    fixture.until_client(ClientId(1), "at work", |client| client.acquisitions > 10).await;
    fixture.order(FleetCommand::Delay(ClientId(1), late));
    let delayed = fixture.until_client(ClientId(1), "delayed", |client| client.link == LinkState::Delayed).await;
    let before = client(&delayed, ClientId(1)).acquisitions;
    let status = fixture.until_client(ClientId(1), "on", |client| client.acquisitions >= before + 3).await;
    // Acquiring takes one round trip, and thus a delay in each direction.
    assert!(status.totals.waits.max >= late * 2, "{:?}", status.totals.waits);
    fixture.order(FleetCommand::Delay(ClientId(1), Duration::ZERO));
    fixture.until_client(ClientId(1), "whole", |client| client.link == LinkState::Whole).await;
    assert_eq!(fixture.fleet.stop().await.left_behind, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_that_is_dropped_leaves_no_session_and_no_node() {
    let server = Server::start();
    let (fixture, ..) = one_holds_two_wait(&server, "/dropped").await;
    drop(fixture);
    crate::harness::wait::eventually("nothing left", async || {
        let dump = server.words("dump");
        if dump.contains("/dropped") || !server.connections().is_empty() { Err(dump) } else { Ok(()) }
    })
    .await;
}
