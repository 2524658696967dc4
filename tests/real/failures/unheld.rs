//! Contenders that stand first and wait themselves: nobody holds.

use std::time::Duration;

use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::{Code, Severity, Thresholds};
use lockscope_model::queue::{ContenderState, LockQueue};
use zookeeper_client::Client;

use super::fixture::ConsoleFixture;
use super::forgotten::{curator, enqueue, watch};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;

const TIMEOUT: Duration = Duration::from_secs(6);

async fn client(server: &Server) -> Client {
    zk::connect_within(&server.connect_string(), TIMEOUT).await
}

fn kazoo(lock: &str, kind: &str, number: u32) -> String {
    format!("{lock}/{number:032x}__{kind}__")
}

/// Returns the states of all contenders, by lock and place.
fn states(fixture: &ConsoleFixture) -> Vec<Vec<ContenderState>> {
    let of_lock = |lock: &LockQueue| lock.rows(0..lock.len()).map(|row| row.state).collect();
    fixture.table.locks().filter(|lock| !lock.is_empty()).map(of_lock).collect()
}

/// kazoo#649: a reader takes a writer behind it for one before it, and each waits for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_and_a_writer_that_wait_for_each_other_do_not_hold() {
    let server = Server::start();
    let (one, other) = (client(&server).await, client(&server).await);
    zk::make(&one, ["/rw".to_owned()]).await;
    let reader = enqueue(&one, &kazoo("/rw", "rlock", 1)).await;
    let writer = enqueue(&other, &kazoo("/rw", "lock", 2)).await;
    let (_for_writer, _for_reader) = (watch(&one, &writer).await, watch(&other, &reader).await);
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    fixture.until("nobody holds", |fixture| fixture.standing(Code::NobodyHolds).is_some()).await;
    let found = fixture.standing(Code::NobodyHolds).expect("it stands");
    assert_eq!((found.severity, found.node.as_deref()), (Severity::Critical, reader.strip_prefix("/rw/")));
    assert_eq!(states(&fixture), [[ContenderState::Waits; 2]]);
    other.delete(&writer, None).await.expect("it is there");
    fixture.clears(Code::NobodyHolds).await;
    fixture.until("the reader holds", |fixture| states(fixture) == [[ContenderState::Holds]]).await;
}

/// Helix' and ZooKeeper's `WriteLock`: the client asks whether a predecessor exists that is gone already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_watches_a_node_that_is_gone_does_not_hold() {
    let server = Server::start();
    let clients = [client(&server).await, client(&server).await, client(&server).await];
    zk::make(&clients[0], ["/lock".to_owned()]).await;
    let mut nodes = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        nodes.push(enqueue(client, &format!("/lock/x-{number}-")).await);
    }
    clients[0].delete(&nodes[0], None).await.expect("it is there");
    let (stat, _for_ever) = clients[1].check_and_watch_stat(&nodes[0]).await.expect("an answer");
    assert!(stat.is_none());
    let _sound = watch(&clients[2], &nodes[1]).await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    fixture.until("nobody holds", |fixture| fixture.standing(Code::NobodyHolds).is_some()).await;
    let found = fixture.standing(Code::NobodyHolds).expect("it stands");
    assert_eq!((found.severity, found.node.as_deref()), (Severity::Critical, nodes[1].strip_prefix("/lock/")));
    clients[1].delete(&nodes[1], None).await.expect("it is there");
    fixture.clears(Code::NobodyHolds).await;
    fixture.until("the next one holds", |fixture| states(fixture) == [[ContenderState::Holds]]).await;
}

/// kazoo counts the nodes of other libraries by patterns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_lock_of_two_libraries_has_one_holder() {
    let server = Server::start();
    let go = client(&server).await;
    zk::make(&go, ["/mixed".to_owned()]).await;
    let first = enqueue(&go, &curator("/mixed", 1)).await;
    let mut python = Foreign::kazoo(&server.connect_string());
    python.connect_within("a", TIMEOUT).await;
    python.start("a", "py", "mixed", "/mixed").await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    fixture.until("both nodes", |fixture| fixture.table.contender_count() == 2).await;
    let only_one_holds = |fixture: &ConsoleFixture| {
        let mut states = states(fixture).concat();
        states.sort_by_key(|state| state.id());
        states == [ContenderState::Holds, ContenderState::Waits]
    };
    fixture.until("only one holds", only_one_holds).await;
    go.delete(&first, None).await.expect("it is there");
    let held = fixture.during(python.held("py")).await;
    fixture.until("the other one holds", |fixture| states(fixture) == [[ContenderState::Holds]]).await;
    assert!(held.contains("__lock__"), "{held}");
    python.quit().await;
}

