//! Stepped fleets: which client goes on, which clients that wakes, and the trace of both.

use std::time::Duration;

use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetCommand, FleetStatus, NextStep, Scenario, TraceStep,
};
use lockscope_lock::{Access, Algorithm};

use super::fixture::{all_algorithms, client, scenario};
use super::step_fixture::{Segment, SteppedFleet, add_up, holds};
use crate::harness::server::Server;

/// Longer than any test: clients release only at their step.
const FOR_EVER: Duration = Duration::from_secs(3600);

const CLIENTS: u32 = 5;

fn endless(algorithm: Algorithm, path: &str, clients: u32) -> Scenario {
    let session_timeout = Duration::from_secs(40);
    Scenario { rounds: None, hold: FOR_EVER, session_timeout, ..scenario(algorithm, path, clients, 1) }
}

/// Checks which clients the first release woke, when all others were waiting.
fn check_first_release(algorithm: Algorithm, segment: &Segment) {
    let waited = segment.waited();
    let woken = segment.woken();
    let woken: Vec<ClientId> = waited.iter().copied().filter(|id| woken.contains(id)).collect();
    match algorithm {
        Algorithm::Chain | Algorithm::SharedChain(_) => assert_eq!(woken, waited[..1], "{segment:#?}"),
        Algorithm::ChainAhead => assert_eq!(woken, waited[..2], "{segment:#?}"),
        // The client that waits for the lease gets it, and then the next client waits for a lease.
        Algorithm::Semaphore(_) => assert_eq!(segment.acquired(), [waited_for_lease(segment)], "{segment:#?}"),
        _ => assert_eq!(woken, waited, "{segment:#?}"),
    }
}

fn waited_for_lease(segment: &Segment) -> ClientId {
    waits_for_lease(&segment.before).expect("one waits for the lease")
}

/// Returns whether all leases of a semaphore are held and the head of its queue waits for one.
///
/// A client that is about to get a free lease waits for it for a moment, too.
fn leases_are_given(algorithm: Algorithm, status: &FleetStatus) -> bool {
    let Algorithm::Semaphore(leases) = algorithm else { return true };
    let held = status.clients.iter().filter(|client| client.state == ClientState::Holding).count();
    held == leases.get() as usize && waits_for_lease(status).is_some()
}

