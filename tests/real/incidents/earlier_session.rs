//! Nodes of earlier sessions, which keep their processes from their own places.

use std::time::Duration;

use lockscope_model::diagnose::{Code, Severity};
use zookeeper_client::{Client, CreateMode};

use super::fixture::{Incident, Machine};
use crate::harness::zk;

/// Long enough for the finding that a node belongs to an earlier session.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Leaves a node of a session without a client on a machine, where another session waits for it. Both
/// have the same timeout, as those of one process do.
async fn left_behind(incident: &mut Incident, machine: &Machine, node: &str, data: &str) -> Client {
    let earlier = machine.abandoned_session(TIMEOUT).await;
    if let Some((parent, _)) = node.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
        zk::make(&incident.operator, [parent.to_owned()]).await;
    }
    zk::create_all(&earlier, CreateMode::Ephemeral, [(node.to_owned(), data.as_bytes().to_vec())]).await;
    incident.until_listed(1).await;
    drop(earlier);
    zk::connect_within(&machine.connect_string(), TIMEOUT).await
}

async fn finds_a_stale_owner(node: &str, data: &str) {
    let mut incident = Incident::start().await;
    let [machine] = incident.machines::<1>().await;
    let later = left_behind(&mut incident, &machine, node, data).await;
    let _watch = later.check_and_watch_stat(node).await.expect("an answer");
    let found = incident.finds(Code::StaleOwner, Severity::Warning).await;
    assert!(found.summary.contains(&zk::session_of(&later).to_string()), "{}", found.summary);
    // The servers end the earlier session, and the process takes its place.
    incident.console.until_contenders(0).await;
    zk::create_all(&later, CreateMode::Ephemeral, [(node.to_owned(), data.as_bytes().to_vec())]).await;
    incident.console.clears(Code::StaleOwner).await;
}

/// Patroni#774: after a reboot the leader's key belongs to the session of before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_restarted_finds_its_own_key_taken() {
    finds_a_stale_owner("/service/batman/leader", "postgresql0").await;
}

/// kafka#5575 (KAFKA-7165), kafka#2175 (KAFKA-4229): the broker finds a node of its own earlier
/// session, and gives up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_finds_the_controllers_node_of_its_earlier_session() {
    finds_a_stale_owner("/controller", "{\"version\":1,\"brokerid\":1,\"timestamp\":\"1535241600000\"}").await;
}

/// ClickHouse#86586: the replica waits for a node that "isn't owned by us".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_waits_for_an_active_node_of_its_earlier_session() {
    finds_a_stale_owner("/clickhouse/task_queue/replicas/localhost:9000/active", "4957dfe8").await;
}

/// ClickHouse#33714: a server that was killed waits for the end of its old session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_was_killed_waits_until_its_old_session_ends() {
    const NODE: &str = "/clickhouse/tables/foo/bar/replicas/ch_4/is_active";
    // Each replica has such a node, and most are no locks.
    let mut incident = Incident::naming(NODE).await;
    let [machine] = incident.machines::<1>().await;
    let later = left_behind(&mut incident, &machine, NODE, "ch-4").await;
    let _watch = later.check_and_watch_stat(NODE).await.expect("an answer");
    let found = incident.finds(Code::ExpiringHolder, Severity::Warning).await;
    assert!(found.summary.contains("expires in "), "{}", found.summary);
    let found = incident.finds(Code::AdoptedNode, Severity::Info).await;
    assert!(found.summary.contains(&zk::session_of(&later).to_string()), "{}", found.summary);
    incident.console.until_contenders(0).await;
    incident.console.clears(Code::ExpiringHolder).await;
}
