//! What becomes of clients that are stepped through when they are stopped, killed or cut off.

use std::time::Duration;

use lockscope::contend::{ClientId, ClientState, FleetCommand, NextStep, ResourceWrite, Scenario, TraceStep};
use lockscope::lock::Algorithm;

use super::fixture::{client, scenario};
use super::step_fixture::{SteppedFleet, holds};
use crate::harness::server::Server;

/// Short, so that a session expires while one waits for it.
const SESSION: Duration = Duration::from_secs(2);

/// Three clients in a chain, the first of which holds; gives it and the one that comes next.
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
async fn a_step_passes_a_stopped_holder_over_and_its_write_is_refused_when_it_has_outlived_its_session() {
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
    // It has a new session, and asks when it is let.
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
async fn a_stopped_holder_that_goes_on_in_time_keeps_its_place_in_line() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-thaw").await;
    fleet.fixture.order(FleetCommand::Freeze(holder));
    fleet.fixture.order(FleetCommand::Step);
    fleet.fixture.order(FleetCommand::Thaw(holder));
    let thawed = |entry: &lockscope::contend::TraceEntry| entry.step == TraceStep::Thaws;
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
async fn a_cut_holder_gives_up_without_a_step_and_does_not_write_what_it_knows_to_be_lost() {
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
async fn one_that_leaves_does_not_wait_for_its_step() {
    let server = Server::start();
    let (mut fleet, holder, next) = one_holds_two_wait(&server, "/stepped-leave").await;
    fleet.fixture.order(FleetCommand::Leave(holder));
    let status = fleet.until("handed over", |status| status.next_step == Some((next, NextStep::Release))).await;
    assert!(status.clients.iter().all(|client| client.id != holder || client.state == ClientState::Leaving));
    fleet.stop().await;
}
