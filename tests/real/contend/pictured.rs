//! The picture shows what happened: for a fleet on a real server, each watch event that the clients
//! recorded appears once, in order, and from the client whose node was created or deleted. No other
//! event appears.

use std::time::Duration;

use lockscope_lab::contend::{
    ClientId, ClientStatus, FleetCommand, FleetStatus, Scenario, TraceEntry, TraceStep, WatchPlace,
};
use lockscope_lock::{Access, Algorithm};

use super::fixture::{all_algorithms, scenario};
use super::picture_fixture::ShownFleet;
use super::step_fixture::{Segment, SteppedFleet};
use crate::harness::server::Server;

const CLIENTS: u32 = 5;
/// Two steps a second.
const SLOW: &str = ",,,";
/// One step every two seconds.
const SLOWEST: &str = ",,,,,";
/// Ten steps a second.
const FAST: &str = ",";

fn endless(algorithm: Algorithm, path: &str) -> Scenario {
    let hold = Duration::from_secs(3600);
    let reads = if matches!(algorithm.access(), Some(Access::Write)) { 60 } else { 0 };
    Scenario {
        rounds: None,
        hold,
        reads,
        session_timeout: Duration::from_secs(40),
        ..scenario(algorithm, path, CLIENTS, 1)
    }
}

async fn all_in_the_queue(fleet: &mut SteppedFleet) {
    fleet
        .until("all in the queue", |status| {
            let queues = |client: &&ClientStatus| client.node.is_some() || !client.watches.is_empty();
            status.clients.iter().filter(queues).count() == CLIENTS as usize
        })
        .await;
    fleet.settled().await;
}

/// Returns the clients whose nodes changed in a step and thereby fired a watch.
fn causes(segment: &Segment, place: &WatchPlace) -> Vec<ClientId> {
    let is_cause = |entry: &&TraceEntry| match (&entry.step, place) {
        (TraceStep::Created(path) | TraceStep::Deleted(path), WatchPlace::Children(parent)) => {
            path.parent().as_ref() == Some(parent)
        }
        (TraceStep::Deleted(path), WatchPlace::Node(node)) => path == node,
        _ => false,
    };
    segment.trace.iter().filter(is_cause).map(|entry| entry.client).collect()
}

