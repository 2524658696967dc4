//! Compares how sessions end according to `watch` with the server's transaction log: definite
//! claims are true.
//!
//! `LOCKSCOPE_SESSION_ENDS=100000` makes the test run for this many transactions, about 100 a
//! second, instead of a few seconds. The figures are printed with `--nocapture`.

mod storm;
mod transaction_log;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use self::storm::{LOCKS, Storm};
use self::transaction_log::{Fate, TransactionLog};
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};

/// The variable with the number of transactions, which replaces [`TRANSACTIONS`].
const WANTED: &str = "LOCKSCOPE_SESSION_ENDS";

/// Enough for each combination of ending and timeout.
const TRANSACTIONS: u32 = 1_800;

/// The ratio of lives to transactions: a life takes three or four.
const LIVES: (u32, u32) = (2, 7);

/// The default.
const TICK: Duration = Duration::from_secs(2);

const PAUSE_BETWEEN_LIVES: Duration = Duration::from_millis(33);

/// The reported end of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Claim {
    Expired,
    Released,
    /// Released, unless the session expired.
    Unknown,
}

impl Claim {
    fn of(line: &Value) -> Option<Self> {
        match (line["event"].as_str()?, line["may_have_expired"].as_bool()) {
            ("expired", _) => Some(Self::Expired),
            ("released" | "left", Some(false)) => Some(Self::Released),
            ("released" | "left", _) => Some(Self::Unknown),
            _ => None,
        }
    }

    fn is_false(self, fate: Fate) -> bool {
        match self {
            Self::Expired => fate != Fate::Expired,
            Self::Released => fate == Fate::Expired,
            Self::Unknown => false,
        }
    }
}

/// The ends of nodes that one observer reported.
struct Witness {
    name: &'static str,
    running: Option<Running>,
    claims: BTreeMap<String, (Claim, Value)>,
    seen: bool,
}

impl Witness {
    fn start(name: &'static str, arguments: &[&str]) -> Self {
        let running = Some(Running::start(lockscope(arguments)));
        Self { name, running, claims: BTreeMap::new(), seen: false }
    }

    fn take(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.seen |= line["event"] == "enqueued";
        if let (Some(claim), Some(lock), Some(node)) = (Claim::of(&line), line["lock"].as_str(), line["node"].as_str())
        {
            self.claims.insert(format!("{lock}/{node}"), (claim, line));
        }
    }

    fn take_now(&mut self) {
        let lines = self.running.as_mut().expect("it runs").lines_now();
        for line in &lines {
            self.take(line);
        }
    }

    /// Returns the false claims, each with its line, and prints how often each claim was made about
    /// each end.
    ///
    /// A deletion at the very tick of an expiry looks like the expiry from outside; such cases are
    /// counted separately.
    fn judge(&self, log: &TransactionLog) -> Vec<String> {
        let mut counts: BTreeMap<(i32, Fate), [usize; 3]> = BTreeMap::new();
        let (mut wrong, mut at_a_tick) = (Vec::new(), 0);
        for (path, ended) in &log.ended {
            let Some((claim, line)) = self.claims.get(path) else { continue };
            counts.entry((ended.timeout_ms, ended.fate)).or_default()[*claim as usize] += 1;
            if *claim == Claim::Expired && ended.fate != Fate::Expired && log.is_at_a_tick(ended, TICK) {
                at_a_tick += 1;
            } else if claim.is_false(ended.fate) {
                wrong.push(format!("{}: {:?} of {} ms, but {line}", self.name, ended.fate, ended.timeout_ms));
            }
        }
        let ends = self.claims.len();
        println!("{}: {ends} ends, {} false, {at_a_tick} deleted right at a tick", self.name, wrong.len());
        println!("  {:>7} {:<18} {:>8} {:>9} {:>8}", "timeout", "in the log", "expired", "released", "unknown");
        for ((timeout, fate), [expired, released, unknown]) in counts {
            println!("  {timeout:>7} {:<18} {expired:>8} {released:>9} {unknown:>8}", format!("{fate:?}"));
        }
        assert!(at_a_tick <= 2 + ends / 1_000, "{at_a_tick} deletions look like an expiry");
        wrong
    }
}

