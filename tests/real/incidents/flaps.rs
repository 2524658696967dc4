//! Leadership that changes hands again and again.

use lockscope_model::diagnose::{Code, Severity};
use zookeeper_client::CreateMode;

use super::fixture::Incident;
use crate::failures::forgotten::enqueue;
use crate::harness::foreign::Foreign;
use crate::harness::zk;

/// flink#11338 (FLINK-10052), curator#1161 (CURATOR-645): a latch gives its leadership up at each
/// short cut of its connection, and queues again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn latches_that_give_up_at_each_cut_flap() {
    const ELECTION: &str = "/flink/default/leader/dispatcher/latch";
    let mut incident = Incident::start().await;
    let machines = incident.machines::<2>().await;
    let [mut first, mut second] = machines.each_ref().map(|machine| Foreign::java(&machine.connect_string()));
    first.connect("first").await;
    second.connect("second").await;
    first.start("first", "first", "latch", ELECTION).await;
    first.held("first").await;
    for _ in 0..4 {
        second.start("second", "second", "latch", ELECTION).await;
        incident.console.until_contenders(2).await;
        first.release("first").await;
        second.held("second").await;
        first.start("first", "first", "latch", ELECTION).await;
        incident.console.until_contenders(2).await;
        second.release("second").await;
        first.held("first").await;
    }
    let found = incident.finds(Code::Flapping, Severity::Warning).await;
    for part in ["first led", "second led", "gone while the session lived"] {
        assert!(found.summary.contains(part), "{part}: {}", found.summary);
    }
}

/// solr#4625: each overseer that is elected gives up and joins again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overseers_that_join_again_at_once_flap() {
    let mut incident = Incident::start().await;
    let machines = incident.machines::<2>().await;
    let election = "/overseer_elect/election";
    zk::make(&incident.operator, [election.to_owned()]).await;
    let sessions = [machines[0].session().await, machines[1].session().await];
    let join = async |overseer: usize| {
        let session = &sessions[overseer];
        let id = zk::session_of(session).0;
        enqueue(session, &format!("{election}/{id}-10.0.0.{overseer}:8983_solr-n_")).await
    };
    let mut nodes = [join(0).await, join(1).await];
    incident.until_listed(2).await;
    for turn in 0..8 {
        let overseer = turn % 2;
        zk::create_all(&sessions[overseer], CreateMode::Ephemeral, [("/overseer_elect/leader".to_owned(), Vec::new())])
            .await;
        incident.console.until_contenders(3).await;
        zk::delete_all(&sessions[overseer], ["/overseer_elect/leader".to_owned(), nodes[overseer].clone()]).await;
        nodes[overseer] = join(overseer).await;
    }
    let found = incident.finds(Code::Flapping, Severity::Warning).await;
    assert!(found.lock.path.as_str() == election, "{}", found.lock.path);
}

/// pulsar#10522: each broker that is elected releases the leadership at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_that_release_at_once_flap() {
    const LEADER: &str = "/loadbalance/leader";
    let mut incident = Incident::expecting(LEADER, None).await;
    let machines = incident.machines::<2>().await;
    zk::make(&incident.operator, ["/loadbalance".to_owned()]).await;
    let sessions = [machines[0].session().await, machines[1].session().await];
    for turn in 0..10 {
        let broker = &sessions[turn % 2];
        zk::create_all(broker, CreateMode::Ephemeral, [(LEADER.to_owned(), b"broker".to_vec())]).await;
        incident.console.until_contenders(1).await;
        if turn < 2 {
            incident.until_listed(1).await;
        }
        zk::delete_all(broker, [LEADER.to_owned()]).await;
        incident.console.until_contenders(0).await;
    }
    let found = incident.finds(Code::Flapping, Severity::Warning).await;
    assert!(found.summary.contains("changed hands") && found.summary.contains("broker led "), "{}", found.summary);
}

/// hortonworks/ansible-hortonworks#45: a failover controller takes the lock, cannot fence the former
/// active name node, and gives the lock up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_gives_up_each_time_changes_no_hands() {
    const LOCK: &str = "/hadoop-ha/ns1/ActiveStandbyElectorLock";
    let mut incident = Incident::start().await;
    let [machine] = incident.machines::<1>().await;
    zk::make(&incident.operator, ["/hadoop-ha/ns1".to_owned()]).await;
    let controller = machine.session().await;
    for turn in 0..8 {
        zk::create_all(&controller, CreateMode::Ephemeral, [(LOCK.to_owned(), b"nn2".to_vec())]).await;
        incident.console.until_contenders(1).await;
        if turn == 0 {
            incident.until_listed(1).await;
        }
        zk::delete_all(&controller, [LOCK.to_owned()]).await;
        incident.console.until_contenders(0).await;
    }
    // Nobody leads from here on, and thus soon for most of the time.
    let found = incident.finds(Code::Flapping, Severity::Critical).await;
    assert!(found.summary.starts_with("nn2 took the leadership and gave it up "), "{}", found.summary);
    assert!(!found.remedy.contains("timeout"), "no session expired: {}", found.remedy);
}
