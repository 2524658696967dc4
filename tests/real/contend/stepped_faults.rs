//! Stepped clients that are stopped, killed or cut off.

use std::time::Duration;

use lockscope_lab::contend::{
    ClientId, ClientState, FleetCommand, FleetStatus, LinkState, NextStep, ResourceWrite, Scenario, TraceStep,
};
use lockscope_lock::Algorithm;

use super::fixture::{client, scenario};
use super::picture_fixture::ShownFleet;
use super::step_fixture::{SteppedFleet, holds};
use crate::harness::server::Server;

/// A short session timeout, since the test waits for it.
const SESSION: Duration = Duration::from_secs(2);

/// Starts three clients in a chain, the first of which holds. Returns the holder and the next in
/// line.
async fn one_holds_two_wait(server: &Server, path: &str) -> (SteppedFleet, ClientId, ClientId) {
    let hold = Duration::from_secs(3600);
    let scenario = Scenario { rounds: None, hold, session_timeout: SESSION, ..scenario(Algorithm::Chain, path, 1, 1) };
    let mut fleet = SteppedFleet::start(&server.connect_string(), scenario);
    fleet.until("one that holds", |status| holds_first(status.next_step)).await;
    for id in [2, 3] {
        fleet.fixture.order(FleetCommand::Join(1));
        fleet
            .until("one more in the queue", |status| {
                status.clients.iter().any(|client| client.id == ClientId(id) && !client.watches.is_empty())
            })
            .await;
    }
    (fleet, ClientId(1), ClientId(2))
}

fn holds_first(next: Option<(ClientId, NextStep)>) -> bool {
    next == Some((ClientId(1), NextStep::Release))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_skips_a_stopped_holder_whose_late_write_is_refused() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-freeze").await;
    fleet.fixture.order(FleetCommand::Freeze(holder));
    fleet.until("stopped", |status| client(status, holder).frozen && status.next_step.is_none()).await;
    fleet.fixture.order(FleetCommand::Step);
    let status = fleet.until("handed over", |status| status.next_step == Some((next, NextStep::Release))).await;
    assert!(holds(&status, holder) && holds(&status, next), "both think so: {status:#?}");
    assert_eq!((status.resource.writer, status.resource.rejected), (Some(next), 0), "{status:#?}");
    let stale = client(&status, holder).token.expect("it thinks that it holds");
    fleet.fixture.order(FleetCommand::Thaw(holder));
    let status = fleet.until("refused", |status| status.resource.rejected > 0).await;
    assert_eq!(status.resource.rejected, 1);
    assert_eq!(status.resource.highest, client(&status, next).token);
    assert!(matches!(status.resource.last_rejected, Some((id, token, _)) if (id, token) == (holder, stale)));
    let refused = ResourceWrite { token: stale, accepted: false };
    assert!(fleet.trace.iter().any(|entry| entry.client == holder && entry.step == TraceStep::Writes(refused)));
    // The client has a new session, and asks at its step.
    let status = fleet.until("back", |status| client(status, holder).expired == 1 && holds(status, next)).await;
    assert_eq!((status.totals.violations, client(&status, holder).node.as_ref()), (0, None), "{status:#?}");
    let what = fleet.trace.iter().filter(|entry| entry.client == holder).map(|entry| &entry.step);
    let of_note: Vec<&TraceStep> = what.filter(|step| !matches!(step, TraceStep::Sent(_))).collect();
    let at = |step: &TraceStep| of_note.iter().position(|seen| *seen == step).unwrap_or_else(|| panic!("{of_note:#?}"));
    assert!(at(&TraceStep::Freezes) < at(&TraceStep::Thaws), "{of_note:#?}");
    assert!(at(&TraceStep::Thaws) < at(&TraceStep::Writes(refused)), "{of_note:#?}");
    assert!(at(&TraceStep::Writes(refused)) < at(&TraceStep::Releases), "{of_note:#?}");
    let outcome = fleet.stop().await;
    assert_eq!((outcome.rejected_writes, outcome.outlived, outcome.violations), (1, 1, 0), "{outcome:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_holder_that_resumes_in_time_keeps_its_place_in_line() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-thaw").await;
    fleet.fixture.order(FleetCommand::Freeze(holder));
    fleet.fixture.order(FleetCommand::Step);
    fleet.fixture.order(FleetCommand::Thaw(holder));
    let thawed = |entry: &lockscope_lab::contend::TraceEntry| entry.step == TraceStep::Thaws;
    let mut seen = false;
    fleet
        .until("thawed", |status| {
            seen |= status.trace.iter().any(thawed);
            seen && holds_first(status.next_step)
        })
        .await;
    let segment = fleet.step().await;
    assert_eq!((segment.woken(), segment.acquired()), (vec![next], vec![next]), "{segment:#?}");
    assert_eq!(fleet.settled().await.resource.rejected, 0);
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_keeps_its_node_until_its_session_has_ended_and_takes_no_step() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-crash").await;
    fleet.fixture.order(FleetCommand::Crash(holder));
    let status = fleet.until("killed", |status| client(status, holder).state == ClientState::Crashed).await;
    assert!(status.next_step.is_none() && client(&status, holder).node.is_some(), "{status:#?}");
    let figures = (client(&status, holder).requests, client(&status, holder).events);
    fleet.fixture.order(FleetCommand::Step);
    let status = fleet.until("handed over", |status| holds(status, next)).await;
    assert_eq!(status.totals.acquisitions, 2);
    let status = fleet.until("gone", |status| client(status, holder).node.is_none()).await;
    assert_eq!((client(&status, holder).requests, client(&status, holder).events), figures, "the dead do nothing");
    let last = fleet.trace.iter().rfind(|entry| entry.client == holder).expect("it did something");
    assert_eq!(last.step, TraceStep::Crashes);
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_holder_gives_up_without_a_step_and_does_not_write_any_more() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-cut").await;
    fleet.fixture.order(FleetCommand::Cut(holder));
    let status = fleet.until("handed over", |status| holds(status, next)).await;
    assert!(!holds(&status, holder), "{status:#?}");
    assert_eq!((status.resource.rejected, status.totals.violations), (0, 0), "{status:#?}");
    let writes =
        fleet.trace.iter().filter(|entry| entry.client == holder && matches!(entry.step, TraceStep::Writes(_)));
    assert_eq!(writes.count(), 1, "the one when it had acquired: {:#?}", fleet.trace);
    fleet.fixture.order(FleetCommand::Heal(holder));
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaving_client_does_not_wait_for_its_step() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-leave").await;
    fleet.fixture.order(FleetCommand::Leave(holder));
    let status = fleet.until("handed over", |status| status.next_step == Some((next, NextStep::Release))).await;
    assert!(status.clients.iter().all(|client| client.id != holder || client.state == ClientState::Leaving));
    fleet.stop().await;
}

