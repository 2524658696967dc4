//! `lockscope delete --empty-parents`: what it deletes, what it leaves and why, and its messages.

use std::fs;
use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::plans::place;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, Running, lockscope, run};

/// The age that the tests wait for.
const AGE: &str = "5s";
const LONGER: Duration = Duration::from_secs(7);

/// A node with lock parents below it, and an audit log.
struct Parents {
    connect: String,
    client: Client,
    root: String,
    folder: TempDir,
}

impl Parents {
    async fn new(subject: &str) -> Self {
        let (client, root) = place(subject).await;
        let connect = Server::shared().connect_string();
        Self { connect, client, root, folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    /// Creates lock parents whose only contender has gone.
    async fn empty(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let parents: Vec<String> = names.into_iter().map(|name| self.path(&name)).collect();
        zk::make(&self.client, parents.iter().cloned()).await;
        for parent in &parents {
            self.use_once(parent).await;
        }
        parents
    }

    async fn use_once(&self, parent: &str) {
        let node = self.contend(parent).await;
        self.client.delete(&node, None).await.expect("it goes");
    }

    async fn contend(&self, parent: &str) -> String {
        let wish = [(format!("{parent}/lock-"), Vec::new())];
        zk::create_all(&self.client, CreateMode::EphemeralSequential, wish).await.remove(0)
    }

    /// Dates what happened before, and waits until that is old enough.
    async fn age(&self) {
        zk::make(&self.client, [self.path("later")]).await;
        sleep(LONGER).await;
    }

    fn arguments<'a>(&'a self, connect: &'a str, log: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let common = ["delete", "--empty-parents", &self.root, "--older-than", AGE, "--connect", connect];
        [&common, &["--audit-log", log][..], more].concat()
    }

    fn log(&self) -> String {
        self.folder.path().join("audit.jsonl").to_str().expect("text").to_owned()
    }

    async fn delete(&self, more: &[&str]) -> Ended {
        run(lockscope(&self.arguments(&self.connect, &self.log(), more))).await
    }

    /// Returns the number of intents in the log, and the results.
    fn logged(&self) -> (usize, Vec<String>) {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let results = lines.iter().filter_map(|line| Some(line["result"].as_str()?.to_owned()));
        (lines.iter().filter(|line| line["entry"] == "intent").count(), results.collect())
    }

    async fn close(&self, node: &str, may: Permission) {
        let acl = [Acl::new(may | Permission::ADMIN, AuthId::new("world", "anyone"))];
        self.client.set_acl(node, &acl, None).await.expect("closed");
    }

    async fn stats(&self, nodes: impl Iterator<Item = &String>) -> Vec<String> {
        let stats = stream::iter(nodes).then(|node| self.client.check_stat(node));
        stats.map(|stat| format!("{:?}", stat.expect("an answer"))).collect().await
    }

    async fn is_there(&self, node: &str) -> bool {
        self.client.check_stat(node).await.expect("an answer").is_some()
    }
}

/// Returns the reasons and the numbers of a list of groups.
fn counts(groups: &Value) -> Vec<(&str, u64)> {
    let groups = groups.as_array().expect("a list").iter();
    groups.map(|group| (group["why"].as_str().expect("a reason"), group["count"].as_u64().expect("a number"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_empty_ones_are_deleted_and_all_others_are_left_for_their_reason() {
    let parents = Parents::new("empties").await;
    let old = parents.empty((0..40).map(|number| format!("group/{number:02}"))).await;
    let others = ["data", "leader-election", "unguarded", "used", "watched", "closed/a", "hidden"].map(str::to_owned);
    let others = parents.empty(others).await;
    zk::make(&parents.client, [parents.path("semaphore/leases"), parents.path("never")]).await;
    parents.client.set_data(&others[0], b"settings", None).await.expect("written");
    parents.close(&others[2], Permission::READ).await;
    parents.contend(&others[3]).await;
    let (_, _watch) = parents.client.check_and_watch_stat(&others[4]).await.expect("watched");
    parents.close(&others[6], Permission::WRITE).await;
    parents.close(&parents.path("closed"), Permission::READ | Permission::CREATE).await;
    parents.age().await;
    zk::make(&parents.client, [parents.path("latest")]).await;
    let young = parents.empty(["young".to_owned()]).await;
    let all = || old.iter().chain(&others).chain(&young);
    let before = parents.stats(all()).await;

    let planned = parents.delete(&["--dry-run", "--format", "json"]).await.json();
    assert_eq!((&planned["outcome"], &planned["dry_run"]), (&Value::Null, &true.into()));
    assert_eq!(parents.stats(all()).await, before, "a dry run changes nothing");
    assert_eq!(parents.logged().0, 0);
    let plan = &planned["plan"];
    let (chosen, first) = (&plan["delete"]["count"], &plan["delete"]["first"][0]);
    assert_eq!((chosen, first, &plan["confirmation"]), (&40.into(), &old[0].as_str().into(), &"node-count".into()));
    let left = [
        // The group, `closed` and `semaphore` have children too.
        ("not-empty", 4),
        ("too-young", 1),
        ("has-data", 1),
        ("watched", 1),
        ("no-lock-parent", 3),
        ("election", 1),
        ("other-lock", 1),
        ("not-readable", 1),
        ("not-permitted", 1),
        ("unguarded", 1),
    ];
    assert_eq!(counts(&plan["left"]), left, "{plan}");
    let words = parents.delete(&["--dry-run", "--format", "table"]).await.done();
    assert!(words.contains("Delete: 40 lock parents") && words.contains("Left: 1: a session watches them"), "{words}");

    let deleted = parents.delete(&["--yes", "--format", "json"]).await.json();
    let outcome = &deleted["outcome"];
    assert_eq!((&outcome["deleted"], &outcome["done"], counts(&outcome["left"]).len()), (&40.into(), &true.into(), 0));
    assert_eq!(parents.logged(), (40, vec!["deleted".to_owned(); 40]));
    for parent in &old {
        assert!(!parents.is_there(parent).await, "{parent}");
    }
    for parent in others.iter().chain(&young) {
        assert!(parents.is_there(parent).await, "{parent}");
    }
    let again = parents.delete(&["--yes", "--format", "table"]).await;
    assert!(
        again.code == Some(1) && again.out.contains("deleted 0, left 0, not known 0: no empty lock parent"),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_later_node_the_age_is_not_known_and_nothing_is_deleted() {
    let parents = Parents::new("empties-undated").await;
    let parent = parents.empty(["a".to_owned()]).await.remove(0);
    sleep(LONGER).await;
    let planned = parents.delete(&["--dry-run", "--format", "json"]).await;
    assert_eq!(planned.code, Some(1), "{planned:?}");
    let planned: Value = serde_json::from_str(&planned.out).expect("JSON");
    assert_eq!(planned["dry_run"], true, "{planned}");
    assert_eq!(counts(&planned["plan"]["left"]), [("age-not-known", 1)], "{planned}");
    assert!(parents.is_there(&parent).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_between_the_plan_and_the_deletion_is_left_and_counted() {
    let parents = Parents::new("empties-changed").await;
    let empty = parents.empty(["a", "b", "contended", "recreated", "used"].map(str::to_owned)).await;
    parents.age().await;
    let (log, connect) = (parents.log(), parents.connect.clone());
    let mut refused = Terminal::lockscope(&parents.arguments(&connect, &log, &[]), 160, 40);
    refused.shows("Type 5 to delete so many");
    refused.press("y\r");
    assert_eq!(refused.ends().exit_code(), 1, "{}", refused.text());
    assert_eq!(parents.logged(), (0, vec!["not-confirmed".to_owned()]));

    let mut terminal = Terminal::lockscope(&parents.arguments(&connect, &log, &[]), 160, 40);
    terminal.shows("Type 5 to delete so many");
    let contender = parents.contend(&empty[2]).await;
    parents.client.delete(&empty[3], None).await.expect("gone");
    zk::make(&parents.client, [empty[3].clone()]).await;
    parents.use_once(&empty[4]).await;
    terminal.press("5\r");
    assert_eq!(terminal.ends().exit_code(), 0, "{}", terminal.text());
    assert!(terminal.text().contains("deleted 2, left 3, not known 0"), "{}", terminal.text());
    for (node, stays) in
        [(&empty[0], false), (&empty[1], false), (&empty[2], true), (&empty[3], true), (&empty[4], true)]
    {
        assert_eq!(parents.is_there(node).await, stays, "{node}");
    }
    assert!(parents.is_there(&contender).await);
    let (intents, results) = parents.logged();
    assert_eq!(
        (intents, &*results),
        (5, &["not-confirmed", "deleted", "deleted", "changed", "changed-hands", "changed"].map(str::to_owned)[..])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_the_run_after_the_node_at_hand_and_the_rest_is_counted() {
    let parents = Parents::new("empties-signal").await;
    let empty = parents.empty((0..40).map(|number| format!("{number:02}"))).await;
    parents.age().await;
    let relay = Relay::start(&parents.connect).await;
    relay.delay(Duration::from_millis(25));
    let (connect, log) = (relay.connect_string(), parents.log());
    let arguments = parents.arguments(&connect, &log, &["--yes", "--format", "json"]);
    let running = Running::start(lockscope(&arguments));
    eventually(
        "the first deletion",
        async || {
            if parents.is_there(&empty[0]).await { Err(running.said_now()) } else { Ok(()) }
        },
    )
    .await;
    running.signal("INT");
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let reported: Value = serde_json::from_str(&ended.out).expect("JSON");
    let outcome = &reported["outcome"];
    let (deleted, rest) =
        (outcome["deleted"].as_u64().expect("a number"), outcome["not_tried"].as_u64().expect("a number"));
    assert!(deleted >= 1 && rest >= 1 && deleted + rest == 40, "{outcome}");
    assert!(outcome["reason"].as_str().is_some_and(|says| says.contains("interrupted")), "{outcome}");
    let (intents, results) = parents.logged();
    assert_eq!((intents as u64, results.len() as u64), (deleted, deleted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_node_is_reported() {
    let parents = Parents::new("empties-missing").await;
    parents.client.delete(&parents.root, None).await.expect("gone");
    let ended = parents.delete(&["--yes", "--format", "json"]).await;
    let reported: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!((ended.code, &reported["outcome"]["result"]), (Some(1), &"gone".into()));
}
