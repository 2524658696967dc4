//! `lockscope snapshot`, field by field, compared with the tree and the libraries.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Command;

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};
use zookeeper_client::{Client, CreateMode};

use super::program::{PROGRAM, lockscope, run};
use crate::foreign_clients::queued;
use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::zk::{self, Node};
use crate::observe::fixture::curator;

/// A queue of a real library: its contenders in the order of arrival, one session each.
struct SnapshotFixture {
    at: String,
    foreign: Foreign,
    client: Client,
}

impl SnapshotFixture {
    /// Lets sessions `0`, `1`, ... contend. Each of the first `holders` sessions holds before the
    /// next one comes.
    async fn contend(at: String, mut foreign: Foreign, recipe: &str, path: &str, holders: usize, all: usize) -> Self {
        let client = zk::connect(&at).await;
        let parent = path.rsplit_once('/').expect("a path").0;
        zk::make(&client, [parent.to_owned()]).await;
        for number in 0..all {
            let id = number.to_string();
            foreign.connect(&id).await;
            foreign.start(&id, &id, recipe, &format!("{path} {holders}")).await;
            if number < holders {
                foreign.held(&id).await;
            }
            queued(&client, path, number + 1).await;
        }
        Self { at, foreign, client }
    }

    /// Returns the nodes below the root, by name.
    async fn nodes(&self) -> BTreeMap<String, Node> {
        let nodes = zk::tree(&self.client, "/").await;
        nodes.into_iter().map(|node| (name(&node.path).to_owned(), node)).collect()
    }

    async fn snapshot(&self, arguments: &[&str]) -> Value {
        // The servers' reports have tests of their own.
        let common = ["snapshot", "--connect", &self.at, "--server-view", "off"];
        run(lockscope(&[&common, arguments].concat())).await.json()
    }
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').expect("a path").1
}

fn time(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis).expect("a time").to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn millis(time: &Value) -> i64 {
    DateTime::parse_from_rfc3339(time.as_str().expect("a time")).expect("a time").timestamp_millis()
}

/// Returns the names of the nodes in a lock's queue, in order.
fn names(lock: &Value) -> Vec<String> {
    let contenders = lock["contenders"].as_array().expect("contenders");
    contenders.iter().map(|contender| contender["node"].as_str().expect("a name").to_owned()).collect()
}

/// Returns a contender as the contract describes it, from its node in the tree and its place in the
/// queue.
fn contender(node: &Node, taken_at: i64, sequence: Option<i32>, mode: &str, waits_for: &[&str], holds: bool) -> Value {
    let data = std::str::from_utf8(&node.data).expect("text");
    json!({
        "node": name(&node.path), "path": node.path, "sequence": sequence, "mode": mode,
        "state": if holds { "holds" } else { "waits" }, "locked_until": null,
        "by": holds.then_some(if mode == "lease" { "request" } else { "order" }),
        "session": format!("{:#x}", node.stat.ephemeral_owner), "ephemeral": true,
        "created_at": time(node.stat.ctime), "age_ms": taken_at - node.stat.ctime, "czxid": node.stat.czxid,
        "version": 0, "data": data, "data_encoding": "utf8", "data_length": data.len(), "data_truncated": false,
        "waits_for": waits_for, "waits_for_by": (!waits_for.is_empty()).then_some("recipe"), "watches": "unknown", "client": null, "session_timeout_ms": null,
        // Curator writes the host's address into its nodes; a number is no name.
        "client_name": data.parse::<std::net::IpAddr>().is_ok().then_some(data),
        "client_connected_at": null, "client_last_request": null, "client_last_seen_at": null,
        "was_client": null,
        "expires_in_ms": null, "liveness": "unknown", "silent_ms": null,
        "held_at_least_ms": null, "held_at_most_ms": null,
    })
}

