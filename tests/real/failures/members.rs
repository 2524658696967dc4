//! Healthy clients move between the members of an ensemble as these come and go, and raise no
//! findings.

use std::time::Duration;

use lockscope_model::diagnose::{OwnerState, Severity, Thresholds};
use zookeeper_client::Client;

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
