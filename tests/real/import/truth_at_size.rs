//! The history of very many acquisitions by four libraries, compared with what the clients did and
//! with an independent reading of the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockscope_lock::{Algorithm, Lock};
use zookeeper_client::Client;

use super::fixture::{Import, files_of};
use super::lives::{Lives, hex};
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::wait::eventually_within;
use crate::harness::zk;

/// The number of transactions in the log.
const TRANSACTIONS: usize = 100_000;

/// The number of acquisitions: each is a node that is created and deleted.
const ACQUISITIONS: usize = TRANSACTIONS / 2;

/// The clients of each lock, and how often each of them acquires it.
const CLIENTS: usize = 4;
const ROUNDS: usize = 50;

/// How long the log may take to be written to its end.
const LOG_PATIENCE: Duration = Duration::from_secs(120);

/// The path of a library's locks.
const LIBRARIES: [&str; 4] = ["/many/curator", "/many/write-lock", "/many/kazoo", "/many/built-in"];

/// Counts the acquisitions of all libraries.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn add(&self, acquisitions: usize) {
        assert_eq!(acquisitions, CLIENTS * ROUNDS);
        self.0.fetch_add(acquisitions, Ordering::Relaxed);
    }

    fn is_enough(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ACQUISITIONS
    }
}

/// Lets a library's clients contend for one lock after the other.
async fn churns(mut foreign: Foreign, recipe: &str, below: &str, count: Count) -> usize {
    let mut locks = 0;
    while !count.is_enough() {
        let id = format!("{recipe}-{locks}");
        foreign.churn(&id, recipe, &format!("{below}/{locks:04}"), CLIENTS, ROUNDS).await;
        count.add(foreign.churned(&id).await);
        locks += 1;
    }
    foreign.quit().await;
    locks
}

/// Lets built-in locks contend for one lock after the other.
async fn built_in(clients: Vec<Client>, below: &str, count: Count) -> usize {
    let algorithms = [Algorithm::Chain, Algorithm::ChainAhead, Algorithm::Herd];
    let mut locks = 0;
    while !count.is_enough() {
        let lock = format!("{below}/{locks:04}");
        let turns = clients.iter().map(|client| async {
            for _ in 0..ROUNDS {
                let lock = Lock::new(client, &lock, algorithms[locks % algorithms.len()]).expect("a good path");
                lock.acquire().await.expect("it comes").release().await.expect("it was held");
            }
        });
        futures::future::join_all(turns).await;
        count.add(clients.len() * ROUNDS);
        locks += 1;
    }
    locks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: cargo test --test real -- --ignored --nocapture import::"]
async fn a_hundred_thousand_transactions_of_four_libraries_are_told_as_they_were() {
    let server = Server::start();
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, LIBRARIES.map(str::to_owned)).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(zk::connect(&at).await);
    }
    let built_in_sessions: Vec<String> = clients.iter().map(|client| hex(zk::session_of(client))).collect();
    let count = Count::default();
    let [curator, write_lock, kazoo, own] = LIBRARIES;
    let locks = tokio::join!(
        churns(Foreign::java(&at), "mutex", curator, count.clone()),
        churns(Foreign::java(&at), "write-lock", write_lock, count.clone()),
        churns(Foreign::kazoo(&at), "lock", kazoo, count.clone()),
        built_in(clients, own, count.clone()),
    );
    let locks = BTreeMap::from([(curator, locks.0), (write_lock, locks.1), (kazoo, locks.2), (own, locks.3)]);
    zk::make(&client, ["/end".to_owned()]).await;
    let lives = eventually_within(LOG_PATIENCE, "the whole log", async || {
        let lives = Lives::read(&files_of(&server));
        if lives.made.contains("/end") { Ok(lives) } else { Err(lives.zxids.len()) }
    })
    .await;
    let import = Import::of(&[&files_of(&server)]).await;
    println!("{} transactions, {} rows; locks of each library: {locks:?}", lives.zxids.len(), import.rows.len());
    assert_eq!((import.gaps(), import.damaged()), (vec![], vec![]));

    let truth = lives.rows(&["/many"]);
    let differences = import.rows.iter().zip(&truth).filter(|(told, truth)| told != truth).count();
    println!("{differences} differences from the log");
    assert_eq!((differences, import.rows.len()), (0, truth.len()));
    // What each session did at each lock.
    let mut did: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in &import.rows {
        assert!(row.held && row.end == "released", "{row:?}");
        *did.entry((&row.lock, &row.session)).or_default() += 1;
    }
    let differences = did.iter().filter(|(_, rounds)| **rounds != ROUNDS).count();
    println!("{differences} differences from what {} clients did", did.len());
    assert_eq!((differences, did.len()), (0, CLIENTS * locks.values().sum::<usize>()));
    for (_, session) in did.keys().filter(|(lock, _)| lock.starts_with(own)) {
        assert!(built_in_sessions.iter().any(|known| known == session), "{session}");
    }
    assert!(lives.zxids.len() >= TRANSACTIONS);
}
