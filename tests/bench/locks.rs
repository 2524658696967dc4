//! Compares lock libraries on one real server: this crate's `chain`, `chain-ahead` and `herd`,
//! zookeeper-client's own lock, kazoo's and Curator's. Clients with a session each acquire and
//! release one lock in a loop and hold it for no time.
//!
//! `cargo bench --bench locks` prints acquisitions per second and requests and watch events per
//! acquisition. The rate is the median of several passes, in turns, without a relay. The other
//! figures are counted by a relay, in a pass of their own.
//!
//! Numbers of clients and names select rows: `cargo bench --bench locks -- 20 chain Curator`. With
//! a time, all traffic passes a relay that delays each packet by this time in each direction:
//! `cargo bench --bench locks -- 20 2ms`.

#[path = "../harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "a benchmark needs only a part of the harness")]
mod harness;

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use lockscope_lock::{self as lock, Algorithm, Lock, Naming};
use tokio::sync::Barrier;
use zookeeper_client::{Acls, Client, LockOptions, LockPrefix};

use harness::foreign::Foreign;
use harness::relay::{Relay, op};
use harness::server::Server;
use harness::settings::Settings;
use harness::zk;

const CLIENTS: [usize; 3] = [2, 20, 100];

/// The acquisitions of a pass, all clients together.
const ACQUISITIONS: usize = 2000;

/// The acquisitions of a pass of a slow library.
const FEW_ACQUISITIONS: usize = 500;

/// The acquisitions of a pass with delayed packets.
const DELAYED_ACQUISITIONS: usize = 400;

/// The number of passes for each figure; the median counts.
const PASSES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Chain,
    ChainAhead,
    /// A chain whose node names contain only a number.
    ChainByNumber,
    ChainAheadByNumber,
    Herd,
    ZookeeperClient,
    Kazoo,
    Curator,
}

impl Library {
    const ALL: [Self; 8] = [
        Self::Chain,
        Self::ChainAhead,
        Self::ChainByNumber,
        Self::ChainAheadByNumber,
        Self::Herd,
        Self::ZookeeperClient,
        Self::Kazoo,
        Self::Curator,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Chain => "lockscope chain",
            Self::ChainAhead => "lockscope chain-ahead",
            Self::ChainByNumber => "lockscope chain, by number",
            Self::ChainAheadByNumber => "chain-ahead, by number",
            Self::Herd => "lockscope herd",
            Self::ZookeeperClient => "zookeeper-client",
            Self::Kazoo => "kazoo Lock",
            Self::Curator => "Curator InterProcessMutex",
        }
    }

    fn rounds(self, clients: usize, delay: Duration) -> usize {
        if !delay.is_zero() {
            return (DELAYED_ACQUISITIONS / clients).max(5);
        }
        let slow = self == Self::Kazoo || self == Self::Herd && clients > 20;
        (if slow { FEW_ACQUISITIONS } else { ACQUISITIONS } / clients).max(5)
    }

    /// Lets clients contend. Returns the number of acquisitions and the time from the first to the
    /// last.
    async fn contend(self, at: &str, path: &str, clients: usize, rounds: usize) -> (usize, Duration) {
        match self {
            Self::Kazoo => foreign(Foreign::kazoo(at), "lock", path, clients, rounds).await,
            Self::Curator => foreign(Foreign::java(at), "mutex", path, clients, rounds).await,
            _ => self.in_process(at, path, clients, rounds).await,
        }
    }

    /// Connects all clients, starts them at once, each in a task of its own, and measures the time.
    async fn in_process(self, at: &str, path: &str, clients: usize, rounds: usize) -> (usize, Duration) {
        let sessions = join_all((0..clients).map(|_| zk::connect(at))).await;
        let start = Arc::new(Barrier::new(clients + 1));
        let tasks: Vec<_> = sessions
            .iter()
            .map(|client| {
                let (client, path, start) = (client.clone(), path.to_owned(), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    match self {
                        Self::ZookeeperClient => zookeeper_clients_own(&client, &path, rounds).await,
                        _ => self.ours(&client, &path, rounds).await,
                    }
                })
            })
            .collect();
        let began = Instant::now();
        start.wait().await;
        for task in tasks {
            task.await.expect("no panic");
        }
        (clients * rounds, began.elapsed())
    }

    /// Lets one client contend with a lock of this crate.
    async fn ours(self, client: &Client, path: &str, rounds: usize) {
        let algorithm = match self {
            Self::ChainAhead | Self::ChainAheadByNumber => Algorithm::ChainAhead,
            Self::Herd => Algorithm::Herd,
            _ => Algorithm::Chain,
        };
        let by_number = matches!(self, Self::ChainByNumber | Self::ChainAheadByNumber);
        let naming = if by_number { Naming::Named("bench".to_owned()) } else { Naming::Curator };
        let options = lock::LockOptions::default().naming(naming);
        let lock = Lock::with(client, path, algorithm, options).expect("a good path");
        for _ in 0..rounds {
            let guard = lock.acquire().await.expect("a sound connection");
            guard.release().await.expect("a sound connection");
        }
    }
}

