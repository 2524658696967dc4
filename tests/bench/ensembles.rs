//! Measures one console of very many ensembles.
//!
//! `cargo bench --bench ensembles` starts 100 sandboxes with 200 locks and 20 changes a second each,
//! one address where nobody listens and one server that never answers. It prints when the first
//! frame and the whole list stand, how long the worst lock takes from there, and the console's
//! memory and share of a core. Arguments: the number of ensembles, and the seconds of the measure.

#[path = "../long_life/clock.rs"]
#[expect(dead_code, reason = "a benchmark needs only a part of it")]
mod clock;
#[path = "../harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "a benchmark needs only a part of the harness")]
mod harness;
#[path = "../long_life/usage.rs"]
#[expect(dead_code, reason = "a benchmark needs only a part of it")]
mod usage;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use zookeeper_client::{Client, CreateMode};

use harness::terminal::Terminal;
use harness::zk;

const LOCKS: usize = 200;

/// Between two changes of an ensemble; each is a pair of a waiter that comes and one that goes.
const PAIRS: Duration = Duration::from_millis(100);

/// How many clients connect at the same time.
const AT_ONCE: usize = 20;

fn holder(lock: usize) -> String {
    format!("/locks/lock-{lock:03}/_c_00000000-0000-4000-8000-{lock:012}-lock-0000000001")
}

/// Makes the locks of one ensemble, each with a holder.
async fn make_locks(client: &Client) {
    zk::make(client, ["/locks".to_owned()]).await;
    zk::make(client, (0..LOCKS).map(|lock| format!("/locks/lock-{lock:03}"))).await;
    zk::create_all(client, CreateMode::Ephemeral, (0..LOCKS).map(|lock| (holder(lock), b"worker".to_vec()))).await;
}

/// Lets waiters come and go, 20 changes a second.
async fn change(client: Client) {
    let mut pairs = interval(PAIRS);
    let open = zk::open(CreateMode::EphemeralSequential);
    for turn in 0.. {
        pairs.tick().await;
        let lock = turn % LOCKS;
        let node = format!("/locks/lock-{lock:03}/_c_10000000-0000-4000-8000-{turn:012}-lock-");
        let Ok((_, sequence)) = client.create(&node, b"waiter", &open).await else { return };
        if client.delete(&format!("{node}{sequence}"), None).await.is_err() {
            return;
        }
    }
}

/// Starts an ensemble with its locks. The third of the sandboxes has a lock that is never released.
async fn ensemble(number: usize) -> (Sandbox, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let sandbox = Sandbox::start(listener, SandboxConfig::default()).expect("a sandbox");
    let client = zk::connect(&sandbox.connect_string()).await;
    make_locks(&client).await;
    if number == 3 {
        let node =
            ("/locks/lock-007/_c_20000000-0000-4000-8000-000000000000-lock-0000000000".to_owned(), b"x".to_vec());
        zk::create_all(&client, CreateMode::Persistent, [node]).await;
    }
    (sandbox, client)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (count, seconds): (usize, u64) =
        (numbers.next().unwrap_or(100), numbers.next().map_or(20, |seconds| seconds as u64));
    let mut sandboxes = Vec::new();
    let mut clients = Vec::new();
    for first in (0..count).step_by(AT_ONCE) {
        let started = (first..count.min(first + AT_ONCE)).map(ensemble);
        for (sandbox, client) in futures::future::join_all(started).await {
            sandboxes.push(sandbox);
            clients.push(client);
        }
    }
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let mut config = String::new();
    for (number, sandbox) in sandboxes.iter().enumerate() {
        let _ = writeln!(config, "[context.zk-{number:03}]\nconnect = '{}'", sandbox.connect_string());
    }
    let silent = silent.local_addr().expect("an address");
    let _ = writeln!(config, "[context.silent]\nconnect = '{silent}'\n[context.nobody]\nconnect = '127.0.0.1:1'");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, config).expect("it is written");
    let mut changing = JoinSet::new();
    for client in clients {
        changing.spawn(change(client));
    }
    sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    let arguments = ["--config", path.to_str().expect("a plain path"), "--all-contexts"];
    let measured = tokio::task::spawn_blocking({
        let arguments = arguments.map(str::to_owned);
        move || measure(&arguments.each_ref().map(String::as_str), began, count, seconds)
    });
    measured.await.expect("it is measured");
}

fn measure(arguments: &[&str], began: Instant, count: usize, seconds: u64) {
    let mut terminal = Terminal::lockscope(arguments, 120, 40);
    terminal.shows("Ensembles");
    let first = began.elapsed();
    terminal.shows(&format!("{count} live"));
    let live = began.elapsed();
    terminal.shows("lock-007  persistent");
    let worst = began.elapsed();
    println!("{count} ensembles with {LOCKS} locks and 20 changes a second each");
    println!("first frame    {:8.2} s\nall live       {:8.2} s", first.as_secs_f64(), live.as_secs_f64());
    println!("worst lock     {:8.2} s", worst.as_secs_f64());
    let pid = console_of(terminal.id());
    std::thread::sleep(Duration::from_secs(5));
    let (before, at) = (usage::Usage::of(pid).expect("it runs"), Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let after = usage::Usage::of(pid).expect("it runs");
    let cores = (after.cpu - before.cpu) / at.elapsed().as_secs_f64();
    println!("memory         {:8} MB\nCPU            {cores:8.2} cores", after.resident * 1024 / 1_000_000);
    println!("{}", terminal.text());
    let entered = Instant::now();
    terminal.press("\r\r");
    terminal.shows_all(&["what to do: find out which application", "ownerless"]);
    println!("2 keys         {:8.2} s to the diagnosis of the worst lock", entered.elapsed().as_secs_f64());
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// Returns the process of the console, which a shell may have started.
fn console_of(id: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    children.split_whitespace().next().and_then(|child| child.parse().ok()).unwrap_or(id)
}