/// Returns the client that heads a semaphore's queue and waits for a lease.
fn waits_for_lease(status: &FleetStatus) -> Option<ClientId> {
    let mut waiting = status.clients.iter().filter(|client| client.state == ClientState::Waiting);
    let is_lease = |path: &lockscope_base::znode::ZnodePath| path.as_str().contains("/leases/");
    Some(waiting.find(|client| client.node.as_ref().is_some_and(is_lease))?.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_wakes_exactly_the_clients_whose_watches_fire_and_the_figures_match_the_trace() {
    let server = Server::start();
    for algorithm in all_algorithms() {
        let path = format!("/stepped/{}", algorithm.name());
        let mut fleet = SteppedFleet::start(&server.connect_string(), endless(algorithm, &path, CLIENTS));
        fleet
            .until("all in the queue", |status| {
                let queues = |client: &&ClientStatus| client.node.is_some() || !client.watches.is_empty();
                status.clients.iter().filter(queues).count() == 5 && leases_are_given(algorithm, status)
            })
            .await;
        let first = fleet.step().await;
        first.check();
        check_first_release(algorithm, &first);
        for _ in 0..11 {
            fleet.step().await.check();
        }
        let mut trace = std::mem::take(&mut fleet.trace);
        fleet
            .fixture
            .until("adding up", |status| {
                trace.extend(status.trace.iter().cloned());
                assert!(status.stepped);
                add_up(status, &trace)
            })
            .await;
        fleet.stop().await;
    }
    assert!(!server.words("dump").contains("/stepped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_behind_a_writer_are_woken_together() {
    let server = Server::start();
    let scenario =
        Scenario { reads: 60, ..endless(Algorithm::SharedChain(Access::Write), "/stepped-readers", CLIENTS) };
    let mut fleet = SteppedFleet::start(&server.connect_string(), scenario);
    loop {
        let segment = fleet.step().await;
        segment.check();
        let acquired = segment.acquired();
        if acquired.len() < 2 {
            continue;
        }
        let status = fleet.settled().await;
        assert!(acquired.iter().all(|id| client(&status, *id).access == Access::Read), "{segment:#?}");
        assert!(acquired.iter().all(|id| segment.woken().contains(id)), "{segment:#?}");
        break;
    }
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_client_asks_at_once_and_one_that_released_asks_at_its_step() {
    let server = Server::start();
    let mut fleet = SteppedFleet::start(&server.connect_string(), endless(Algorithm::Chain, "/stepped-join", 1));
    fleet.step_until((ClientId(1), NextStep::Release)).await;
    fleet.fixture.order(FleetCommand::Join(1));
    fleet
        .until("a second one that waits", |status| status.clients.len() == 2 && !status.clients[1].watches.is_empty())
        .await;
    let segment = fleet.step().await;
    assert_eq!((segment.woken(), segment.acquired()), (vec![ClientId(2)], vec![ClientId(2)]));
    // The client that has released comes first, then the client that acquired through the release.
    let in_turn = |status: &FleetStatus| status.next_step == Some((ClientId(1), NextStep::Ask));
    let status = fleet.until("two in line", |status| in_turn(status) && holds(status, ClientId(2))).await;
    assert_eq!(status.resource.writer, Some(ClientId(2)));
    let segment = fleet.step().await;
    assert!(matches!(segment.trace[0].step, TraceStep::Asks(Access::Write)), "{segment:#?}");
    assert_eq!(fleet.settled().await.next_step, Some((ClientId(2), NextStep::Release)));
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_steps_all_clients_go_on_and_nothing_is_traced() {
    let server = Server::start();
    let scenario = Scenario { hold: Duration::ZERO, ..endless(Algorithm::Herd, "/stepped-on", CLIENTS) };
    let mut fleet = SteppedFleet::start(&server.connect_string(), scenario);
    for _ in 0..3 {
        fleet.step().await;
    }
    let made = fleet.settled().await.totals.acquisitions;
    assert!(made <= 4, "each step was one of theirs: {made}");
    fleet.fixture.order(FleetCommand::Hold(false));
    let status = fleet.until("running by themselves", |status| status.totals.acquisitions > 50).await;
    assert!(!status.stepped && status.next_step.is_none(), "{status:#?}");
    let status = fleet.until("on its way", |status| status.totals.acquisitions > 100).await;
    assert!(status.trace.is_empty(), "{status:#?}");
    fleet.fixture.order(FleetCommand::Hold(true));
    fleet.until("held again", |status| status.stepped && status.next_step.is_some()).await;
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_reader_gets_the_whole_trace() {
    let server = Server::start();
    let mut fleet = SteppedFleet::start(&server.connect_string(), endless(Algorithm::Herd, "/stepped-slow", CLIENTS));
    fleet.settled().await;
    for _ in 0..4 {
        let before = fleet.fixture.fleet.status().totals.requests;
        fleet.fixture.order(FleetCommand::Step);
        // The status is read but not taken.
        crate::harness::wait::eventually("the next step", async || match fleet.fixture.fleet.status() {
            status if status.totals.requests > before && status.next_step.is_some() => Ok(()),
            status => Err(status),
        })
        .await;
    }
    let mut trace = std::mem::take(&mut fleet.trace);
    fleet
        .fixture
        .until("adding up", |status| {
            trace.extend(status.trace.iter().cloned());
            assert_eq!(status.trace_missed, 0);
            add_up(status, &trace)
        })
        .await;
    fleet.stop().await;
}
