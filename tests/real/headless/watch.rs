//! `lockscope watch`: the events line by line, as a program would read them.

use std::process::Command;
use std::time::{Duration, Instant};

use chrono::DateTime;
use serde_json::{Value, json};
use zookeeper_client::{Client, CreateMode};

use super::program::{PROGRAM, Running, lockscope};
use crate::foreign_clients::queued;
use crate::harness::foreign::Foreign;
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::curator;

/// The lock that the tests contend for.
const LOCK: &str = "/locks/billing";

/// A running `watch`, and its lines about [`LOCK`] and about the connection.
struct WatchFixture {
    running: Running,
    reported: Vec<Value>,
    /// The contenders at the start.
    initial: Vec<Value>,
    /// How many lines of `reported` were taken.
    taken: usize,
}

impl WatchFixture {
    /// Starts the command. Returns once it would print a change.
    async fn start(at: &str, client: &Client) -> Self {
        Self::with_view(at, client, "auto").await
    }

    /// Starts the command without asking the servers about themselves.
    async fn without_view(at: &str, client: &Client) -> Self {
        Self::with_view(at, client, "off").await
    }

    async fn with_view(at: &str, client: &Client, view: &str) -> Self {
        let arguments =
            ["watch", "--connect", at, "--format", "json", "--session-timeout", "10s", "--server-view", view];
        let running = Running::start(lockscope(&arguments));
        let mut fixture = Self { running, reported: Vec::new(), initial: Vec::new(), taken: 0 };
        fixture.until_seen(client).await;
        fixture
    }

    /// Creates contenders of another lock until one is printed.
    async fn until_seen(&mut self, client: &Client) {
        zk::make(client, ["/probe".to_owned()]).await;
        eventually("a probe that is printed", async || {
            let wishes = [("/probe/lock-".to_owned(), Vec::new())];
            let probe = zk::create_all(client, CreateMode::EphemeralSequential, wishes).await.remove(0);
            self.keep_now().iter().find(|line| line["event"] == "enqueued").map(drop).ok_or(probe)
        })
        .await;
    }

    fn keep(&mut self, line: &str) -> Option<Value> {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        if line["lock"] == LOCK && line["initial"] == true && !line["node"].is_null() {
            self.initial.push(line);
            return None;
        }
        if line["lock"] == LOCK || line["lock"].is_null() {
            self.reported.push(line);
            return None;
        }
        Some(line)
    }

    /// Takes the lines that have arrived. Returns those of other locks.
    fn keep_now(&mut self) -> Vec<Value> {
        self.running.lines_now().iter().filter_map(|line| self.keep(line)).collect()
    }

    /// Returns the next line.
    async fn next(&mut self) -> Value {
        while self.reported.len() == self.taken {
            let line = self.running.line().await.expect("it goes on");
            self.keep(&line);
        }
        self.taken += 1;
        self.reported[self.taken - 1].clone()
    }

    /// Returns the lines up to and including one with this event.
    async fn until(&mut self, event: &str) -> Vec<Value> {
        let mut lines = vec![self.next().await];
        while lines.last().is_none_or(|line| line["event"] != event) {
            lines.push(self.next().await);
        }
        lines
    }

    /// Asserts the next line except for its times. Returns the line.
    async fn expect_line(&mut self, event: &str, whom: (&str, &str), queue: usize, herd: u64, chain: u64) -> Value {
        let line = self.next().await;
        let (node, session) = whom;
        let may_have_expired = ["released", "left"].contains(&event).then_some(false);
        let expected = json!({
            "at": line["at"], "event": event, "lock": LOCK, "name": null, "node": node,
            "contender": line["contender"], "session": session,
            "client": line["client"], "client_name": line["client_name"], "was_client": null, "client_last_seen_at": null,
            "waited_ms": line["waited_ms"], "held_ms": line["held_ms"],
            "may_have_expired": may_have_expired, "end": may_have_expired.map(|_| "gone"), "queue": queue,
            "watch_events": { "herd": herd, "chain": chain }, "reason": null,
        });
        assert_eq!(line, expected);
        let contender =
            line["contender"].as_str().and_then(|contender| contender.rsplit_once('@')).expect("NODE@CZXID");
        assert_eq!((contender.0, contender.1.parse::<u64>().is_ok()), (node, true));
        line
    }
}

