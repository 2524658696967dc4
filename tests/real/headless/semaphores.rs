//! `lockscope watch` on semaphores: an acquisition has two nodes there, but is one contender.

use std::collections::BTreeMap;

use chrono::DateTime;
use serde_json::{Value, json};
use zookeeper_client::{Client, CreateMode};

use super::program::{Running, lockscope, run};
use crate::harness::foreign::Foreign;
use crate::harness::relay::{Relay, op};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::curator;

const LOCK: &str = "/locks/pool";

/// A running `watch`, and its lines about [`LOCK`].
struct WatchFixture {
    running: Running,
    lines: Vec<Value>,
}

impl WatchFixture {
    /// Starts the command. Returns once it would see a change.
    async fn start(at: &str, client: &Client) -> Self {
        let arguments = ["watch", "--connect", at, "--format", "json", "--server-view", "off"];
        let mut fixture = Self { running: Running::start(lockscope(&arguments)), lines: Vec::new() };
        zk::make(client, ["/probe".to_owned()]).await;
        fixture.until_seen(client).await;
        fixture
    }

    /// Waits until the command has seen a change made now.
    async fn until_seen(&mut self, client: &Client) {
        self.take();
        eventually("a probe that is seen", async || {
            let wishes = [("/probe/lock-".to_owned(), Vec::new())];
            let probe = zk::create_all(client, CreateMode::EphemeralSequential, wishes).await.remove(0);
            let seen = self.take();
            seen.iter().any(|line| line["lock"] == "/probe" && line["event"] == "enqueued").then_some(()).ok_or(probe)
        })
        .await;
    }

    /// Takes the lines that have arrived.
    fn take(&mut self) -> Vec<Value> {
        let lines = self.running.lines_now();
        let lines = lines.iter().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        let lines: Vec<Value> = lines.collect();
        self.lines.extend(lines.iter().filter(|line| line["lock"] == LOCK && !line["node"].is_null()).cloned());
        lines
    }

    /// Waits until `count` lines with this event were printed.
    async fn until(&mut self, event: &str, count: usize) {
        eventually(event, async || {
            self.take();
            let seen = self.lines.iter().filter(|line| line["event"] == event).count();
            if seen >= count { Ok(()) } else { Err((seen, self.lines.last().cloned())) }
        })
        .await;
    }

    /// Returns the events of each contender, in order.
    fn contenders(&self) -> BTreeMap<String, Vec<&Value>> {
        let mut contenders: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for line in &self.lines {
            let contender = line["contender"].as_str().unwrap_or_else(|| panic!("no contender in {line}"));
            contenders.entry(contender.to_owned()).or_default().push(line);
        }
        contenders
    }
}

fn events(lines: &[&Value]) -> String {
    lines.iter().map(|line| line["event"].as_str().expect("an event")).collect::<Vec<_>>().join(" ")
}

fn at(line: &Value) -> i64 {
    DateTime::parse_from_rfc3339(line["at"].as_str().expect("a time")).expect("a time").timestamp_millis()
}

/// Asserts that each contender enqueued, acquired and released, and waited between the first two.
fn are_whole(fixture: &WatchFixture, count: usize) {
    let contenders = fixture.contenders();
    let wrong: Vec<String> = contenders
        .iter()
        .filter(|(_, lines)| events(lines) != "enqueued acquired released")
        .map(|(contender, lines)| format!("{contender}: {}", events(lines)))
        .collect();
    assert_eq!((wrong.len(), contenders.len()), (0, count), "{wrong:#?}");
    for (contender, lines) in &contenders {
        let waited = lines[1]["waited_ms"].as_i64().expect("how long it waited");
        assert_eq!(waited, at(lines[1]) - at(lines[0]), "{contender}");
        assert_eq!(lines[2]["held_ms"].as_i64(), Some(at(lines[2]) - at(lines[1])), "{contender}");
        assert!(lines.iter().all(|line| line["session"] == lines[0]["session"]), "{lines:?}");
    }
}

