//! `lockscope delete`: what it deletes, what it refuses, and its messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use super::plans::place;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, lockscope, run};
use crate::observe::fixture::curator;

/// A place with a lock parent, and an audit log for it.
struct CommandFixture {
    connect: String,
    client: Client,
    lock: String,
    folder: TempDir,
}

impl CommandFixture {
    async fn new(subject: &str) -> Self {
        let (client, root) = place(subject).await;
        Self::at(Server::shared(), client, format!("{root}/lock")).await
    }

    async fn at(server: &Server, client: Client, lock: String) -> Self {
        zk::make(&client, [lock.clone()]).await;
        Self { connect: server.connect_string(), client, lock, folder: tempfile::tempdir().expect("a folder") }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    /// Returns the lines of the log.
    fn logged(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
    }

    /// Creates contenders of one session.
    async fn queue(&self, count: usize) -> Vec<String> {
        let wishes = (0..count).map(|_| (format!("{}/{}", self.lock, curator()), Vec::new()));
        zk::create_all(&self.client, CreateMode::EphemeralSequential, wishes).await
    }

    async fn delete(&self, node: &str, more: &[&str]) -> Ended {
        self.delete_logged(&self.log(), node, more).await
    }

    async fn delete_logged(&self, log: &Path, node: &str, more: &[&str]) -> Ended {
        let common = ["delete", node, "--connect", &self.connect, "--audit-log", log.to_str().expect("text")];
        run(lockscope(&[&common, more].concat())).await
    }

    async fn is_there(&self, node: &str) -> bool {
        self.client.check_stat(node).await.expect("an answer").is_some()
    }
}

fn object(ended: &Ended, code: i32) -> Value {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn results(lines: &[Value]) -> Vec<(&str, Option<&str>)> {
    lines.iter().map(|line| (line["entry"].as_str().expect("a stage"), line["result"].as_str())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ownerless_node_is_deleted_and_both_lines_are_in_the_log() {
    let fixture = CommandFixture::new("delete-ownerless").await;
    let wish = (format!("{}/lock-", fixture.lock), Vec::new());
    let options = zk::open(CreateMode::PersistentSequential);
    let (stat, sequence) = fixture.client.create(&wish.0, &wish.1, &options).await.expect("made");
    let node = format!("{}{sequence}", wish.0);
    let plan = fixture.delete(&node, &["--dry-run"]).await.json();
    assert_eq!(plan["outcome"], Value::Null);
    assert!(fixture.is_there(&node).await && !fixture.log().exists(), "a dry run does nothing");
    let reported =
        fixture.delete(&node, &["--yes", "--session", "none", "--czxid", &stat.czxid.to_string()]).await.json();
    assert_eq!((reported["outcome"]["result"].as_str(), reported["schema"].as_i64()), (Some("deleted"), Some(1)));
    assert_eq!(reported["plan"]["nodes"][0]["liveness"], "ownerless");
    assert!(!fixture.is_there(&node).await);
    let lines = fixture.logged();
    assert_eq!(results(&lines), [("intent", None), ("outcome", Some("deleted"))]);
    for line in &lines {
        assert_eq!((line["path"].as_str(), line["czxid"].as_i64()), (Some(&*node), Some(stat.czxid)));
        assert!(line["owner"].is_null() && line["user"].is_string() && line["host"].is_string());
        assert_eq!(line["identities"][0], "ip:127.0.0.1");
    }
    assert_eq!(fs::metadata(fixture.log()).expect("a file").permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_holder_needs_more_than_a_yes_and_a_waiter_does_not() {
    let fixture = CommandFixture::new("delete-live").await;
    let nodes = fixture.queue(3).await;
    let refused = object(&fixture.delete(&nodes[0], &["--yes"]).await, 1);
    assert_eq!((refused["outcome"]["result"].as_str(), &refused["outcome"]["done"]), (Some("live"), &false.into()));
    let planned = &refused["plan"]["nodes"][0];
    assert_eq!((planned["liveness"].as_str(), planned["state"].as_str()), (Some("live"), Some("holds")));
    assert!(planned["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{planned}");
    let next = nodes[1].rsplit('/').next();
    assert_eq!(planned["acquires_next"][0].as_str(), next);
    assert!(fixture.is_there(&nodes[0]).await);

    let reported = fixture.delete(&nodes[1], &["--yes"]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
    let reported = fixture.delete(&nodes[0], &["--yes", "--even-if-live"]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
    assert_eq!(reported["plan"]["nodes"][0]["acquires_next"][0].as_str(), nodes[2].rsplit('/').next());
    assert!(!fixture.is_there(&nodes[0]).await && fixture.is_there(&nodes[2]).await);
    let lines = fixture.logged();
    let deleted = ("outcome", Some("deleted"));
    assert_eq!(results(&lines), [("outcome", Some("live")), ("intent", None), deleted, ("intent", None), deleted]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recreated_node_is_left_alone() {
    let fixture = CommandFixture::new("delete-other").await;
    let node = fixture.queue(1).await.remove(0);
    for (guard, value) in [("--session", "0x7"), ("--session", "none"), ("--czxid", "7")] {
        let reported = object(&fixture.delete(&node, &["--yes", "--even-if-live", guard, value]).await, 1);
        assert_eq!(reported["outcome"]["result"], "changed-hands", "{guard} {value}");
    }
    let reported = object(&fixture.delete(&format!("{}/none", fixture.lock), &["--yes"]).await, 1);
    assert_eq!(reported["outcome"]["result"], "gone");
    assert!(fixture.is_there(&node).await);
    assert_eq!(fixture.logged().len(), 4, "one line of the outcome, whatever it was");
    let session = zk::session_of(&fixture.client).to_string();
    let reported = fixture.delete(&node, &["--yes", "--even-if-live", "--session", &session]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_names_are_escaped_in_json_and_in_the_audit_log() {
    let mut fixture = CommandFixture::new("delete-hostile").await;
    fixture.lock += "/evil\u{202e}kcol\u{2066}";
    zk::make(&fixture.client, [fixture.lock.clone()]).await;
    let node = fixture.queue(2).await.remove(1);
    let ended = fixture.delete(&node, &["--yes"]).await;
    let log = fs::read_to_string(fixture.log()).expect("a log");
    for text in [&ended.out, &log] {
        assert!(text.contains(r"evil\u202ekcol\u2066") && !text.contains(['\u{202e}', '\u{2066}']), "{text}");
    }
    let reported = ended.json();
    assert_eq!((&reported["path"], &reported["outcome"]["result"]), (&node.as_str().into(), &"deleted".into()));
    assert!(fixture.logged().iter().all(|line| line["path"] == node), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_an_empty_lock_parent_is_deleted() {
    let fixture = CommandFixture::new("delete-parent").await;
    let nodes = fixture.queue(1).await;
    let reported = fixture.delete(&fixture.lock, &["--yes"]).await.refused();
    assert!(reported.contains("recursively"), "{reported}");
    zk::delete_all(&fixture.client, nodes).await;
    let reported = fixture.delete(&fixture.lock, &["--yes"]).await.json();
    assert_eq!(
        (&reported["outcome"]["result"], &reported["plan"]["nodes"][0]["what"]),
        (&"deleted".into(), &"empty-parent".into())
    );
    assert!(!fixture.is_there(&fixture.lock).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_parents_of_a_semaphore_are_one_lock() {
    let fixture = CommandFixture::new("delete-semaphore").await;
    let (curators, kazoos) = (format!("{}/curators", fixture.lock), format!("{}/kazoos", fixture.lock));
    zk::make(&fixture.client, [format!("{curators}/locks"), format!("{curators}/leases"), kazoos.clone()]).await;
    zk::make(&fixture.client, [format!("{kazoos}-__lock__")]).await;
    let id = "c3d2e1f000004000800000000000000a";
    let contender = |path: String| zk::create_all(&fixture.client, CreateMode::Ephemeral, [(path, Vec::new())]);
    for (node, lock, recipe) in [
        (
            format!("{curators}/leases/{}0000000000", curator().replace("-lock-", "-lease-")),
            &curators,
            "curator-semaphore",
        ),
        (format!("{curators}/locks/{}0000000001", curator()), &curators, "curator-semaphore"),
        (format!("{kazoos}/{id}"), &kazoos, "kazoo-semaphore"),
        (format!("{kazoos}-__lock__/{id}__lock__0000000000"), &kazoos, "kazoo-semaphore"),
    ] {
        contender(node.clone()).await;
        let plan = fixture.delete(&node, &["--dry-run"]).await.json();
        let planned = &plan["plan"]["nodes"][0];
        assert_eq!((planned["lock"].as_str(), planned["recipe"].as_str()), (Some(&**lock), Some(recipe)), "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_no_lock_is_not_deleted() {
    let fixture = CommandFixture::new("delete-no-lock").await;
    let (service, data) = (format!("{}/worker", fixture.lock), format!("{}/settings", fixture.lock));
    fixture.client.create(&service, &[], &zk::open(CreateMode::Ephemeral)).await.expect("made");
    fixture.client.create(&data, b"important", &zk::open(CreateMode::Persistent)).await.expect("made");
    let reported = fixture.delete(&service, &["--yes", "--even-if-live"]).await.refused();
    assert!(reported.contains("--lock"), "{reported}");
    let reported = fixture.delete(&data, &["--yes"]).await.refused();
    assert!(reported.contains("not a lock parent"), "{reported}");
    assert!(fixture.is_there(&service).await && fixture.is_there(&data).await);
    let reported = fixture.delete(&service, &["--yes", "--even-if-live", "--lock", &service]).await.json();
    assert_eq!(
        (&reported["outcome"]["result"], &reported["plan"]["nodes"][0]["recipe"]),
        (&"deleted".into(), &"single-node".into())
    );
}

/// Restricts the ACL of a node to `may`, besides the permission to change the ACL.
async fn close(client: &Client, node: &str, may: Permission) {
    let acl = [Acl::new(may | Permission::ADMIN, AuthId::new("world", "anyone"))];
    client.set_acl(node, &acl, None).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plan_names_its_guard_and_who_sees_it() {
    let fixture = CommandFixture::new("delete-guard").await;
    let unique = fixture.queue(1).await.remove(0);
    let numbered = zk::create_all(
        &fixture.client,
        CreateMode::EphemeralSequential,
        [(format!("{}/lock-", fixture.lock), Vec::new())],
    )
    .await
    .remove(0);
    let guard = async |node: &str| {
        let plan = fixture.delete(node, &["--dry-run"]).await.json();
        let planned = &plan["plan"]["nodes"][0];
        let says = planned["guard_effect"].as_str().unwrap_or_default().to_owned();
        (planned["guard"].as_str().unwrap_or_default().to_owned(), says)
    };
    let version = async |node: &str| fixture.client.check_stat(node).await.expect("an answer").expect("there").version;
    assert_eq!(guard(&unique).await.0, "unique-name");
    let (by, says) = guard(&numbered).await;
    assert!(by == "parent" && says.contains("no waiter is woken") && says.contains("up to 17 changes"), "{by} {says}");
    close(&fixture.client, &fixture.lock, Permission::READ | Permission::CREATE | Permission::DELETE).await;
    let (by, says) = guard(&numbered).await;
    assert!(by == "node" && says.contains("is woken twice"), "{by} {says}");
    fixture.client.set_data(&numbered, &vec![b'x'; 100_000], None).await.expect("large data");
    let (by, says) = guard(&numbered).await;
    assert!(by == "node" && says.contains("100000 bytes go in up to 8 requests"), "{by} {says}");
    assert_eq!((version(&fixture.lock).await, version(&numbered).await), (0, 1), "finding that out changes nothing");
    let reported = fixture.delete(&numbered, &["--yes", "--even-if-live"]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unguarded_deletion_needs_more_than_a_yes() {
    let fixture = CommandFixture::new("delete-unguarded").await;
    let wish = [(format!("{}/lock-", fixture.lock), Vec::new())];
    let node = zk::create_all(&fixture.client, CreateMode::PersistentSequential, wish).await.remove(0);
    close(&fixture.client, &fixture.lock, Permission::READ | Permission::CREATE | Permission::DELETE).await;
    close(&fixture.client, &node, Permission::READ).await;
    let reported = object(&fixture.delete(&node, &["--yes"]).await, 1);
    assert_eq!(
        (&reported["outcome"]["result"], &reported["plan"]["nodes"][0]["guard"]),
        (&"unguarded".into(), &"none".into())
    );
    assert_eq!(reported["plan"]["confirmation"], "sequence-number");
    let says = reported["outcome"]["reason"].as_str().unwrap_or_default();
    assert!(says.contains("--auth-file") && says.contains("--even-if-unguarded"), "{says}");
    assert!(fixture.is_there(&node).await);
    let reported = fixture.delete(&node, &["--yes", "--even-if-unguarded"]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
    assert!(!fixture.is_there(&node).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_permission_is_named_with_the_way_to_get_it() {
    let fixture = CommandFixture::new("delete-permission").await;
    let node = fixture.queue(1).await.remove(0);
    close(&fixture.client, &node, Permission::CREATE).await;
    for more in [&[][..], &["--lock", &node]] {
        let reported = fixture.delete(&node, &[&["--yes", "--even-if-live"], more].concat()).await.refused();
        assert!(
            reported.contains(&format!("the READ permission on {node}")) && reported.contains("--auth-file"),
            "{reported}"
        );
        assert!(!reported.contains("--lock"), "{reported}");
    }
    close(&fixture.client, &node, Permission::ALL).await;
    close(&fixture.client, &fixture.lock, Permission::WRITE | Permission::CREATE | Permission::DELETE).await;
    let reported = fixture.delete(&node, &["--yes", "--even-if-live"]).await.refused();
    assert!(reported.contains(&format!("the READ permission on {} is", fixture.lock)), "{reported}");
    close(&fixture.client, &fixture.lock, Permission::READ | Permission::WRITE).await;
    let ended = fixture.delete(&node, &["--yes", "--even-if-live"]).await;
    let reported = object(&ended, 2);
    assert_eq!((&reported["outcome"]["result"], &reported["outcome"]["done"]), (&"refused".into(), &false.into()));
    assert!(
        ended.stderr.contains("the DELETE permission on its parent") && ended.stderr.contains("--auth-file"),
        "{ended:?}"
    );
    assert!(fixture.is_there(&node).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_owner_is_expiring_and_the_plan_says_when() {
    let server = Server::start();
    let fixture = CommandFixture::at(&server, zk::connect(&server.connect_string()).await, "/lock".to_owned()).await;
    let relay = Relay::start(&fixture.connect).await;
    let owner = zk::connect(&relay.connect_string()).await;
    let node = format!("{}/lock-", fixture.lock);
    let (_, sequence) =
        owner.create(&node, &[], &zk::open(CreateMode::EphemeralSequential)).await.expect("it queues up");
    let node = format!("{node}{sequence}");
    relay.refuse().await;
    let plan = eventually("an owner that is seen to be away", async || {
        let plan = fixture.delete(&node, &["--dry-run"]).await.json();
        // Until the server notices the cut, the session counts as live.
        if plan["plan"]["nodes"][0]["liveness"] == "expiring" { Ok(plan) } else { Err(plan) }
    })
    .await;
    let planned = &plan["plan"]["nodes"][0];
    assert!(planned["expires_in_ms"].as_u64().is_some_and(|left| left < 33_000), "{planned}");
    assert!(
        planned["evidence"].as_str().is_some_and(|says| says.contains("the servers delete the node in")),
        "{planned}"
    );
    let reported = fixture.delete(&node, &["--yes"]).await.json();
    assert_eq!(reported["outcome"]["result"], "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_or_without_a_log_nothing_is_deleted() {
    let fixture = CommandFixture::new("delete-refused").await;
    let node = fixture.queue(2).await.remove(1);
    let reported = fixture.delete(&node, &[]).await.refused();
    assert!(reported.contains("--yes") && reported.contains("--dry-run"), "{reported}");
    let file = fixture.folder.path().join("file");
    fs::write(&file, "").expect("written");
    for unwritable in [Path::new("/proc/audit"), &file.join("audit"), fixture.folder.path(), Path::new("/dev/null")] {
        let reported = fixture.delete_logged(unwritable, &node, &["--yes"]).await.refused();
        assert!(reported.contains("audit log") && reported.contains("--audit-log"), "{reported}");
    }
    assert!(fixture.is_there(&node).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_terminal_the_command_shows_the_plan_and_asks() {
    let fixture = CommandFixture::new("delete-asks").await;
    let nodes = fixture.queue(2).await;
    let (connect, log) = (Server::shared().connect_string(), fixture.log());
    let asked = |node: &str, more: &[&str], question: &str, answer: &str, code: u32| {
        let common = ["delete", node, "--connect", &connect, "--audit-log", log.to_str().expect("text")];
        let mut terminal = Terminal::lockscope(&[&common, more].concat(), 160, 40);
        terminal.shows_all(&["evidence", "then", "careful", question]);
        terminal.press(answer);
        assert_eq!(terminal.ends().exit_code(), code, "{}", terminal.text());
    };
    asked(&nodes[1], &[], "[y/N]", "n\r", 1);
    assert!(fixture.is_there(&nodes[1]).await);
    asked(&nodes[0], &["--even-if-live"], "Type 0 to do it", "y\r", 1);
    assert!(fixture.is_there(&nodes[0]).await);
    asked(&nodes[1], &[], "[y/N]", "y\r", 0);
    asked(&nodes[0], &["--even-if-live"], "Type 0 to do it", "0000000000\r", 0);
    assert!(!fixture.is_there(&nodes[0]).await && !fixture.is_there(&nodes[1]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_node_is_reported_with_and_without_a_terminal() {
    let fixture = CommandFixture::new("delete-missing").await;
    let node = format!("{}/none", fixture.lock);
    let (says, log) = (format!("there is no node {node}: nothing was deleted"), fixture.log());
    for more in [&[][..], &["--yes"], &["--dry-run"]] {
        let reported = object(&fixture.delete(&node, more).await, 1);
        assert_eq!(
            (&reported["outcome"]["result"], &reported["outcome"]["reason"]),
            (&"gone".into(), &says.as_str().into())
        );
    }
    assert_eq!(results(&fixture.logged()), [("outcome", Some("gone")); 2], "a dry run is not logged");
    let connect = Server::shared().connect_string();
    let arguments = ["delete", &node, "--connect", &connect, "--audit-log", log.to_str().expect("text")];
    let mut terminal = Terminal::lockscope(&arguments, 160, 40);
    assert_eq!(terminal.ends().exit_code(), 1, "{}", terminal.text());
    assert!(terminal.text().contains(&says), "{}", terminal.text());
    let logged = fixture.logged();
    assert_eq!(logged.len(), 3);
    assert!(logged.iter().all(|line| line["ensemble"] == connect), "{logged:?}");
}