async fn foreign(mut foreign: Foreign, recipe: &str, path: &str, clients: usize, rounds: usize) -> (usize, Duration) {
    foreign.churn("all", recipe, path, clients, rounds).await;
    let outcome = foreign.churned_in("all").await;
    foreign.quit().await;
    outcome
}

async fn zookeeper_clients_own(client: &Client, path: &str, rounds: usize) {
    for _ in 0..rounds {
        let prefix = LockPrefix::new_curator(path, "lock-").expect("a good path");
        let options = LockOptions::new(Acls::anyone_all());
        let lock = client.lock(prefix, &[], options).await.expect("a sound connection");
        // Released as the library documents it: the deletion continues in the background.
        drop(lock);
    }
}

/// The figures of a library in one setting.
struct Row {
    library: Library,
    clients: usize,
    per_second: f64,
    requests: f64,
    events: f64,
}

/// Returns a path that no pass has used.
async fn fresh(server: &Server) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let path = format!("/bench-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    zk::make(&zk::connect(&server.connect_string()).await, [path.clone()]).await;
    path
}

async fn speed(server: &Server, library: Library, clients: usize, delay: Duration) -> f64 {
    let path = fresh(server).await;
    let relay = if delay.is_zero() { None } else { Some(Relay::start(&server.connect_string()).await) };
    if let Some(relay) = &relay {
        relay.delay(delay);
    }
    let at = relay.as_ref().map_or_else(|| server.connect_string(), Relay::connect_string);
    let (count, time) = library.contend(&at, &path, clients, library.rounds(clients, delay)).await;
    figure(count) / time.as_secs_f64()
}

/// Returns the requests and watch events per acquisition.
async fn cost(server: &Server, library: Library, clients: usize) -> (f64, f64) {
    let path = fresh(server).await;
    let relay = Relay::start(&server.connect_string()).await;
    let (count, _) =
        library.contend(&relay.connect_string(), &path, clients, library.rounds(clients, Duration::ZERO)).await;
    let requests: u64 = relay.requests().into_iter().filter(|(op, _)| !op::is_housekeeping(*op)).map(|(_, n)| n).sum();
    (figure(requests) / figure(count), figure(relay.events()) / figure(count))
}

fn figure(count: impl TryInto<u32, Error: Debug>) -> f64 {
    f64::from(count.try_into().expect("a few thousand"))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

async fn compare(server: &Server, libraries: &[Library], clients: usize, delay: Duration) -> Vec<Row> {
    // The libraries take turns, so that load on the machine does not hit only one of them.
    let mut speeds = vec![Vec::new(); libraries.len()];
    for _ in 0..PASSES {
        for (library, speeds) in libraries.iter().zip(&mut speeds) {
            speeds.push(speed(server, *library, clients, delay).await);
        }
    }
    let mut rows = Vec::new();
    for (library, speeds) in libraries.iter().copied().zip(speeds) {
        let (requests, events) = cost(server, library, clients).await;
        rows.push(Row { library, clients, per_second: median(speeds), requests, events });
    }
    rows
}

/// Parses the arguments: numbers of clients, words of libraries' names, and a delay. Without a
/// number or a word, all are selected.
fn wished(arguments: &[String]) -> (Vec<usize>, Vec<Library>, Duration) {
    let is_no_number = |argument: &&String| argument.parse::<usize>().is_err();
    let delay = arguments.iter().filter(is_no_number).find_map(|argument| humantime::parse_duration(argument).ok());
    let clients: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let named = |library: &Library| arguments.iter().any(|argument| library.name().contains(argument.as_str()));
    let libraries: Vec<Library> = Library::ALL.into_iter().filter(named).collect();
    (
        if clients.is_empty() { CLIENTS.to_vec() } else { clients },
        if libraries.is_empty() { Library::ALL.to_vec() } else { libraries },
        delay.unwrap_or_default(),
    )
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs benchmarks too, but only checks that they start.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let (settings, libraries, delay) = wished(&arguments);
    let server = Settings::default().heap_mib(1024).start();
    // A first pass warms up the server's JIT compiler, so that no library pays for it.
    speed(&server, Library::Chain, 20, Duration::ZERO).await;
    println!("{:<26} {:>7} {:>15} {:>13} {:>11}", "", "clients", "acquisitions/s", "requests each", "events each");
    for clients in settings {
        for Row { library, clients, per_second, requests, events } in compare(&server, &libraries, clients, delay).await
        {
            println!("{:<26} {clients:>7} {per_second:>15.0} {requests:>13.1} {events:>11.1}", library.name());
        }
        println!();
    }
}
