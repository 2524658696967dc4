//! Deletions that race with what else happens to an ensemble: its leader changes, its server starts
//! again, another console carries out a plan of the same nodes, the servers reap a container and its
//! names come back. No node is deleted that was not chosen, each outcome is true, and the audit log
//! has each once.
//!
//! `LOCKSCOPE_RACES=N` plays each race N times.

use std::time::Duration;

use lockscope_base::znode::Zxid;
use lockscope_live::admin::audit::{HistoryLimits, read};
use lockscope_live::admin::{Audit, DeletePlan, Ending, NodeOutcome};
use tempfile::TempDir;
use tokio::task::{block_in_place, spawn};
use tokio::time::sleep;
use zookeeper_client::{Client, CreateMode, Stat};

use super::plans::{carry_out, guarded, log};
use crate::harness::ensemble::Ensemble;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::{eventually, eventually_within};
use crate::harness::zk;

/// How long an ensemble may take to serve again.
const SERVES_AGAIN: Duration = Duration::from_secs(60);

/// The longest time between the beginning of a deletion and what races with it.
const LATEST: u64 = 40;

fn rounds(usual: usize) -> usize {
    std::env::var("LOCKSCOPE_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Waits for a random part of the time that a deletion takes.
async fn a_moment() {
    sleep(Duration::from_micros(fastrand::u64(0..LATEST * 1000))).await;
}

/// A queue of which every second node is chosen.
struct Queue {
    chosen: Vec<(String, i64)>,
    others: Vec<(String, Stat)>,
}

impl Queue {
    async fn new(client: &Client, lock: &str) -> Self {
        zk::make(client, [lock.to_owned()]).await;
        let nodes = (0..9).map(|_| (format!("{lock}/lock-"), b"data".to_vec()));
        let (mut chosen, mut others) = (Vec::new(), Vec::new());
        for (at, node) in zk::create_all(client, CreateMode::PersistentSequential, nodes).await.into_iter().enumerate()
        {
            let stat = client.check_stat(&node).await.expect("an answer").expect("it was made");
            if at % 2 == 0 { chosen.push((node, stat.czxid)) } else { others.push((node, stat)) }
        }
        Self { chosen, others }
    }

    fn paths(&self) -> Vec<&str> {
        self.chosen.iter().map(|(path, _)| &**path).collect()
    }

    /// Checks what consoles reported about their plans of all chosen nodes.
    async fn judge(&self, client: &Client, consoles: &[Console]) {
        let stat = async |path: &str| {
            let answered = async || client.check_stat(path).await.map_err(|error| error.to_string());
            eventually_within(SERVES_AGAIN, "an answer", answered).await
        };
        let synced = async || client.sync("/").await.map_err(|error| error.to_string());
        eventually_within(SERVES_AGAIN, "a sync", synced).await;
        for (path, stat_before) in &self.others {
            let now = stat(path).await.unwrap_or_else(|| panic!("{path} was not chosen, and is gone"));
            assert_eq!((now.czxid, now.version), (stat_before.czxid, stat_before.version), "{path} was not chosen");
        }
        for (path, czxid) in &self.chosen {
            let is_there = stat(path).await.is_some_and(|stat| stat.czxid == *czxid);
            let endings: Vec<&Ending> = consoles.iter().filter_map(|console| console.ending(path)).collect();
            let claims = endings.iter().filter(|ending| matches!(ending, Ending::Deleted { .. })).count();
            let unknown = endings.iter().any(|ending| matches!(ending, Ending::NotKnown { .. }));
            assert!(claims <= 1, "{path}: two say that they deleted it: {endings:?}");
            if is_there {
                let denies = endings.iter().any(|ending| matches!(ending, Ending::Gone | Ending::Deleted { .. }));
                assert!(!denies, "{path} is there: {endings:?}");
            } else {
                assert!(claims == 1 || unknown, "{path} is gone, and nobody says so: {endings:?}");
            }
        }
        consoles.iter().for_each(Console::judge_audit);
    }
}

/// A console with a plan that is confirmed and not carried out yet.
struct Confirmed {
    client: Client,
    plan: DeletePlan,
}

impl Confirmed {
    /// Makes the plan of these nodes on a session of its own.
    async fn new(connect: &str, nodes: &[&str]) -> Self {
        let client = zk::connect(connect).await;
        let plan = guarded(&client, nodes).await;
        Self { client, plan }
    }

    async fn carry_out(self) -> Console {
        let (folder, audit) = log();
        let log = audit.clone();
        // A task of its own, as on the screen.
        let outcomes = spawn(async move { carry_out(self.client, self.plan, &log).await }).await.expect("it ends");
        Console { outcomes, audit, _folder: folder }
    }
}

/// What one console reported, and its audit log.
struct Console {
    outcomes: Vec<NodeOutcome>,
    audit: Audit,
    _folder: TempDir,
}

impl Console {
    fn ending(&self, path: &str) -> Option<&Ending> {
        self.outcomes.iter().find(|outcome| outcome.path.as_str() == path).map(|outcome| &outcome.ending)
    }

    /// Checks that the log has each node once, with the outcome that was reported.
    fn judge_audit(&self) {
        let entries = read(self.audit.path(), HistoryLimits::default()).expect("it can be read").entries;
        assert_eq!(entries.len(), self.outcomes.len());
        for outcome in &self.outcomes {
            let mut of_node = entries.iter().filter(|entry| entry.subject.path == outcome.path.as_str());
            let entry = of_node.next().unwrap_or_else(|| panic!("{} is not in the log", outcome.path));
            let logged = entry.outcome.as_ref().map(|logged| &*logged.result);
            assert_eq!((logged, of_node.next().is_none()), (Some(outcome.ending.id()), true), "{}", outcome.path);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_changes_while_a_plan_is_carried_out() {
    let mut ensemble = block_in_place(Ensemble::start);
    let connect = ensemble.connect_string();
    let client = zk::connect(&connect).await;
    for round in 0..rounds(2) {
        let queue = Queue::new(&client, &format!("/elected/{round}")).await;
        let console = Confirmed::new(&connect, &queue.paths()).await;
        let stops = async {
            a_moment().await;
            block_in_place(|| ensemble.kill_leader())
        };
        let (console, leader) = tokio::join!(console.carry_out(), stops);
        queue.judge(&client, &[console]).await;
        block_in_place(|| ensemble.start_again(leader));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_starts_again_while_a_plan_is_sent() {
    let mut server = block_in_place(Server::in_own_process);
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    for round in 0..rounds(2) {
        let queue = Queue::new(&client, &format!("/restarted/{round}")).await;
        let console = Confirmed::new(&connect, &queue.paths()).await;
        let restarts = async {
            a_moment().await;
            block_in_place(|| server.restart());
        };
        let (console, ()) = tokio::join!(console.carry_out(), restarts);
        queue.judge(&client, &[console]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consoles_carry_out_plans_of_the_same_nodes() {
    let ensemble = block_in_place(Ensemble::start);
    let client = zk::connect(&ensemble.connect_string()).await;
    for round in 0..rounds(10) {
        let queue = Queue::new(&client, &format!("/twice/{round}")).await;
        // Each is with another member, and the second one starts later.
        let one = Confirmed::new(&ensemble.address(round % 3), &queue.paths()).await;
        let other = Confirmed::new(&ensemble.address((round + 1) % 3), &queue.paths()).await;
        let later = async {
            sleep(Duration::from_micros(fastrand::u64(0..5_000))).await;
            other.carry_out().await
        };
        let consoles = <[Console; 2]>::from(tokio::join!(one.carry_out(), later));
        queue.judge(&client, &consoles).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_is_reaped_and_its_names_come_back() {
    let server =
        block_in_place(|| Settings::default().property("znode.container.checkIntervalMs=20").own_process().start());
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    for round in 0..rounds(5) {
        let lock = format!("/reaped-{round}");
        let make = async || {
            let made = client.create(&lock, b"", &zk::open(CreateMode::Container)).await;
            made.unwrap_or_else(|error| panic!("{lock}: {error}"));
            zk::create_all(&client, CreateMode::PersistentSequential, [(format!("{lock}/lock-"), Vec::new())])
                .await
                .remove(0)
        };
        let node = make().await;
        let before = client.check_stat(&node).await.expect("an answer").expect("it was made");
        let console = Confirmed::new(&connect, &[&node]).await;
        let remakes = async {
            a_moment().await;
            let was_there = client.delete(&node, None).await.is_ok();
            eventually("the end of the container", async || match client.check_stat(&lock).await {
                Ok(None) => Ok(()),
                seen => Err(format!("{seen:?}")),
            })
            .await;
            (make().await, was_there)
        };
        let (console, (again, was_there)) = tokio::join!(console.carry_out(), remakes);
        assert_eq!(again, node, "a new container counts from the beginning");
        let now = client.check_stat(&node).await.expect("an answer").expect("the new node lives");
        assert_ne!(now.czxid, before.czxid);
        let ending = console.ending(&node).expect("an outcome");
        let is_true = match ending {
            Ending::Deleted { .. } => !was_there,
            Ending::ChangedHands { czxid } => *czxid == Zxid(now.czxid),
            Ending::Gone | Ending::NotKnown { .. } => true,
            other => panic!("{other:?}"),
        };
        assert!(
            is_true,
            "{ending:?}, although the other client {}",
            if was_there { "deleted it" } else { "found it gone" }
        );
        console.judge_audit();
    }
}