/// Returns the contender as a holder, with the minimum and maximum time of its hold.
fn held(mut contender: Value, taken_at: i64, at_least: i64, at_most: i64) -> Value {
    contender["held_at_least_ms"] = (taken_at - at_least).into();
    contender["held_at_most_ms"] = (taken_at - at_most).into();
    contender
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutex_of_curator_is_shown_field_by_field() {
    let at = zk::own_root("snapshot-curator").await;
    let foreign = Foreign::java(&at);
    let mut fixture = SnapshotFixture::contend(at.clone(), foreign, "mutex", "/locks/billing", 1, 3).await;
    let before = chrono::Utc::now().timestamp_millis();
    let shot = fixture.snapshot(&["--format", "json", "--root", "/locks"]).await;
    let taken_at = millis(&shot["taken_at"]);
    assert!((before..=chrono::Utc::now().timestamp_millis()).contains(&taken_at), "{}", shot["taken_at"]);

    let lock = &shot["locks"][0];
    let names = names(lock);
    assert_eq!(names, fixture.foreign.order("0").await, "the order that Curator sees");
    let nodes = fixture.nodes().await;
    let contenders: Vec<Value> = (0..3)
        .map(|at| {
            let holds = at == 0;
            let waits_for = if holds { vec![] } else { vec![names[at - 1].as_str()] };
            let sequence = i32::try_from(at).ok();
            let node = &nodes[&names[at]];
            let shown = contender(node, taken_at, sequence, "exclusive", &waits_for, holds);
            // No child of the parent was ever deleted, so the holder has held since it came.
            if holds { held(shown, taken_at, node.stat.ctime, node.stat.ctime) } else { shown }
        })
        .collect();
    let session = shot["ensemble"]["session"].clone();
    assert!(session.as_str().is_some_and(|session| session.starts_with("0x")), "{session}");
    let (address, chroot) = at.split_once('/').expect("a chroot");
    let server = json!({ "address": address, "mode": null, "version": null, "software": "unknown", "view": "none", "plain_beside_tls": false, "error": null });
    let expected = json!({
        "schema": 1,
        "taken_at": shot["taken_at"],
        "ensemble": {
            "connect": at, "chroot": format!("/{chroot}"), "session": session, "servers": [server],
        },
        "locks": [{
            "path": "/locks/billing", "name": null, "recipe": "curator-mutex", "kind": "exclusive", "assumed": false, "next_sequence": 3,
            "no_handover_since": time(nodes[&names[0]].stat.ctime),
            "sampled": null, "contenders": contenders, "watch_cost": { "herd_per_release": 2, "chain_per_release": 1 }, "findings": [],
        }],
        "ensemble_events": [],
        "unreadable": [],
    });
    assert_eq!(shot, expected);
    for id in 0..3 {
        assert_eq!(fixture.foreign.holds(&id.to_string()).await, id == 0, "{id} in Curator's own eyes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_of_kazoo_is_shown_with_its_leases_before_its_queue() {
    let at = zk::own_root("snapshot-kazoo").await;
    let foreign = Foreign::kazoo(&at);
    let mut fixture = SnapshotFixture::contend(at, foreign, "semaphore", "/pools/db", 2, 4).await;
    let shot = fixture.snapshot(&[]).await;
    let taken_at = millis(&shot["taken_at"]);
    assert_eq!(shot["locks"].as_array().map(Vec::len), Some(1), "{shot}");
    let lock = &shot["locks"][0];
    let (names, nodes) = (names(lock), fixture.nodes().await);
    assert_eq!(names.len(), 4);
    let mut holders = fixture.foreign.order("0").await;
    let mut leases: Vec<String> =
        names[..2].iter().map(|name| String::from_utf8_lossy(&nodes[name].data).into_owned()).collect();
    holders.sort();
    leases.sort();
    assert_eq!(leases, holders, "who holds in kazoo's own eyes");
    let reported = |at: usize, sequence, mode, waits_for: &[&str], holds| {
        contender(&nodes[&names[at]], taken_at, sequence, mode, waits_for, holds)
    };
    // Nobody left the queue since the last contender came, and the second lease came after the
    // first was taken.
    let [second, last] = [1, 3].map(|at| nodes[&names[at]].stat.ctime);
    let taken =
        |at: usize, by: i64| held(reported(at, None, "lease", &[], true), taken_at, by, nodes[&names[at]].stat.ctime);
    let expected = json!({
        "path": "/pools/db", "name": null, "recipe": "kazoo-semaphore", "kind": "semaphore", "assumed": false, "next_sequence": 4,
        "no_handover_since": time(last), "sampled": null,
        "contenders": [
            taken(0, second),
            taken(1, last),
            reported(2, Some(2), "lease", &[&names[0], &names[1]], false),
            reported(3, Some(3), "lease", &[&names[2]], false),
        ],
        "watch_cost": { "herd_per_release": 2, "chain_per_release": 1 }, "findings": [],
    });
    assert_eq!(*lock, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_has_a_line_for_each_lock() {
    let at = zk::own_root("snapshot-table").await;
    let foreign = Foreign::java(&at);
    let fixture = SnapshotFixture::contend(at.clone(), foreign, "mutex", "/locks/billing", 1, 3).await;
    let wishes = [("/locks/leader".to_owned(), b"worker-3".to_vec())];
    zk::create_all(&fixture.client, CreateMode::Ephemeral, wishes).await;
    let nodes = fixture.nodes().await;
    let mut of_lock: Vec<&Node> = nodes.values().filter(|node| node.path.starts_with("/locks/billing/")).collect();
    of_lock.sort_by_key(|node| node.stat.czxid);

    let out = run(lockscope(&["snapshot", "--connect", &at, "--format", "table"])).await.done();
    let cells: Vec<Vec<&str>> =
        out.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(cells[0], ["LOCK", "RECIPE", "HOLDER", "HELD", "WAIT", "OLDEST", "NEXT", "FINDING"]);
    // The cell has the address of the client and the end of its session's id.
    let is_of = |cell: &str, begins: &str, node: &Node| {
        let session = format!("{:x}", node.stat.ephemeral_owner);
        cell.starts_with(begins) && cell.ends_with(&session[session.len() - 5..])
    };
    let [path, recipe, held_by, held, waiting, oldest, next] = cells[1][..] else { panic!("{out}") };
    assert_eq!([path, recipe, waiting, next], ["/locks/billing", "Curator mutex", "2", "3"]);
    assert!(is_of(held_by, "127.0.0.1:", of_lock[0]), "{out}");
    // Nobody saw the acquisition, but no child of the parent was ever deleted.
    assert!(held.starts_with(|first: char| first.is_ascii_digit()) && held.ends_with('s'), "{out}");
    assert!(oldest.ends_with('s'), "{out}");
    assert_eq!(cells[2][..2], ["/locks/leader", "single node"]);
    assert!(is_of(cells[2][2], "worker-3 127.0.0.1:", &nodes["leader"]), "{out}");
    assert_eq!(cells.len(), 3, "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_server_may_be_down_and_paths_start_at_the_chroot() {
    let at = zk::own_root("snapshot-chroot").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("/locks/a/{}", curator()), Vec::new())]).await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = listener.local_addr().expect("an address").to_string();
    drop(listener);

    let connect = format!("{nobody},{at}");
    let shot = run(lockscope(&["snapshot", "--connect", &connect])).await.json();
    assert_eq!(shot["locks"][0]["path"], "/locks/a");
    let (address, chroot) = at.split_once('/').expect("a chroot");
    assert_eq!(shot["ensemble"]["chroot"], format!("/{chroot}"));
    assert_eq!(shot["ensemble"]["servers"][0]["address"], nobody);
    assert_eq!(shot["ensemble"]["servers"][1]["address"], address);

    let reported = run(lockscope(&["snapshot", "--connect", &format!("{at}/none"), "--timeout", "5s"])).await.refused();
    assert!(reported.contains(&format!("the chroot /{chroot}/none does not exist")), "{reported}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_closes_its_session() {
    let server = Server::start();
    let shot = run(lockscope(&["snapshot", "--connect", &server.connect_string()])).await.json();
    assert_eq!(shot["locks"], json!([]));
    let session = shot["ensemble"]["session"].as_str().expect("a session");
    assert!(!server.words("dump").contains(session));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_pipe_ends_a_snapshot_quietly() {
    let at = zk::own_root("snapshot-pipe").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    // Far more than the capacity of a pipe.
    let wishes = (0..1000).map(|number| (format!("/locks/a/{}", curator()), format!("{number:100}").into_bytes()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    for format in ["json", "table"] {
        let mut shell = Command::new("sh");
        let script = r#"{ "$0" "$@"; echo "code $?" >&2; } | head -c 1"#;
        shell.args(["-c", script, PROGRAM, "snapshot", "--connect", &at, "--format", format]);
        shell.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin");
        let ended = run(shell).await;
        assert_eq!((ended.out.len(), ended.stderr.as_str()), (1, "code 0\n"), "{format}");
    }
}
