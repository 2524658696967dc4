//! Former leaders that may think that they still lead.

use lockscope_model::diagnose::{Code, Severity};
use zookeeper_client::CreateMode;

use super::fixture::{Incident, TIMEOUT};
use super::leaderless::latch;
use crate::failures::forgotten::{enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::zk;

/// nifi#2646, Netflix's curator#216: Curator's latch never learns that its node is gone, and leads
/// beside the next leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_latch_that_does_not_know_of_its_nodes_end_leads_beside_another() {
    const ELECTION: &str = "/nifi/leaders/cluster-coordinator";
    let mut incident = Incident::start().await;
    let machines = incident.machines::<2>().await;
    let [mut first, mut second] = machines.each_ref().map(|machine| Foreign::java(&machine.connect_string()));
    first.connect("first").await;
    second.connect("second").await;
    first.start("first", "first", "latch", ELECTION).await;
    let node = first.held("first").await;
    second.start("second", "second", "latch", ELECTION).await;
    incident.until_listed(2).await;
    zk::delete_all(&incident.operator, [format!("{ELECTION}/{node}")]).await;
    second.held("second").await;
    let found = incident.finds(Code::TwoLeaders, Severity::Critical).await;
    assert!(first.holds("first").await && second.holds("second").await, "both say that they lead");
    assert!(found.summary.starts_with("first") && found.summary.contains("second ("), "{}", found.summary);
    assert!(found.remedy.contains("fencing tokens below"), "{}", found.remedy);
    first.quit().await;
    incident.console.clears(Code::TwoLeaders).await;
}

/// jubatus#497: an operator deletes the node of a holder, which goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_goes_on_after_an_operator_deleted_its_node() {
    const MASTER: &str = "/jubatus/actors/classifier/test/master_lock";
    let mut incident = Incident::expecting(MASTER, None).await;
    let [first, second] = incident.machines::<2>().await;
    let (holder, next) = (first.session().await, second.session().await);
    zk::make(&incident.operator, ["/jubatus/actors/classifier/test".to_owned()]).await;
    let node = || [(MASTER.to_owned(), Vec::new())];
    zk::create_all(&holder, CreateMode::Ephemeral, node()).await;
    incident.until_listed(1).await;
    zk::delete_all(&incident.operator, [MASTER.to_owned()]).await;
    zk::create_all(&next, CreateMode::Ephemeral, node()).await;
    let found = incident.finds(Code::TwoLeaders, Severity::Critical).await;
    assert!(found.summary.contains("it did not delete the node"), "{}", found.summary);
    drop(holder);
    incident.console.clears(Code::TwoLeaders).await;
}

/// curator#1211 (CURATOR-696), curator#1137 (CURATOR-620), druid#16411, helix#691: a leader comes
/// back with a new session while its old node still stands, takes that node for its own, and does
/// not queue when it goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_came_back_with_a_new_session_and_does_not_queue_is_suspect() {
    const ELECTION: &str = "/druid/coordinator/_COORDINATOR";
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    zk::make(&incident.operator, [ELECTION.to_owned()]).await;
    let old = first.abandoned_session(TIMEOUT).await;
    let leader = enqueue(&old, &latch(ELECTION, 1)).await;
    let standby = second.session().await;
    enqueue(&standby, &latch(ELECTION, 2)).await;
    let _watch = watch(&standby, &leader).await;
    incident.until_listed(2).await;
    drop(old);
    let new = first.session().await;
    incident.console.until_contenders(1).await;
    let found = incident.finds(Code::TwoLeaders, Severity::Warning).await;
    for part in [&*zk::session_of(&new).to_string(), "the log of that process proves it"] {
        assert!(found.summary.contains(part), "{part}: {}", found.summary);
    }
    enqueue(&new, &latch(ELECTION, 3)).await;
    incident.console.clears(Code::TwoLeaders).await;
}
