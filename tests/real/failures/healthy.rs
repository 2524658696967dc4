//! Healthy clients under load are not accused.

use std::num::NonZeroU32;
use std::time::Duration;

use futures::future::{join, join_all};
use lockscope::diagnose::{Severity, Thresholds};
use lockscope::lock::{Access, Algorithm, Lock};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::doctor::Doctor;
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk;

/// How many acquisitions must have been looked at.
const ENOUGH: usize = 10_000;

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

/// As many sessions, each of which takes its turns.
async fn crowd(at: &str, path: &str, algorithm: Algorithm, clients: usize, rounds: usize) -> usize {
    let turns = (0..clients).map(|_| async {
        let client = zk::connect(at).await;
        turns(&Lock::new(&client, path, algorithm).expect("a good path"), rounds).await
    });
    join_all(turns).await.into_iter().sum()
}

/// One session whose threads take turns.
async fn threads(at: &str, path: &str, threads: usize, rounds: usize) -> usize {
    let client = zk::connect(at).await;
    let turns = (0..threads)
        .map(|_| async { turns(&Lock::new(&client, path, Algorithm::Chain).expect("a good path"), rounds).await });
    join_all(turns).await.into_iter().sum()
}

/// Sessions that come, take a few turns and go.
async fn visitors(at: &str, path: &str, algorithm: Algorithm, visits: usize) -> usize {
    let mut count = 0;
    for _ in 0..visits {
        let client = zk::connect(at).await;
        count += turns(&Lock::new(&client, path, algorithm).expect("a good path"), 3).await;
    }
    count
}

/// Curator's and kazoo's clients, each in processes of their own.
async fn foreign(at: &str) -> usize {
    let (mut java, mut kazoo) = (Foreign::java(at), Foreign::kazoo(at));
    let curators = async {
        let churns = [
            ("mutex", "/curator", 6, 400),
            ("read", "/rw", 2, 100),
            ("write", "/rw", 2, 100),
            ("write-lock", "/x", 3, 60),
            ("semaphore", "/cs", 3, 60),
        ];
        for (recipe, path, threads, rounds) in churns {
            java.churn(&format!("{recipe}{path}"), recipe, path, threads, rounds).await;
        }
        let mut count = 0;
        for (recipe, path, ..) in churns {
            count += java.churned(&format!("{recipe}{path}")).await;
        }
        java.quit().await;
        count
    };
    let kazoos = async {
        let churns = [("lock", "/kazoo", 4, 150), ("semaphore", "/ks", 3, 40)];
        for (recipe, path, threads, rounds) in churns {
            kazoo.churn(&format!("{recipe}{path}"), recipe, path, threads, rounds).await;
        }
        let mut count = 0;
        for (recipe, path, ..) in churns {
            count += kazoo.churned(&format!("{recipe}{path}")).await;
        }
        kazoo.quit().await;
        count
    };
    let (curators, kazoos) = join(curators, kazoos).await;
    curators + kazoos
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_acquisitions_of_healthy_clients_raise_nothing_worth_a_warning() {
    let server = Server::start();
    let at = server.connect_string();
    let mut doctor = Doctor::start(&at, Thresholds::default()).await;
    let began = Instant::now();
    let mut crowds = JoinSet::new();
    let spawn = |crowds: &mut JoinSet<usize>, path: &'static str, algorithm, clients, rounds| {
        let at = at.clone();
        crowds.spawn(async move { crowd(&at, path, algorithm, clients, rounds).await });
    };
    spawn(&mut crowds, "/curator", Algorithm::Chain, 4, 150);
    spawn(&mut crowds, "/chain", Algorithm::Chain, 8, 500);
    spawn(&mut crowds, "/herd", Algorithm::Herd, 8, 80);
    spawn(&mut crowds, "/single", Algorithm::Mutex, 4, 60);
    spawn(&mut crowds, "/shared", Algorithm::SharedChain(Access::Read), 3, 100);
    spawn(&mut crowds, "/shared", Algorithm::SharedChain(Access::Write), 2, 100);
    spawn(&mut crowds, "/leases", Algorithm::Semaphore(NonZeroU32::new(2).expect("two")), 4, 60);
    for (path, algorithm) in [("/chain", Algorithm::Chain), ("/herd", Algorithm::Herd), ("/curator", Algorithm::Chain)]
    {
        let at = at.clone();
        crowds.spawn(async move { visitors(&at, path, algorithm, 60).await });
    }
    for path in ["/threads", "/chain"] {
        let at = at.clone();
        crowds.spawn(async move { threads(&at, path, 5, 60).await });
    }
    let theirs = at.clone();
    crowds.spawn(async move { foreign(&theirs).await });
    let count: usize = doctor.during(crowds.join_all()).await.into_iter().sum();
    // What the last of them left behind would show now.
    doctor.during(sleep(Duration::from_secs(3))).await;
    println!("{count} acquisitions in {:?}; {:#?}", began.elapsed(), doctor.raised_at_least(Severity::Info));
    assert!(count >= ENOUGH, "{count}");
    assert_eq!(doctor.raised_at_least(Severity::Warning), [""; 0]);
}
