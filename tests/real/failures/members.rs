//! Healthy clients move between the members of an ensemble as these come and go, and raise no
//! findings.
//!
//! `LOCKSCOPE_ROUNDS=20` makes the rolling restart take this many rounds, with fifty locks.

use std::time::Duration;

use lockscope_model::diagnose::{Code, OwnerState, Severity, Thresholds};
use lockscope_model::server_view::Liveness;
use zookeeper_client::{Client, OneshotWatcher};

use super::fixture::ConsoleFixture;
use super::forgotten::{curator, enqueue, watch};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::zk;

const TIMEOUT: Duration = Duration::from_secs(15);

/// Creates a queue of one lock with a client on each member; each waits for the one before.
async fn queue(ensemble: &Ensemble) -> (Vec<Client>, Vec<String>) {
    let (mut clients, mut nodes) = (Vec::new(), Vec::new());
    for member in 0..MEMBERS {
        // The client's own member first; the others follow for when it is gone.
        let addresses = (0..MEMBERS).map(|other| ensemble.address((member + other) % MEMBERS));
        let connect = addresses.collect::<Vec<_>>().join(",");
        let client = zk::connect_within(&connect, TIMEOUT).await;
        if member == 0 {
            zk::make(&client, ["/lock".to_owned()]).await;
        }
        nodes.push(enqueue(&client, &curator("/lock", u32::try_from(member).expect("few"))).await);
        clients.push(client);
    }
    (clients, nodes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_move_from_a_stopped_member_raise_no_findings() {
    let mut ensemble = Ensemble::start();
    let mut fixture = ConsoleFixture::start(&ensemble.connect_string(), Thresholds::default()).await;
    let (clients, nodes) = queue(&ensemble).await;
    let mut watches = Vec::new();
    for (client, before) in clients[1..].iter().zip(&nodes) {
        watches.push(watch(client, before).await);
    }
    fixture.until_contenders(MEMBERS).await;
    for stopped in [ensemble.follower(), ensemble.leader()] {
        ensemble.stop(stopped);
        // Each of the other members is asked at least twice while the stopped one does not answer.
        fixture.surveys(3 * MEMBERS).await;
        ensemble.start_again(stopped);
        fixture.looks_on(&[0, 0]).await;
    }
    let alive = |fixture: &ConsoleFixture| nodes.iter().all(|node| fixture.owner_state(node) == OwnerState::Live);
    fixture.until("all clients alive", |fixture| fixture.table.is_live() && alive(fixture)).await;
    assert_eq!(fixture.raised_at_least(Severity::Warning), [""; 0]);
}

/// The variable with the number of rounds, which replaces [`ROUNDS`].
const WANTED: &str = "LOCKSCOPE_ROUNDS";

/// The rounds of a rolling restart, and the locks meanwhile.
const ROUNDS: usize = 2;
const LOCKS: u32 = 8;
const MANY_LOCKS: u32 = 50;

/// How long a member is away.
const AWAY: Duration = Duration::from_secs(2);

/// The candidates of the election.
const CANDIDATES: u32 = 3;

/// Findings that rest on which clients are connected and heard.
const OF_LIVENESS: [Code; 8] = [
    Code::Ghost,
    Code::LostWakeUp,
    Code::ExpiringHolder,
    Code::SilentHolder,
    Code::AdoptedNode,
    Code::TwoLeaders,
    Code::StaleOwner,
    Code::ParticipantMissing,
];

/// Connects a client to the ensemble, with one of the members first.
async fn connect(ensemble: &Ensemble, number: u32) -> Client {
    let first = usize::try_from(number).expect("few");
    let addresses = (0..MEMBERS).map(|other| ensemble.address((first + other) % MEMBERS));
    zk::connect_within(&addresses.collect::<Vec<_>>().join(","), TIMEOUT).await
}

/// Lets a client hold each lock and another one wait, and some stand in an election.
async fn holders_and_candidates(ensemble: &Ensemble, locks: u32) -> (Vec<Client>, Vec<OneshotWatcher>) {
    let (mut clients, mut watches) = (Vec::new(), Vec::new());
    for number in 0..locks {
        let (holder, waiter) = (connect(ensemble, number).await, connect(ensemble, number + 1).await);
        let lock = format!("/lock-{number}");
        zk::make(&holder, [lock.clone()]).await;
        let held = enqueue(&holder, &curator(&lock, number)).await;
        enqueue(&waiter, &curator(&lock, number + 1_000)).await;
        watches.push(watch(&waiter, &held).await);
        clients.extend([holder, waiter]);
    }
    let mut before = None;
    for number in 0..CANDIDATES {
        let candidate = connect(ensemble, number).await;
        if number == 0 {
            zk::make(&candidate, ["/election".to_owned()]).await;
        }
        let latch = curator("/election", number).replace("-lock-", "-latch-");
        let node = enqueue(&candidate, &latch).await;
        if let Some(before) = before.replace(node) {
            watches.push(watch(&candidate, &before).await);
        }
        clients.push(candidate);
    }
    (clients, watches)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_of_the_members_accuses_no_holder_and_no_candidate() {
    let wanted = std::env::var(WANTED).ok().map(|rounds| rounds.parse::<usize>().expect("a number of rounds"));
    let locks = if wanted.is_some() { MANY_LOCKS } else { LOCKS };
    let mut ensemble = Ensemble::start();
    let mut fixture = ConsoleFixture::start(&ensemble.connect_string(), Thresholds::default()).await;
    let (clients, _watches) = holders_and_candidates(&ensemble, locks).await;
    fixture.until_contenders(clients.len()).await;
    for round in 0..wanted.unwrap_or(ROUNDS) {
        for member in 0..MEMBERS {
            // The console looks on while the member is away and starts.
            let restart = tokio::task::spawn_blocking(move || {
                ensemble.stop(member);
                std::thread::sleep(AWAY);
                ensemble.start_again(member);
                ensemble
            });
            ensemble = fixture.during(restart).await.expect("the member starts again");
            fixture.looks_on(&[0, 0]).await;
            let raised = fixture.raised.iter().filter(|finding| OF_LIVENESS.contains(&finding.code));
            let raised: Vec<_> = raised.map(|finding| format!("{}: {}", finding.code, finding.summary)).collect();
            assert_eq!(raised, [""; 0], "round {round}, member {member}");
        }
    }
    let moved = fixture.table.upheaval_at();
    assert!(moved.is_some(), "the restarts were not seen");
    let states = clients.iter().map(zk::session_of).map(|session| fixture.table.view().liveness(session));
    assert!(states.into_iter().all(|state| state == Liveness::Connected), "all clients are alive");
}
