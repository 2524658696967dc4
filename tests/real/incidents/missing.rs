//! Candidates that are gone though their processes live.

use lockscope_model::diagnose::{Code, Severity};

use super::fixture::{Incident, TIMEOUT};
use crate::failures::forgotten::{enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope};

/// marathon#4000: after a bad night of the network, an instance is connected with a new session and is
/// no candidate any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_came_back_without_its_node_is_no_candidate_any_more() {
    const ELECTION: &str = "/marathon/leader";
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    zk::make(&incident.operator, [ELECTION.to_owned()]).await;
    let leader = first.session().await;
    let node = enqueue(&leader, "/marathon/leader/member_").await;
    let old = second.abandoned_session(TIMEOUT).await;
    enqueue(&old, "/marathon/leader/member_").await;
    let _watch = watch(&old, &node).await;
    incident.until_listed(2).await;
    drop(old);
    let new = second.session().await;
    incident.console.until_contenders(1).await;
    let found = incident.finds(Code::ParticipantMissing, Severity::Warning).await;
    assert!(found.summary.contains(&zk::session_of(&new).to_string()), "{}", found.summary);
    enqueue(&new, "/marathon/leader/member_").await;
    incident.console.clears(Code::ParticipantMissing).await;
}

/// The second candidate's session expires, and on its machine only another lockscope connects. That
/// is not the candidate, and the next session of the application may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_lockscope_on_the_machine_is_not_the_candidate_that_is_missing() {
    const ELECTION: &str = "/app/leader";
    let mut incident = Incident::start().await;
    let [first, second] = incident.machines::<2>().await;
    zk::make(&incident.operator, [ELECTION.to_owned()]).await;
    let leader = first.session().await;
    let node = enqueue(&leader, "/app/leader/member_").await;
    let old = second.abandoned_session(TIMEOUT).await;
    enqueue(&old, "/app/leader/member_").await;
    let _watch = watch(&old, &node).await;
    incident.until_listed(2).await;
    drop(old);
    let session_timeout = format!("{}s", TIMEOUT.as_secs());
    let arguments = ["watch", "--connect", &second.connect_string(), "--session-timeout", &session_timeout];
    let _console = Running::start(lockscope(&arguments));
    incident.console.until_contenders(1).await;
    // Longer than a candidate may be away.
    incident.console.looks_on(&[0, 5]).await;
    let accused = |code: Code| matches!(code, Code::ParticipantMissing | Code::AdoptedNode | Code::StaleOwner);
    let raised: Vec<_> = incident.console.raised.iter().filter(|finding| accused(finding.code)).collect();
    assert!(raised.is_empty(), "{raised:#?}");
    let new = second.session().await;
    let found = incident.finds(Code::ParticipantMissing, Severity::Warning).await;
    assert!(found.summary.contains(&zk::session_of(&new).to_string()), "{}", found.summary);
}

/// curator#298 (CURATOR-498), nifi#4806: of six candidates five are left. Here Curator's latch does
/// not know that its node is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_latch_whose_node_was_deleted_waits_for_ever() {
    const ELECTION: &str = "/app/latch";
    let mut incident = Incident::expecting(ELECTION, Some(3)).await;
    let machines = incident.machines::<3>().await;
    let mut latches = Vec::new();
    for (number, machine) in machines.iter().enumerate() {
        let (name, mut java) = (format!("latch-{number}"), Foreign::java(&machine.connect_string()));
        java.connect(&name).await;
        java.start(&name, &name, "latch", ELECTION).await;
        incident.console.until_contenders(number + 1).await;
        latches.push((name, java));
    }
    incident.until_listed(3).await;
    let queue = zk::tree(&incident.operator, ELECTION).await;
    let last = queue.iter().max_by_key(|node| node.stat.czxid).expect("three nodes");
    zk::delete_all(&incident.operator, [last.path.clone()]).await;
    incident.console.until_contenders(2).await;
    let found = incident.finds(Code::ParticipantMissing, Severity::Warning).await;
    assert!(found.summary.starts_with("2 of 3 expected candidates are here; last went latch-2"), "{}", found.summary);
    let (name, java) = latches.last_mut().expect("three");
    java.abandon(name).await;
    java.start(name, "again", "latch", ELECTION).await;
    incident.console.clears(Code::ParticipantMissing).await;
}