/// Returns the picture of a fleet on a console that has watched from the start.
fn pictured(fleet: &mut SteppedFleet) -> ShownFleet {
    let mut shown = ShownFleet::new(",,,", (80, 24));
    shown.open(std::mem::take(&mut fleet.statuses));
    shown
}

/// Shows the events since the last call, and checks them.
fn show(shown: &mut ShownFleet, fleet: &mut SteppedFleet) {
    shown.take(fleet.statuses.drain(..));
    shown.catch_up();
    shown.check_events();
    shown.check_causes();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_waiter_keeps_its_place_until_its_session_ends_and_then_the_next_acquires() {
    let server = Server::start();
    let (mut fleet, holder, waiter) = one_holds_two_wait(&server, "/stepped-freeze-waiter").await;
    let last = ClientId(3);
    let mut shown = pictured(&mut fleet);
    fleet.fixture.order(FleetCommand::Freeze(waiter));
    let status = fleet.until("stopped", |status| client(status, waiter).frozen).await;
    assert_eq!(status.next_step, Some((holder, NextStep::Release)), "the holder's step is not its business");
    fleet.fixture.order(FleetCommand::Step);
    // The stopped waiter is first in the queue without knowing it: the holder asks again, and
    // nobody holds.
    fleet.until("released", |status| status.next_step == Some((holder, NextStep::Ask))).await;
    fleet.fixture.order(FleetCommand::Step);
    let status = fleet.until("handed to the third", |status| status.next_step == Some((last, NextStep::Release))).await;
    assert!(holds(&status, last) && !holds(&status, waiter), "{status:#?}");
    show(&mut shown, &mut fleet);
    let rows = [waiter, last, holder].map(|id| shown.row(id));
    assert!(rows[0].contains("frozen") && rows[0].contains("node gone"), "{}", shown.frame());
    assert!(rows[1].contains("● client-3"), "{}", shown.frame());
    assert!(rows[2].contains("○ client-1"), "{}", shown.frame());
    let of_waiter = fleet.trace.iter().rfind(|entry| entry.client == waiter);
    assert_eq!(of_waiter.map(|entry| &entry.step), Some(&TraceStep::Freezes), "it has noticed nothing");
    // The client resumes, learns that its session ended, and asks at its step.
    fleet.fixture.order(FleetCommand::Thaw(waiter));
    fleet.until("back", |status| status.next_step == Some((waiter, NextStep::Ask))).await;
    fleet.fixture.order(FleetCommand::Step);
    let asks = |status: &FleetStatus| !client(status, waiter).watches.is_empty();
    let status = fleet.until("in the queue again", |status| asks(status) && status.next_step.is_some()).await;
    assert_eq!(status.next_step, Some((last, NextStep::Release)));
    show(&mut shown, &mut fleet);
    shown.check_rows();
    assert!(!shown.frame().contains("node gone"), "{}", shown.frame());
    let outcome = fleet.stop().await;
    assert_eq!((outcome.violations, outcome.rejected_writes), (0, 0), "{outcome:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_waiter_that_resumes_in_time_is_woken_late_and_acquires() {
    let server = Server::start();
    let (mut fleet, holder, waiter) = one_holds_two_wait(&server, "/stepped-thaw-waiter").await;
    let mut shown = pictured(&mut fleet);
    fleet.fixture.order(FleetCommand::Freeze(waiter));
    fleet.until("stopped", |status| client(status, waiter).frozen).await;
    fleet.fixture.order(FleetCommand::Step);
    fleet.fixture.order(FleetCommand::Thaw(waiter));
    let status = fleet.until("handed over", |status| holds(status, waiter)).await;
    assert_eq!(client(&status, waiter).expired, 0, "{status:#?}");
    let at = |step: &TraceStep| {
        let is_it = |entry: &lockscope_lab::contend::TraceEntry| entry.client == waiter && entry.step == *step;
        fleet.trace.iter().position(is_it)
    };
    let woken =
        fleet.trace.iter().position(|entry| entry.client == waiter && matches!(entry.step, TraceStep::Woken(_)));
    assert!(at(&TraceStep::Freezes) < at(&TraceStep::Thaws) && at(&TraceStep::Thaws) < woken, "{:#?}", fleet.trace);
    fleet.until("at rest", |status| status.next_step == Some((holder, NextStep::Ask))).await;
    show(&mut shown, &mut fleet);
    shown.check_rows();
    assert!(shown.row(waiter).contains("● client-2"), "{}", shown.frame());
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_waiter_loses_its_place_with_its_session_and_the_others_step_on() {
    let server = Server::start();
    let (mut fleet, holder, waiter) = one_holds_two_wait(&server, "/stepped-cut-waiter").await;
    let last = ClientId(3);
    let mut shown = pictured(&mut fleet);
    fleet.fixture.order(FleetCommand::Cut(waiter));
    let status = fleet.until("cut off", |status| client(status, waiter).link == LinkState::Cut).await;
    assert_eq!(status.next_step, Some((holder, NextStep::Release)));
    show(&mut shown, &mut fleet);
    assert!(shown.row(waiter).contains("link cut"), "{}", shown.frame());
    fleet.fixture.order(FleetCommand::Step);
    // The cut client's node is first in the queue until its session has ended.
    let status = fleet.until("handed to the third", |status| holds(status, last)).await;
    assert_eq!((client(&status, holder).state, status.totals.violations), (ClientState::Ready, 0), "{status:#?}");
    let status = fleet.until("at rest", |status| status.next_step == Some((holder, NextStep::Ask))).await;
    show(&mut shown, &mut fleet);
    assert!(shown.row(last).contains("● client-3"), "{}", shown.frame());
    // Whether or not the client knows, no row claims that it is in the queue as before.
    let row = shown.row(waiter);
    assert!(row.is_empty() || row.contains("node gone") || client(&status, waiter).node.is_none(), "{}", shown.frame());
    fleet.fixture.order(FleetCommand::Heal(waiter));
    let waits = |status: &FleetStatus| {
        let client = client(status, waiter);
        client.expired == 1 && client.state == ClientState::Ready
    };
    fleet.until("back, and waits for its step", waits).await;
    for _ in 0..2 {
        let asked = fleet.fixture.fleet.status().totals.requests;
        fleet.fixture.order(FleetCommand::Step);
        let goes_on = |status: &FleetStatus| status.next_step.is_some() && status.totals.requests > asked;
        fleet.until("the next step", goes_on).await;
    }
    let all_wait = |status: &FleetStatus| [holder, waiter].iter().all(|id| !client(status, *id).watches.is_empty());
    let status = fleet.until("both in the queue again", all_wait).await;
    assert_eq!(status.next_step, Some((last, NextStep::Release)));
    show(&mut shown, &mut fleet);
    shown.check_rows();
    fleet.stop().await;
}