async fn check_slow_motion(server: &Server, algorithm: Algorithm, size: (u16, u16)) {
    let path = format!("/pictured/{}-{}", algorithm.name(), size.0);
    let mut fleet = SteppedFleet::start(&server.connect_string(), endless(algorithm, &path));
    all_in_the_queue(&mut fleet).await;
    let mut shown = ShownFleet::new(SLOW, size);
    // The picture is opened now: earlier events are no part of it.
    shown.open(std::mem::take(&mut fleet.statuses));
    shown.check_rows();
    for _ in 0..10 {
        let before = shown.events_so_far();
        let segment = fleet.step().await;
        shown.take(fleet.statuses.drain(..));
        shown.catch_up();
        shown.check_events();
        shown.check_rows();
        for flight in shown.events_since(before) {
            if let [cause] = causes(&segment, &flight.place)[..] {
                assert_eq!(flight.from, Some(cause), "{flight:?} in {segment:#?}");
            }
        }
    }
    let status = fleet.settled().await;
    shown.take(fleet.statuses.drain(..));
    shown.catch_up();
    shown.check_events();
    shown.check_causes();
    shown.check_requests(true);
    assert!(!shown.events.is_empty() && !shown.requests.is_empty(), "{}", shown.frame());
    let counts = shown.fleet().replay.total_counts();
    let totals = &status.totals;
    assert_eq!(
        (counts.woken, counts.in_vain, counts.requests),
        (totals.events, totals.woken_in_vain, totals.requests),
        "{}",
        shown.frame()
    );
    assert_eq!(counts.woken, totals.wire_events, "as the links count them on the wire");
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_slow_motion_each_delivered_event_is_drawn_once_in_order_and_from_its_cause() {
    let server = Server::start();
    for algorithm in all_algorithms() {
        check_slow_motion(&server, algorithm, (80, 24)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_is_drawn_in_a_small_terminal_too() {
    let server = Server::start();
    for algorithm in [Algorithm::Herd, Algorithm::Chain] {
        check_slow_motion(&server, algorithm, (60, 18)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_too_fast_for_the_picture_are_drawn_in_order_or_counted_as_left_out() {
    let server = Server::start();
    let mut left_out = 0;
    let fast = all_algorithms().into_iter().map(|algorithm| (algorithm, FAST, 20));
    let slow = [Algorithm::Herd, Algorithm::Chain].map(|algorithm| (algorithm, SLOWEST, 60));
    for (algorithm, speed, steps) in fast.chain(slow) {
        let path = format!("/pictured-fast/{}-{}", algorithm.name(), speed.len());
        let mut fleet = SteppedFleet::start(&server.connect_string(), endless(algorithm, &path));
        all_in_the_queue(&mut fleet).await;
        let mut shown = ShownFleet::new(speed, (160, 45));
        shown.open(std::mem::take(&mut fleet.statuses));
        for _ in 0..steps {
            fleet.step().await;
            // The fleet does not wait for the picture, which is not drawn in time.
            shown.take_at_once(fleet.statuses.drain(..));
        }
        shown.catch_up();
        let (seen, delivered) = (shown.seen(), shown.delivered());
        assert_eq!(seen.len() as u64 + shown.too_fast, delivered.len() as u64, "{}", shown.frame());
        let mut rest = delivered.iter();
        assert!(seen.iter().all(|event| rest.any(|other| other == event)), "{seen:#?} of {delivered:#?}");
        shown.check_causes();
        shown.check_rows();
        left_out += shown.too_fast;
        fleet.stop().await;
    }
    assert!(left_out > 0, "at one step each two seconds some were too fast");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_full_speed_nothing_travels_and_the_figures_are_those_of_the_last_status() {
    let server = Server::start();
    for algorithm in all_algorithms() {
        let path = format!("/pictured-full/{}", algorithm.name());
        let scenario = Scenario { hold: Duration::ZERO, ..endless(algorithm, &path) };
        let mut fleet = SteppedFleet::start(&server.connect_string(), scenario);
        let mut shown = ShownFleet::new(SLOW, (80, 24));
        fleet.step().await;
        fleet.fixture.order(FleetCommand::Hold(false));
        let status = fleet.until("on its way", |status| !status.stepped && status.totals.acquisitions > 60).await;
        let held = fleet.statuses.iter().rposition(|status| status.stepped).map_or(0, |at| at + 1);
        shown.take(fleet.statuses.drain(..held));
        shown.catch_up();
        shown.check_events();
        let slow = shown.events.len();
        for status in fleet.statuses.drain(..) {
            let totals = status.totals.clone();
            shown.take([status]);
            let counts = shown.fleet().replay.total_counts();
            assert_eq!((counts.woken, counts.requests), (totals.events, totals.requests), "it is never behind");
            assert_eq!(shown.fleet().replay.next(), None);
        }
        assert_eq!(shown.events.len(), slow, "no event is drawn that would stand for others");
        assert!(status.totals.events > slow as u64);
        // Once the clients are held again, the following events are drawn again.
        fleet.fixture.order(FleetCommand::Hold(true));
        let waits = |status: &FleetStatus| status.stepped && status.next_step.is_some();
        fleet.until("held again", waits).await;
        shown.take(fleet.statuses.drain(..));
        shown.catch_up();
        // Where readers hold together, many may come and go without waking anybody.
        for _ in 0..40 * CLIENTS {
            if shown.events.len() > slow {
                break;
            }
            let sent = fleet.fixture.fleet.status().totals.requests;
            fleet.fixture.order(FleetCommand::Step);
            let goes_on = |status: &FleetStatus| waits(status) && status.totals.requests > sent;
            fleet.until("the next step", goes_on).await;
            shown.take(fleet.statuses.drain(..));
            shown.catch_up();
        }
        shown.check_rows();
        assert!(shown.events.len() > slow, "{}", shown.frame());
        fleet.stop().await;
    }
}