/// Runs test clients that contend for [`LOCK`] while it is watched.
async fn contended(clients: usize, rounds: usize, hold: &str, leases: usize, least: usize) {
    let at = zk::own_root("watch-semaphore").await;
    // Servers delete containers that are empty for a moment, which moves the waiters.
    let client = parents(&at).await;
    let mut fixture = WatchFixture::start(&at, &client).await;
    let [clients_, rounds_, leases] = [clients, rounds, leases].map(|number| number.to_string());
    let arguments = ["contend", "--connect", &at, "--path", LOCK, "--recipe", "semaphore", "--clients", &clients_];
    let figures = ["--rounds", &rounds_, "--leases", &leases, "--hold", hold, "--format", "json"];
    let made = run(lockscope(&[&arguments[..], &figures[..]].concat())).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    // Lines after this one are about later changes than those of the test clients.
    fixture.until_seen(&client).await;
    let seen = fixture.contenders().len();
    are_whole(&fixture, seen);
    // A contender that comes and goes between two reads is not seen at all.
    assert!((least..=clients * rounds).contains(&seen), "{seen} contenders were seen");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acquisition_of_a_built_in_semaphore_is_enqueued_acquired_and_released() {
    contended(4, 250, "5ms", 2, 900).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rapid_acquisitions_are_told_apart() {
    contended(6, 200, "0ms", 3, 200).await;
}

/// Creates a semaphore's parents. Each test has a session of its own.
async fn parents(at: &str) -> Client {
    let client = zk::connect(at).await;
    zk::make(&client, ["locks", "leases"].map(|part| format!("{LOCK}/{part}"))).await;
    client
}

async fn queue(client: &Client) -> String {
    let wish = (format!("{LOCK}/locks/{}", curator()), Vec::new());
    zk::create_all(client, CreateMode::EphemeralSequential, [wish]).await.remove(0)
}

async fn gives_up(at: &str, client: &Client) {
    let mut fixture = WatchFixture::start(at, client).await;
    for count in 1..=5 {
        let node = queue(client).await;
        fixture.until("enqueued", count).await;
        client.delete(&node, None).await.expect("it is there");
        // No other event of this lock could trigger the line.
        fixture.until("left", count).await;
    }
    let contenders = fixture.contenders();
    assert!(contenders.values().all(|lines| events(lines) == "enqueued left"), "{contenders:#?}");
    assert_eq!(contenders.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_gives_up_at_the_head_of_the_queue_leaves_at_once() {
    let at = zk::own_root("watch-semaphore-left").await;
    let client = parents(&at).await;
    gives_up(&at, &client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_recursive_watches_a_waiter_that_gives_up_leaves_at_once() {
    let at = zk::own_root("watch-semaphore-old").await;
    let client = parents(&at).await;
    let (server, chroot) = at.split_once('/').expect("a chroot");
    let relay = Relay::start(server).await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    relay.rewrite_op(op::REMOVE_WATCHES, op::UNKNOWN);
    gives_up(&format!("{}/{chroot}", relay.connect_string()), &client).await;
}

/// Checks two leases and three clients of a library: the third client waits, and gets a lease when
/// one is returned.
async fn handed_over(foreign: fn(&str) -> Foreign, subject: &str, parents_of: Vec<String>) {
    let at = zk::own_root(subject).await;
    let client = zk::connect(&at).await;
    // A queue of Curator's is recognized as a semaphore's once the parent of the leases exists.
    zk::make(&client, parents_of).await;
    let mut fixture = WatchFixture::start(&at, &client).await;
    let mut foreign = foreign(&at);
    for id in ["a", "b", "c"] {
        foreign.connect(id).await;
        // The number of leases follows the path.
        foreign.start(id, id, "semaphore", &format!("{LOCK} 2")).await;
        if id != "c" {
            foreign.held(id).await;
        }
    }
    fixture.until("enqueued", 3).await;
    foreign.release("a").await;
    foreign.held("c").await;
    for id in ["b", "c"] {
        foreign.release(id).await;
    }
    fixture.until("released", 3).await;
    are_whole(&fixture, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_of_curator_is_followed_from_the_queue_to_the_return_of_the_lease() {
    let parents = ["locks", "leases"].map(|part| format!("{LOCK}/{part}"));
    handed_over(Foreign::java, "watch-semaphore-curator", parents.into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_of_kazoo_is_followed_from_the_queue_to_the_return_of_the_lease() {
    handed_over(Foreign::kazoo, "watch-semaphore-kazoo", vec!["/locks".to_owned()]).await;
}

/// The first `leases` of one queue hold, as in `DistributedLock`'s semaphore for C#, which stores that
/// number nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_as_the_config_file_says_hold_in_one_queue() {
    let at = zk::own_root("permits").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/pool".to_owned()]).await;
    let wishes = ["ACQUIRED", "ACQUIRED", "", ""].map(|data| ("/pool/semaphore-".to_owned(), data.into()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let names: Vec<&str> = nodes.iter().map(|node| &node["/pool/".len()..]).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let written = |rest: &str| {
        let recipe = "[[recipe]]\nname = \"permits\"\npattern = \"semaphore-{sequence}\"\nkind = \"semaphore\"";
        std::fs::write(&config, format!("{recipe}\n{rest}\n")).expect("a config file");
        config.to_string_lossy().into_owned()
    };
    let snapshot = async |config: &str| {
        let common = ["snapshot", "--connect", &at, "--format", "json", "--config", config];
        run(lockscope(&common)).await.json()["locks"][0].clone()
    };
    let facts = |lock: &Value| -> Vec<Value> {
        let contenders = lock["contenders"].as_array().expect("a list");
        contenders.iter().map(|one| json!([one["state"], one["by"], one["waits_for"]])).collect()
    };
    let lock = snapshot(&written("leases = 2")).await;
    assert_eq!((&lock["recipe"], &lock["kind"]), (&json!("permits"), &json!("semaphore")), "{lock}");
    let expected = [
        json!(["holds", "order", []]),
        json!(["holds", "order", []]),
        json!(["waits", null, [names[0], names[1]]]),
        json!(["waits", null, [names[2]]]),
    ];
    assert_eq!(facts(&lock), expected, "{lock}");
    zk::delete_all(&client, [nodes[0].clone()]).await;
    let lock = snapshot(&written("leases = 2")).await;
    let states: Vec<Value> = facts(&lock).iter().map(|one| one[0].clone()).collect();
    assert_eq!(states, ["holds", "holds", "waits"], "{lock}");

    // Without the number, nobody is known to wait.
    std::fs::write(&config, "").expect("a config file");
    let lock = snapshot(&config.to_string_lossy()).await;
    let states: Vec<Value> = facts(&lock).iter().map(|one| one[0].clone()).collect();
    assert_eq!((&lock["assumed"], states), (&json!(true), vec!["holds".into(), "unknown".into(), "unknown".into()]));
}
