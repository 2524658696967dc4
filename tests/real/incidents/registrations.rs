//! Nodes that look like those of locks: registrations, states, and a second node of one id.

use lockscope_model::diagnose::{Code, Severity};
use lockscope_model::queue::ContenderState;
use zookeeper_client::{Client, CreateMode};

use super::fixture::Incident;
use crate::failures::forgotten::{enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

const FIRST: &str = "11111111-2222-4333-8444-555555555555";
const OTHER: &str = "22222222-3333-4444-8555-666666666666";

fn zlock(parent: &str, id: &str) -> String {
    format!("{parent}/zlock#{id}#")
}

async fn register(client: &Client, paths: &[&str], end: &str) -> Vec<String> {
    zk::make(client, paths.iter().map(|path| (*path).to_owned())).await;
    let mode = if end.ends_with('#') { CreateMode::EphemeralSequential } else { CreateMode::Ephemeral };
    zk::create_all(client, mode, paths.iter().map(|path| (format!("{path}/{end}"), b"host".to_vec()))).await
}

/// Accumulo's tablet servers and compactors have names like its managers', and replicas of ClickHouse
/// have an `is_active` each. A pool that shrinks is no election without a leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registrations_that_end_are_no_elections_without_a_leader() {
    let mut incident = Incident::start().await;
    let pool = ["/a/compactors/q1/host1:9133", "/a/compactors/q1/host2:9133", "/a/tservers/host3:9997"];
    let replicas = ["/clickhouse/tables/t/replicas/r1", "/clickhouse/tables/t/replicas/r2"];
    let mut gone = register(&incident.operator, &pool, &format!("zlock#{FIRST}#")).await;
    gone.extend(register(&incident.operator, &replicas, "is_active").await);
    register(&incident.operator, &["/a/managers/lock"], &format!("zlock#{OTHER}#")).await;
    incident.until_listed(1).await;
    zk::delete_all(&incident.operator, gone).await;
    // Longer than an election may be without a leader.
    incident.console.looks_on(&[4, 1]).await;
    let locks: Vec<_> = incident.console.table.locks().map(|lock| lock.path().to_string()).collect();
    assert_eq!(locks, ["/a/managers/lock"]);
    assert!(incident.console.raised.is_empty(), "{:#?}", incident.console.raised);
}

/// Processes register with Curator's protection and a word of their own. They wait for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_with_protected_names_hold_nothing_for_certain_and_do_not_wait() {
    let mut incident = Incident::start().await;
    zk::make(&incident.operator, ["/app/workers".to_owned()]).await;
    let machines = incident.machines::<2>().await;
    let mut members = Vec::new();
    for (machine, id) in machines.iter().zip([FIRST, OTHER]) {
        members.push(machine.session().await);
        enqueue(&members[members.len() - 1], &format!("/app/workers/_c_{id}-worker-")).await;
    }
    incident.until_listed(2).await;
    // Longer than a waiter without a watch goes unnoticed.
    incident.console.looks_on(&[6, 1]).await;
    let lock = incident.console.table.locks().next().expect("a queue");
    assert!(lock.is_assumed() && lock.waiting() == 0, "{lock:?}");
    assert_eq!(lock.row(1).map(|row| row.state), Some(ContenderState::Unknown));
    assert!(incident.console.raised.is_empty(), "{:#?}", incident.console.raised);
}

/// accumulo#1866: the reply to a create is lost. The manager goes on with the lowest node of its id and
/// halts when that one is deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_of_one_id_accumulo_goes_on_with_the_first() {
    const ELECTION: &str = "/a/managers/lock";
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    let (leader, candidate) = (first.session().await, second.session().await);
    zk::make(&incident.operator, [ELECTION.to_owned()]).await;
    let kept = enqueue(&leader, &zlock(ELECTION, FIRST)).await;
    let orphan = enqueue(&leader, &zlock(ELECTION, FIRST)).await;
    enqueue(&candidate, &zlock(ELECTION, OTHER)).await;
    let _watches = (watch(&leader, &kept).await, watch(&candidate, &kept).await);
    let found = incident.finds(Code::Orphan, Severity::Warning).await;
    assert_eq!(found.node.as_deref(), orphan.strip_prefix("/a/managers/lock/"));
    assert!(found.remedy.starts_with("delete the later node"), "{}", found.remedy);
    incident.console.looks_on(&[4, 1]).await;
    assert!(incident.console.raised.iter().all(|found| found.code == Code::Orphan), "{:#?}", incident.console.raised);
    zk::delete_all(&leader, [orphan]).await;
    incident.console.clears(Code::Orphan).await;
}

/// kazoo#412: an application keeps its lock below `/zookeeper`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_below_zookeeper_is_found() {
    let server = Server::start();
    let at = server.connect_string();
    let mut kazoo = Foreign::kazoo(&at);
    kazoo.queue_up(&zk::connect(&at).await, "/zookeeper/master", &["worker-1", "worker-2"]).await;
    for root in ["/", "/zookeeper/master"] {
        let shot = run(lockscope(&["snapshot", "--connect", &at, "--root", root])).await.json();
        let states: Vec<_> =
            shot["locks"][0]["contenders"].as_array().into_iter().flatten().map(|one| one["state"].clone()).collect();
        assert_eq!(shot["locks"][0]["path"], "/zookeeper/master", "{shot}");
        assert_eq!(states, ["holds", "waits"], "{shot}");
    }
    kazoo.quit().await;
}