/// Returns the events with their nodes, as `acquired NODE`.
fn events(lines: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines.iter().map(|line| format!("{} {}", word(&line["event"]), word(&line["node"])).trim().to_owned()).collect()
}

/// Returns the milliseconds from one line to another.
fn between(from: &Value, to: &Value) -> u64 {
    let millis = |line: &Value| {
        DateTime::parse_from_rfc3339(line["at"].as_str().expect("a time")).expect("a time").timestamp_millis()
    };
    u64::try_from(millis(to) - millis(from)).expect("a later time")
}

/// Clients of a library that contend for [`LOCK`], each with a name, a node and a session.
struct Clients {
    foreign: Foreign,
    client: Client,
    recipe: &'static str,
    count: usize,
}

impl Clients {
    async fn new(at: &str, foreign: Foreign, recipe: &'static str) -> Self {
        let client = zk::connect(at).await;
        zk::make(&client, ["/locks".to_owned()]).await;
        Self { foreign, client, recipe, count: 0 }
    }

    /// Lets another client contend. Returns its node and session.
    async fn contend(&mut self, id: &str) -> (String, String) {
        let session = self.foreign.connect(id).await;
        self.foreign.start(id, id, self.recipe, LOCK).await;
        self.count += 1;
        queued(&self.client, LOCK, self.count).await;
        let nodes = zk::tree(&self.client, LOCK).await;
        let node = nodes.iter().find(|node| node.stat.ephemeral_owner == session.0).expect("its node");
        let (_, name) = node.path.rsplit_once('/').expect("a path");
        (name.to_owned(), session.to_string())
    }

    async fn release(&mut self, id: &str) {
        self.foreign.release(id).await;
        self.count -= 1;
    }
}

