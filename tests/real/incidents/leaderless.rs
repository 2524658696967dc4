//! Elections that nobody leads.

use lockscope_model::diagnose::{Code, Severity};
use zookeeper_client::{Client, CreateMode};

use super::fixture::{Incident, Machine, TIMEOUT};
use crate::failures::forgotten::enqueue;
use crate::harness::foreign::Foreign;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Returns the beginning of a node's name in Curator's latch.
pub fn latch(election: &str, number: u32) -> String {
    format!("{election}/_c_{number:08x}-0000-4000-8000-000000000000-latch-")
}

/// curator#515 (CURATOR-724), druid#17786, druid#15491, fluss#4382: all latches lose their sessions,
/// the servers delete the empty parent, and no latch queues again, since it only lists the parent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latches_that_do_not_queue_again_after_an_outage_leave_nobody_in_the_lead() {
    const ELECTION: &str = "/druid/coordinator/_COORDINATOR_LEADER";
    let mut incident = Incident::start().await;
    let machines = incident.machines::<2>().await;
    let [mut first, mut second] = machines.each_ref().map(|machine| Foreign::java(&machine.connect_string()));
    first.connect_within("first", TIMEOUT).await;
    first.start("first", "first", "latch", ELECTION).await;
    first.held("first").await;
    second.connect_within("second", TIMEOUT).await;
    second.start("second", "second", "latch", ELECTION).await;
    incident.until_listed(2).await;
    for machine in &machines {
        machine.cut_off().await;
    }
    incident.console.until_contenders(0).await;
    let found = incident.finds(Code::NobodyLeads, Severity::Critical).await;
    assert!(found.summary.contains("session expired"), "{}", found.summary);
    // Servers do this within two minutes, since it is an empty container.
    zk::delete_all(&incident.operator, [ELECTION.to_owned()]).await;
    for machine in &machines {
        machine.heal();
    }
    let connected = async || if machines.iter().all(Machine::is_connected) { Ok(()) } else { Err("no connection") };
    incident.console.during(eventually("both latches connected", connected)).await;
    incident.console.surveys(4).await;
    assert!(!first.holds("first").await && !second.holds("second").await, "both wait for good");
    let found = incident.console.standing(Code::NobodyLeads).expect("nobody leads still");
    assert!(found.summary.contains("the servers deleted the empty parent"), "{}", found.summary);
    // What operators do: they restart a process.
    first.connect_within("restarted", TIMEOUT).await;
    first.start("restarted", "restarted", "latch", ELECTION).await;
    incident.console.clears(Code::NobodyLeads).await;
}

/// spark#22092: the masters started before the servers and never queued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_election_that_was_left_before_the_first_look_has_no_leader() {
    const ELECTION: &str = "/spark/leader_election";
    let mut incident = Incident::after(async |operator: &Client| {
        zk::make(operator, [ELECTION.to_owned()]).await;
        let node = enqueue(operator, &latch(ELECTION, 1)).await;
        zk::delete_all(operator, [node]).await;
    })
    .await;
    let found = incident.finds(Code::NobodyLeads, Severity::Warning).await;
    assert!(found.summary.contains("went before this was watched"), "{}", found.summary);
    enqueue(&incident.operator, &latch(ELECTION, 2)).await;
    incident.console.clears(Code::NobodyLeads).await;
}

/// elasticjob#2102, elasticjob#123: the job waits for a leader for ever, since nobody competes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_without_its_instance_node_has_no_leader() {
    let mut incident = Incident::start().await;
    let [machine] = incident.machines::<1>().await;
    let job = machine.session().await;
    zk::make(&incident.operator, ["/jobs/report/leader/election/latch".to_owned()]).await;
    let node = enqueue(&job, &latch("/jobs/report/leader/election/latch", 1)).await;
    incident.console.until_contenders(1).await;
    let instance = ("/jobs/report/leader/election/instance".to_owned(), b"10.0.0.1@-@4711".to_vec());
    let instance = zk::create_all(&job, CreateMode::Ephemeral, [instance]).await;
    zk::delete_all(&job, [node]).await;
    incident.console.until_contenders(1).await;
    // The latch is empty for longer than a lock may be without a leader.
    incident.console.surveys(5).await;
    assert_eq!(incident.console.raised_at_least(Severity::Info), [""; 0]);
    zk::delete_all(&job, instance).await;
    let found = incident.finds(Code::NobodyLeads, Severity::Critical).await;
    assert!(found.lock.path.as_str().ends_with("/instance"), "{}", found.lock.path);
}

/// marathon#1043: the elected instance fails to start its work and withdraws, and so does the other;
/// neither is a candidate any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidates_that_withdrew_one_after_another_leave_nobody_in_the_lead() {
    let mut incident = Incident::start().await;
    let machines = incident.machines::<2>().await;
    let sessions = [machines[0].session().await, machines[1].session().await];
    zk::make(&incident.operator, ["/marathon/leader".to_owned()]).await;
    let mut nodes = Vec::new();
    for session in &sessions {
        nodes.push(enqueue(session, "/marathon/leader/member_").await);
    }
    incident.until_listed(2).await;
    for (session, node) in sessions.iter().zip(nodes) {
        zk::delete_all(session, [node]).await;
    }
    let found = incident.finds(Code::NobodyLeads, Severity::Critical).await;
    assert!(found.summary.contains("its node was deleted while its session lived"), "{}", found.summary);
    enqueue(&sessions[0], "/marathon/leader/member_").await;
    incident.console.clears(Code::NobodyLeads).await;
}

/// schema-registry#1696: the master's node is gone, and the instance that lives
/// does not create it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_masters_node_that_nobody_creates_again_is_free() {
    const MASTER: &str = "/schema_registry/schema_registry_master";
    let mut incident = Incident::expecting(MASTER, None).await;
    let [machine, standby] = incident.machines::<2>().await;
    let (registry, standby) = (machine.session().await, standby.session().await);
    zk::make(&incident.operator, ["/schema_registry".to_owned()]).await;
    zk::create_all(&registry, CreateMode::Ephemeral, [(MASTER.to_owned(), b"{\"host\":\"a\"}".to_vec())]).await;
    let watched = standby.check_and_watch_stat(MASTER).await.expect("it is there").1;
    incident.until_listed(1).await;
    machine.cut_off().await;
    incident.console.during(watched.changed()).await;
    let _watched = standby.check_and_watch_stat(MASTER).await.expect("an answer");
    let found = incident.finds(Code::NobodyLeads, Severity::Critical).await;
    assert!(found.summary.contains("led last"), "{}", found.summary);
}