/// kazoo#429: a dead entry at the head of a semaphore's queue; the lease is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_free_lease_behind_a_dead_head_is_critical() {
    let server = Server::start();
    let mut python = Foreign::kazoo(&server.connect_string());
    python.connect_within("a", TIMEOUT).await;
    python.start("a", "holder", "semaphore", "/s").await;
    python.held("holder").await;
    let forgetful = client(&server).await;
    let dead = enqueue(&forgetful, &kazoo("/s-__lock__", "lock", 1)).await;
    let again = enqueue(&forgetful, &kazoo("/s-__lock__", "lock", 2)).await;
    let _watch = watch(&forgetful, &dead).await;
    python.connect_within("b", TIMEOUT).await;
    python.start("b", "next", "semaphore", "/s").await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    fixture.until("four contenders", |fixture| fixture.table.contender_count() == 4).await;
    fixture.during(python.release("holder")).await;
    fixture.until("nobody holds", |fixture| fixture.standing(Code::NobodyHolds).is_some()).await;
    let found = fixture.standing(Code::NobodyHolds).expect("it stands");
    assert_eq!((found.severity, found.node.as_deref()), (Severity::Critical, dead.strip_prefix("/s-__lock__/")));
    forgetful.delete(&dead, None).await.expect("it is there");
    forgetful.delete(&again, None).await.expect("it is there");
    fixture.during(python.held("next")).await;
    fixture.clears(Code::NobodyHolds).await;
    python.quit().await;
}

/// gbif/pipelines#1164: a job set a barrier and was killed. The node is persistent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_barrier_that_a_dead_job_left_is_taken_by_nobody() {
    const BARRIER: &str = "/barrier";
    let server = Server::start();
    let (job, worker) = (client(&server).await, client(&server).await);
    zk::make(&job, [BARRIER.to_owned()]).await;
    drop(job);
    let _waits = worker.check_and_watch_stat(BARRIER).await.expect("an answer");
    let (connect, named) = (server.connect_string(), ZnodePath::new(BARRIER).expect("a path"));
    let mut fixture = ConsoleFixture::expecting(&connect, &connect, Thresholds::default(), (&[], &[named])).await;
    let stands_critical = |fixture: &ConsoleFixture| {
        fixture.standing(Code::PersistentContender).is_some_and(|found| found.severity == Severity::Critical)
    };
    fixture.until("a critical finding", stands_critical).await;
    worker.delete(BARRIER, None).await.expect("it is there");
    fixture.clears(Code::PersistentContender).await;
}

/// `ShedLock`#347 and #140: a persistent node per job, whose data is the time until which it is
/// locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_locked_until_its_time_is_over_and_again_when_it_is_written() {
    let server = Server::start();
    let scheduler = client(&server).await;
    let until = |seconds| (chrono::Utc::now() + chrono::TimeDelta::seconds(seconds)).to_rfc3339().into_bytes();
    zk::create_all(
        &scheduler,
        zookeeper_client::CreateMode::Persistent,
        [("/shedlock".to_owned(), Vec::new()), ("/shedlock/report".to_owned(), until(3_600))],
    )
    .await;
    let mut fixture = ConsoleFixture::start(&server.connect_string(), Thresholds::default()).await;
    let holding = |fixture: &ConsoleFixture| fixture.table.locks().map(LockQueue::holding).collect::<Vec<_>>();
    fixture.until("a locked job", |fixture| holding(fixture) == [1]).await;
    scheduler.set_data("/shedlock/report", &until(2), None).await.expect("it is there");
    fixture.until("a free job", |fixture| holding(fixture) == [0]).await;
    scheduler.set_data("/shedlock/report", &until(3_600), None).await.expect("it is there");
    fixture.until("a job that is locked again", |fixture| holding(fixture) == [1]).await;
    assert_eq!(fixture.raised_at_least(Severity::Info), [""; 0]);
}