fn as_str(of: &(String, String)) -> (&str, &str) {
    (&of.0, &of.1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutex_of_curator_is_followed_line_by_line() {
    let at = zk::own_root("watch").await;
    let mut clients = Clients::new(&at, Foreign::java(&at), "mutex").await;
    let a = clients.contend("a").await;
    clients.foreign.held("a").await;
    let mut fixture = WatchFixture::start(&at, &clients.client).await;
    let found = fixture.next().await;
    assert_eq!(
        (&found["event"], &found["lock"], &found["node"], &found["queue"]),
        (&json!("lock-found"), &json!(LOCK), &Value::Null, &json!(1))
    );

    // Each arrival wakes all waiters of a herd, and none in a chain.
    let b = clients.contend("b").await;
    let enqueued = fixture.expect_line("enqueued", as_str(&b), 2, 0, 0).await;
    assert!(enqueued["waited_ms"].is_null() && enqueued["held_ms"].is_null());
    let c = clients.contend("c").await;
    let came = fixture.expect_line("enqueued", as_str(&c), 3, 1, 0).await;
    let d = clients.contend("d").await;
    fixture.expect_line("enqueued", as_str(&d), 4, 2, 0).await;

    clients.foreign.abandon("c").await;
    clients.count -= 1;
    let left = fixture.expect_line("left", as_str(&c), 3, 2, 1).await;
    assert_eq!((left["waited_ms"].as_u64(), &left["held_ms"]), (Some(between(&came, &left)), &Value::Null));

    clients.release("a").await;
    clients.foreign.held("b").await;
    let released = fixture.expect_line("released", as_str(&a), 2, 2, 1).await;
    assert!(released["held_ms"].is_null(), "nobody saw the acquisition: {released}");
    let acquired = fixture.expect_line("acquired", as_str(&b), 2, 0, 0).await;
    assert_eq!(acquired["waited_ms"].as_u64(), Some(between(&enqueued, &acquired)));

    clients.release("b").await;
    let released = fixture.expect_line("released", as_str(&b), 1, 1, 1).await;
    assert_eq!(released["held_ms"].as_u64(), Some(between(&acquired, &released)));
    fixture.expect_line("acquired", as_str(&d), 1, 0, 0).await;
    clients.release("d").await;
    fixture.expect_line("released", as_str(&d), 0, 0, 0).await;
    fixture.running.signal("TERM");
    fixture.running.ended().await.done();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_begins_with_the_present_holders_and_waiters() {
    let at = zk::own_root("watch-initial").await;
    let mut clients = Clients::new(&at, Foreign::kazoo(&at), "lock").await;
    let a = clients.contend("a").await;
    clients.foreign.held("a").await;
    let b = clients.contend("b").await;
    let c = clients.contend("c").await;
    let mut fixture = WatchFixture::start(&at, &clients.client).await;
    let found = fixture.next().await;
    assert_eq!((&found["event"], &found["initial"], &found["queue"]), (&json!("lock-found"), &json!(true), &json!(3)));
    let initial = std::mem::take(&mut fixture.initial);
    let expected = [format!("acquired {}", a.0), format!("enqueued {}", b.0), format!("enqueued {}", c.0)];
    assert_eq!(events(&initial), expected);
    for (line, (node, session)) in initial.iter().zip([&a, &b, &c]) {
        assert_eq!((&line["session"], &line["at"]), (&json!(session), &found["at"]));
        assert!(line["contender"].as_str().is_some_and(|contender| contender.starts_with(node.as_str())), "{line}");
        assert!(DateTime::parse_from_rfc3339(line["created_at"].as_str().expect("a time")).is_ok(), "{line}");
        assert!(line["held_ms"].is_null() && line["waited_ms"].is_null(), "no end of it was seen: {line}");
    }
    let bounds = (initial[0]["held_at_least_ms"].as_u64(), initial[0]["held_at_most_ms"].as_u64());
    assert!(bounds.0.is_some() && bounds.0 <= bounds.1, "{bounds:?}");
    assert!(initial[1]["held_at_most_ms"].is_null());

    // Later events name the same contender, which is not repeated at the start.
    clients.release("a").await;
    let lines = fixture.until("acquired").await;
    assert_eq!(events(&lines), [format!("released {}", a.0), format!("acquired {}", b.0)]);
    assert_eq!((&lines[0]["contender"], &lines[1]["contender"]), (&initial[0]["contender"], &initial[1]["contender"]));
    assert!(lines.iter().all(|line| line["initial"].is_null()), "{lines:?}");
    // Every lock is listed with its contenders before any event of it.
    assert_eq!(fixture.initial, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_during_a_cut_are_reported_after_it() {
    let at = zk::own_root("watch-cut").await;
    let mut clients = Clients::new(&at, Foreign::kazoo(&at), "lock").await;
    let (server, chroot) = at.split_once('/').expect("a chroot");
    let relay = Relay::start(server).await;
    let a = clients.contend("a").await;
    let b = clients.contend("b").await;
    let mut fixture = WatchFixture::start(&format!("{}/{chroot}", relay.connect_string()), &clients.client).await;
    fixture.until("lock-found").await;

    relay.refuse().await;
    let cut = fixture.next().await;
    assert_eq!((&cut["event"], &cut["lock"], &cut["queue"]), (&json!("disconnected"), &Value::Null, &Value::Null));
    assert!(cut["reason"].as_str().is_some_and(|reason| reason.contains("cut")), "{cut}");
    clients.release("a").await;
    clients.foreign.held("b").await;
    let c = clients.contend("c").await;
    relay.heal();

    let lines = fixture.until("resynced").await;
    let reported = events(&lines);
    assert_eq!((reported[0].as_str(), reported[reported.len() - 1].as_str()), ("reconnected", "resynced"));
    let mut missed = reported[1..reported.len() - 1].to_vec();
    missed.sort();
    let expected = [format!("acquired {}", b.0), format!("enqueued {}", c.0), format!("released {}", a.0)];
    assert_eq!(missed, expected);
    assert!(lines.iter().all(|line| line["watch_events"].is_null() || line["watch_events"]["herd"] == 0), "{lines:?}");

    // The command follows the lock again.
    clients.release("b").await;
    assert_eq!(events(&fixture.until("acquired").await), [format!("released {}", b.0), format!("acquired {}", c.0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_recursive_watches_is_followed_without_a_cut() {
    let at = zk::own_root("watch-old").await;
    let mut clients = Clients::new(&at, Foreign::kazoo(&at), "lock").await;
    let (server, chroot) = at.split_once('/').expect("a chroot");
    let relay = Relay::start(server).await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    relay.rewrite_op(op::REMOVE_WATCHES, op::UNKNOWN);
    let a = clients.contend("a").await;
    let mut fixture = WatchFixture::start(&format!("{}/{chroot}", relay.connect_string()), &clients.client).await;
    let b = clients.contend("b").await;
    // Without recursive watches the order of two changes is known only if each is read alone.
    assert_eq!(events(&fixture.until("enqueued").await), ["lock-found".to_owned(), format!("enqueued {}", b.0)]);
    clients.release("a").await;
    assert_eq!(events(&fixture.until("acquired").await), [format!("released {}", a.0), format!("acquired {}", b.0)]);

    // After a connection that lasted, the next one follows at once. On it, the library removes the
    // watches of the last connection; old servers do not know that request either.
    let heartbeats = || relay.requests().get(&op::SYNC).copied().unwrap_or_default();
    let before = heartbeats();
    eventually("two heartbeats", async || if heartbeats() >= before + 2 { Ok(()) } else { Err(heartbeats()) }).await;
    relay.cut().await;
    assert_eq!(events(&fixture.until("disconnected").await), ["disconnected"]);
    assert_eq!(events(&fixture.until("resynced").await), ["reconnected", "resynced"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_holder_is_not_reported_as_expired_without_proof() {
    let at = zk::own_root("watch-expiry").await;
    let mut waiters = Clients::new(&at, Foreign::kazoo(&at), "lock").await;
    let mut dying = Foreign::kazoo(&at);
    dying.connect_within("a", Duration::from_secs(2)).await;
    dying.start("a", "a", "lock", LOCK).await;
    let holder = dying.held("a").await;
    waiters.count = 1;
    let waiter = waiters.contend("b").await;
    let mut fixture = WatchFixture::without_view(&at, &waiters.client).await;
    fixture.until("lock-found").await;
    drop(dying);
    waiters.foreign.held("b").await;
    let reported = events(&fixture.until("acquired").await);
    assert_eq!(reported, [format!("released {holder}"), format!("acquired {}", waiter.0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_ends_successfully_at_a_signal_and_after_its_time() {
    let connect = Server::shared().connect_string();
    for signal in ["TERM", "INT"] {
        let at = zk::own_root("watch-signal").await;
        let client = zk::connect(&at).await;
        let fixture = WatchFixture::start(&at, &client).await;
        fixture.running.signal(signal);
        fixture.running.ended().await.done();
    }
    let began = Instant::now();
    let arguments = ["watch", "--connect", &connect, "--root", "/zookeeper", "--for", "5s"];
    assert_eq!(Running::start(lockscope(&arguments)).ended().await.done(), "");
    assert!(began.elapsed() >= Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_closed_after_one_line_ends_watch_quietly() {
    let at = zk::own_root("watch-pipe").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let contender = || [(format!("/locks/a/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, contender()).await;
    let mut shell = Command::new("sh");
    let script = r#"{ "$0" "$@"; echo "code $?" >&2; } | head -n 1"#;
    shell.args(["-c", script, PROGRAM, "watch", "--connect", &at, "--format", "json"]);
    shell.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin");
    let mut running = Running::start(shell);
    let line = running.line().await.expect("a line");
    assert!(line.contains("lock-found"), "{line}");
    let mut ended = Box::pin(running.ended());
    loop {
        // The command notices the closed pipe at its next line.
        zk::create_all(&client, CreateMode::EphemeralSequential, contender()).await;
        if let Ok(ended) = tokio::time::timeout(Duration::from_millis(50), &mut ended).await {
            assert_eq!((ended.out.as_str(), ended.stderr.as_str()), ("", "code 0\n"));
            break;
        }
    }
}
