//! Healthy clients under load raise no findings.

use std::num::NonZeroU32;
use std::time::Duration;

use futures::future::{join, join_all};
use lockscope_lock::{Access, Algorithm, Lock};
use lockscope_model::diagnose::{Severity, Thresholds};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::fixture::ConsoleFixture;
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;

/// The minimum number of observed acquisitions.
const MIN_ACQUISITIONS: usize = 10_000;

async fn turns(lock: &Lock, rounds: usize) -> usize {
    for round in 0..rounds {
        let guard = lock.acquire().await.expect("a sound connection");
        if round % 16 == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        guard.release().await.expect("a sound connection");
    }
    rounds
}

/// Lets sessions take turns.
async fn contend_as_clients(at: &str, path: &str, algorithm: Algorithm, clients: usize, rounds: usize) -> usize {
    let turns = (0..clients).map(|_| async {
        let client = zk::connect(at).await;
        turns(&Lock::new(&client, path, algorithm).expect("a good path"), rounds).await
    });
    join_all(turns).await.into_iter().sum()
}

/// Lets the threads of one session take turns.
async fn threads(at: &str, path: &str, threads: usize, rounds: usize) -> usize {
    let client = zk::connect(at).await;
    let turns = (0..threads)
        .map(|_| async { turns(&Lock::new(&client, path, Algorithm::Chain).expect("a good path"), rounds).await });
    join_all(turns).await.into_iter().sum()
}

/// Lets sessions come, take a few turns and go.
async fn visitors(at: &str, path: &str, algorithm: Algorithm, visits: usize) -> usize {
    let mut count = 0;
    for _ in 0..visits {
        let client = zk::connect(at).await;
        count += turns(&Lock::new(&client, path, algorithm).expect("a good path"), 3).await;
    }
    count
}

/// Runs threads of a foreign library in one process. Each crowd has a recipe, a path, a number of
/// threads and of rounds.
async fn foreign(mut process: Foreign, crowds: &[(&str, &str, usize, usize)]) -> usize {
    for (recipe, path, threads, rounds) in crowds {
        process.churn(&format!("{recipe}{path}"), recipe, path, *threads, *rounds).await;
    }
    let mut count = 0;
    for (recipe, path, ..) in crowds {
        count += process.churned(&format!("{recipe}{path}")).await;
    }
    process.quit().await;
    count
}

/// The crowds of clients at one server.
struct Crowds {
    at: String,
    tasks: JoinSet<usize>,
}

impl Crowds {
    fn new(at: &str) -> Self {
        Self { at: at.to_owned(), tasks: JoinSet::new() }
    }

    fn spawn(&mut self, path: &'static str, algorithm: Algorithm, clients: usize, rounds: usize) {
        let at = self.at.clone();
        self.tasks.spawn(async move { contend_as_clients(&at, path, algorithm, clients, rounds).await });
    }
}

/// Starts clients that never watch children, so that a missing watch would be noticed.
fn chains(at: &str) -> JoinSet<usize> {
    let mut crowds = Crowds::new(at);
    crowds.spawn("/curator", Algorithm::Chain, 4, 150);
    crowds.spawn("/chain", Algorithm::Chain, 8, 500);
    crowds.spawn("/single", Algorithm::Mutex, 4, 60);
    crowds.spawn("/shared", Algorithm::SharedChain(Access::Read), 3, 100);
    crowds.spawn("/shared", Algorithm::SharedChain(Access::Write), 2, 100);
    for path in ["/chain", "/curator"] {
        let at = at.to_owned();
        crowds.tasks.spawn(async move { visitors(&at, path, Algorithm::Chain, 60).await });
    }
    for path in ["/threads", "/chain"] {
        let at = at.to_owned();
        crowds.tasks.spawn(async move { threads(&at, path, 5, 60).await });
    }
    let at = at.to_owned();
    crowds.tasks.spawn(async move {
        let curators = [
            ("mutex", "/curator", 6, 400),
            ("read", "/rw", 2, 100),
            ("write", "/rw", 2, 100),
            ("write-lock", "/x", 3, 60),
        ];
        let (java, kazoo) = (Foreign::java(&at), Foreign::kazoo(&at));
        let (curators, kazoos) = join(foreign(java, &curators), foreign(kazoo, &[("lock", "/kazoo", 4, 150)])).await;
        curators + kazoos
    });
    crowds.tasks
}

/// Starts herds and semaphores, whose clients watch children.
fn herds(at: &str) -> JoinSet<usize> {
    let mut crowds = Crowds::new(at);
    crowds.spawn("/herd", Algorithm::Herd, 8, 80);
    crowds.spawn("/leases", Algorithm::Semaphore(NonZeroU32::new(2).expect("two")), 4, 60);
    crowds.spawn("/chain", Algorithm::Chain, 4, 150);
    let visited = at.to_owned();
    crowds.tasks.spawn(async move { visitors(&visited, "/herd", Algorithm::Herd, 60).await });
    let at = at.to_owned();
    crowds.tasks.spawn(async move {
        let (java, kazoo) = (Foreign::java(&at), Foreign::kazoo(&at));
        let (curators, kazoos) =
            ([("semaphore", "/cs", 3, 60)], [("semaphore", "/ks", 3, 40), ("lock", "/kazoo", 3, 40)]);
        let (curators, kazoos) = join(foreign(java, &curators), foreign(kazoo, &kazoos)).await;
        curators + kazoos
    });
    crowds.tasks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_acquisitions_of_healthy_clients_raise_no_warning() {
    let mut count = 0;
    for crowds in [chains, herds] {
        let server = Server::start();
        let at = server.connect_string();
        let mut fixture = ConsoleFixture::start(&at, Thresholds::default()).await;
        let began = Instant::now();
        let done: usize = fixture.during(crowds(&at).join_all()).await.into_iter().sum();
        // Troubles left behind by the last clients would show now.
        fixture.looks_on(&[1, 5, 0]).await;
        println!("{done} acquisitions in {:?}; {:#?}", began.elapsed(), fixture.raised_at_least(Severity::Info));
        assert_eq!(fixture.raised_at_least(Severity::Warning), [""; 0]);
        count += done;
    }
    assert!(count >= MIN_ACQUISITIONS, "{count}");
}