fn wanted() -> u32 {
    std::env::var(WANTED).map_or(TRANSACTIONS, |count| count.parse().expect("a number of transactions"))
}

/// Runs the storm to its end while the witnesses observe.
async fn look_on(server: &Server, witnesses: &mut [Witness]) {
    let (port, lives) = (server.port(), wanted() / LIVES.1 * LIVES.0);
    let seed = fastrand::u64(..);
    println!("seed {seed}, {lives} lives");
    let storm = tokio::task::spawn_blocking(move || Storm::run(port, seed, lives, PAUSE_BETWEEN_LIVES));
    while !storm.is_finished() {
        witnesses.iter_mut().for_each(Witness::take_now);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    storm.await.expect("the storm ends by itself");
    let ended = eventually("a log in which no session of the storm lives", async || {
        let log = TransactionLog::read(&server.folder().join("data"));
        let of_storm = log.standing.keys().filter(|path| path.starts_with("/locks/")).count();
        if of_storm == 0 { Ok(log.ended) } else { Err(of_storm) }
    })
    .await;
    for witness in witnesses {
        eventually("an end of each node", async || {
            witness.take_now();
            let missing: Vec<&String> = ended.keys().filter(|path| !witness.claims.contains_key(*path)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{}: {missing:?}", witness.name)) }
        })
        .await;
    }
}

/// Creates the locks, and contenders of another lock until all witnesses observe.
async fn begin(server: &Server, witnesses: &mut [Witness]) {
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, (0..LOCKS).map(|lock| format!("/locks/lock-{lock}")).chain(["/probe".to_owned()])).await;
    eventually("a probe that is printed by all", async || {
        let wish = [("/probe/lock-".to_owned(), Vec::new())];
        zk::create_all(&client, zookeeper_client::CreateMode::EphemeralSequential, wish).await;
        witnesses.iter_mut().filter(|witness| witness.running.is_some()).for_each(Witness::take_now);
        let blind: Vec<_> = witnesses.iter().filter(|witness| !witness.seen).map(|witness| witness.name).collect();
        if blind.is_empty() { Ok(()) } else { Err(blind) }
    })
    .await;
}

/// Returns the claims of a recording afterwards.
async fn replayed(store: &Path) -> Witness {
    let mut witness = Witness { name: "replay", running: None, claims: BTreeMap::new(), seen: true };
    let ended = run(lockscope(&["watch", "--store", store.to_str().expect("a path"), "--format", "json"])).await;
    for line in ended.done().lines() {
        witness.take(line);
    }
    witness
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definite_claims_about_ends_match_the_transaction_log() {
    let admin = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let server = Settings::default()
        .tick(TICK)
        .line("minSessionTimeout=1000")
        .line("admin.enableServer=true")
        .line("admin.serverAddress=127.0.0.1")
        .line(&format!("admin.serverPort={admin}"))
        .start();
    let (at, url) = (server.connect_string(), format!("http://HOST:{admin}/commands"));
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let watch = ["watch", "--format", "json", "--connect", &at, "--server-view"];
    let mut witnesses = [
        Witness::start("words", &[&watch[..], &["words"]].concat()),
        Witness::start("http", &[&watch[..], &["http", "--admin-url", &url]].concat()),
        Witness::start("off", &[&watch[..], &["off"]].concat()),
    ];
    let store_path = store.to_str().expect("a path");
    let recorder =
        Running::start(lockscope(&["record", "--store", store_path, "--connect", &at, "--server-view", "words"]));
    begin(&server, &mut witnesses).await;
    look_on(&server, &mut witnesses).await;
    recorder.signal("TERM");
    recorder.ended().await;

    let log = TransactionLog::read(&server.folder().join("data"));
    println!("{} transactions, {} nodes went", log.transactions, log.ended.len());
    let wrong: Vec<String> = witnesses.iter().flat_map(|witness| witness.judge(&log)).collect();
    let wrong = [wrong, replayed(&store).await.judge(&log)].concat();
    assert_eq!(wrong, Vec::<String>::new());
    let expired = log.ended.values().filter(|ended| ended.fate == Fate::Expired).count();
    assert!(expired * 10 >= log.ended.len(), "{expired} of {} sessions expired", log.ended.len());
}
