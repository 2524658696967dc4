//! Deleting from the screen, on a real server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockscope_live::admin::audit::{AuditEntry, HistoryLimits, read};
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::{eventually, eventually_blocking, eventually_within};
use crate::harness::zk;

/// A tree for one test, its sessions, and a console with an audit log of its own.
struct DeleteFixture {
    at: String,
    client: Client,
    folder: tempfile::TempDir,
}

impl DeleteFixture {
    async fn new(parents: &[&str]) -> Self {
        let at = zk::own_root("delete").await;
        let client = zk::connect(&at).await;
        zk::make(&client, parents.iter().map(|path| (*path).to_owned())).await;
        Self { at, client, folder: tempfile::tempdir().expect("a folder") }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("state").join("audit.jsonl")
    }

    fn console(&self, write: bool, columns: u16, rows: u16) -> Terminal {
        self.console_with(&self.log(), write, columns, rows)
    }

    fn console_with(&self, log: &Path, write: bool, columns: u16, rows: u16) -> Terminal {
        let log = log.to_str().expect("a plain path");
        let mut arguments = vec!["--connect", &self.at, "--audit-log", log];
        arguments.extend(write.then_some("--write"));
        let terminal = Terminal::lockscope(&arguments, columns, rows);
        terminal.shows("● live");
        terminal
    }

    /// Adds contenders to a queue and returns their paths.
    async fn contend(&self, client: &Client, mode: CreateMode, nodes: &[&str]) -> Vec<String> {
        zk::create_all(client, mode, nodes.iter().map(|node| ((*node).to_owned(), b"host-a".to_vec()))).await
    }

    async fn is_there(&self, path: &str) -> bool {
        self.client.check_stat(path).await.expect("an answer").is_some()
    }

    async fn goes(&self, path: &str) {
        eventually(
            &format!("the end of {path}"),
            async || if self.is_there(path).await { Err("there") } else { Ok(()) },
        )
        .await;
    }

    /// Returns the entries of the log, once `count` of them have an outcome.
    fn logged(&self, count: usize) -> Vec<AuditEntry> {
        eventually_blocking("outcomes in the audit log", || {
            let history = read(&self.log(), HistoryLimits::default()).map_err(|error| error.to_string())?;
            let done = history.entries.iter().filter(|entry| entry.outcome.is_some()).count();
            if done == count { Ok(history.entries) } else { Err(format!("{history:?}")) }
        })
    }
}

/// Repeats an answer until it is accepted: answers within a second after facts changed are
/// rejected.
fn answer(terminal: &mut Terminal, keys: &str, expected: &str) {
    let mut given: Option<Instant> = None;
    eventually_blocking(expected, || {
        let seen = terminal.text();
        if seen.contains(expected) {
            return Ok(());
        }
        if given.is_none_or(|given| given.elapsed() > Duration::from_secs(3)) {
            // A number that was rejected is erased first.
            terminal.press(&if keys.ends_with('\r') { format!("\u{7f}\u{7f}{keys}") } else { keys.to_owned() });
            given = Some(Instant::now());
        }
        Err(seen)
    });
}

fn result(entry: &AuditEntry) -> &str {
    entry.outcome.as_ref().map_or("none", |reported| &reported.result)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn y_deletes_an_ownerless_contender_and_the_next_one_holds() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let left = fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-"]).await;
    fixture.contend(&fixture.client, CreateMode::EphemeralSequential, &["/orders/lock-", "/orders/lock-"]).await;
    let mut terminal = fixture.console(true, 80, 24);
    terminal.shows_all(&["may write", "3 contenders"]);
    terminal.press("\r");
    terminal.shows_all(&["ownerless", "2 waiting"]);
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/lock-0000000000?", "no session owns it", "acquires next", "y deletes it"]);
    terminal.press("n");
    assert!(fixture.is_there(&left[0]).await);
    answer(&mut terminal, "y", "is deleted.");
    terminal.shows("1 waiting");
    fixture.goes(&left[0]).await;
    terminal.press("6");
    terminal.shows_all(&["deleted", "0 of host-a", "acquired"]);
    terminal.press("7");
    terminal.shows_all(&["Audit", "1 change", "● deleted", "ownerless", "evidence"]);
    let entries = fixture.logged(1);
    assert_eq!((result(&entries[0]), entries[0].intended), ("deleted", true));
    assert_eq!(entries[0].subject.path, left[0]);
    assert_eq!(entries[0].confirmed_by.as_deref(), Some("yes"));
    assert!(entries[0].who.own_session.is_some() && !entries[0].who.user.is_empty());
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_holder_is_deleted_only_by_typing_its_number() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let owner = zk::connect(&fixture.at).await;
    fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-"]).await;
    zk::delete_all(&fixture.client, ["/orders/lock-0000000000".to_owned()]).await;
    let held = fixture.contend(&owner, CreateMode::EphemeralSequential, &["/orders/lock-"]).await;
    fixture.contend(&fixture.client, CreateMode::EphemeralSequential, &["/orders/lock-"]).await;
    let mut terminal = fixture.console(true, 160, 45);
    terminal.shows("2 contenders");
    terminal.press("\r");
    terminal.shows_all(&["1 waiting", "live"]);
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/", "is connected from", "stop it first", "type 1 and Enter"]);
    terminal.press("y");
    answer(&mut terminal, "2\r", "type 1 to confirm");
    assert!(fixture.is_there(&held[0]).await);
    assert!(!fixture.log().exists(), "nothing was begun");
    answer(&mut terminal, "1\r", " is deleted.");
    fixture.goes(&held[0]).await;
    let entries = fixture.logged(1);
    assert_eq!(entries[0].confirmed_by.as_deref(), Some("sequence-number"));
    assert_eq!((entries[0].subject.life.as_str(), result(&entries[0])), ("live", "deleted"));
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_permission_nothing_is_deleted_and_the_screen_says_how_to_get_it() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let left = fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-"]).await;
    let mut terminal = fixture.console(false, 80, 24);
    terminal.shows_all(&["read-only", "1 contender"]);
    terminal.press("\rx");
    terminal.shows_all(&["lockscope --write", "lockscope delete"]);
    terminal.press("y 7");
    terminal.shows("Nothing was changed yet");
    assert!(fixture.is_there(&left[0]).await && !fixture.log().exists());
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_replaced_while_the_plan_is_open_is_not_deleted() {
    let fixture = DeleteFixture::new(&["/job"]).await;
    let owner = zk::connect(&fixture.at).await;
    zk::create_all(&owner, CreateMode::Ephemeral, [("/job/lock".to_owned(), b"old".to_vec())]).await;
    let mut terminal = fixture.console(true, 80, 24);
    terminal.shows("1 contender");
    terminal.press("\rx");
    terminal.shows_all(&["Delete /job/lock?", "type lock and Enter"]);
    zk::delete_all(&fixture.client, ["/job/lock".to_owned()]).await;
    zk::create_all(&fixture.client, CreateMode::Ephemeral, [("/job/lock".to_owned(), b"new".to_vec())]).await;
    terminal.shows("another node has that name now");
    terminal.press("y\rlock\r");
    terminal.press("\x1b");
    terminal.hides("another node has that name now");
    assert!(fixture.is_there("/job/lock").await && !fixture.log().exists());
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unguarded_node_is_deleted_only_by_typing_its_number() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let left = fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-"]).await;
    let mut terminal = fixture.console(true, 80, 24);
    terminal.shows("1 contender");
    terminal.press("\rx");
    terminal.shows_all(&["no waiter is", "up to 17 changes", "y deletes it"]);
    terminal.press("\x1b");
    terminal.hides("Delete /orders/");
    for (node, may) in [("/orders", Permission::READ | Permission::DELETE), (&left[0], Permission::READ)] {
        let acl = [Acl::new(may | Permission::ADMIN, AuthId::new("world", "anyone"))];
        fixture.client.set_acl(node, &acl, None).await.expect("closed");
    }
    terminal.press("x");
    terminal.shows_all(&["Nothing guards this deletion: type 0 and Enter", "another owner could"]);
    terminal.press("y");
    answer(&mut terminal, "0\r", "is deleted");
    fixture.goes(&left[0]).await;
    assert_eq!(fixture.logged(1)[0].confirmed_by.as_deref(), Some("sequence-number"));
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tagged_contenders_are_deleted_together_and_an_empty_parent_alone() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let left =
        fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-", "/orders/lock-"]).await;
    let mut terminal = fixture.console(true, 80, 24);
    terminal.shows("2 contenders");
    terminal.press("\r");
    terminal.shows("1 waiting");
    terminal.press("  ");
    terminal.shows("2 tagged");
    terminal.press("x");
    terminal.shows_all(&["Delete 2 nodes?", "y deletes them"]);
    answer(&mut terminal, "y", "All 2 nodes are deleted.");
    for path in &left {
        fixture.goes(path).await;
    }
    terminal.press("1");
    terminal.shows("free");
    terminal.press("x");
    terminal.shows_all(&["Delete the empty /orders?", "y deletes it"]);
    answer(&mut terminal, "y", "is deleted.");
    fixture.goes("/orders").await;
    assert!(fixture.logged(3).iter().all(|entry| result(entry) == "deleted"));
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_of_a_curator_lock_is_asked_and_nothing_is_deleted() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let name = "/orders/_c_0000001b-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-";
    let held = fixture.contend(&fixture.client, CreateMode::EphemeralSequential, &[name]).await;
    let mut terminal = fixture.console(true, 80, 24);
    terminal.shows("1 contender");
    terminal.press("\rx");
    terminal.shows("r asks its owner to release");
    terminal.press("r");
    terminal.shows_all(&["Ask the owner of /orders/", "nothing is deleted"]);
    answer(&mut terminal, "y", "its owner is asked to release, and");
    let (data, _) = fixture.client.get_data(&held[0]).await.expect("the node is there");
    assert_eq!(data, b"__REVOKE__");
    assert_eq!(result(&fixture.logged(1)[0]), "asked");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// The reply to the first create was lost: the client made a second node and waits with that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_an_orphan_leaves_its_owner_alone_but_needs_the_typed_number() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let owner = zk::connect(&fixture.at).await;
    let name = "/orders/_c_0000001b-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-";
    let orphan = fixture.contend(&owner, CreateMode::EphemeralSequential, &[name]).await;
    fixture.contend(&owner, CreateMode::EphemeralSequential, &[name]).await;
    let mut terminal = fixture.console(true, 160, 45);
    terminal.shows("2 contenders");
    terminal.press("\r");
    terminal.shows_all(&["1 waiting", "live", "orphan"]);
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/", "it does not know of this node", "type 0 and Enter"]);
    for contradiction in ["goes on as if", "stop it first", "asks its owner to release"] {
        assert!(!terminal.text().contains(contradiction), "{}", terminal.text());
    }
    terminal.press("yr");
    assert!(fixture.is_there(&orphan[0]).await);
    answer(&mut terminal, "0\r", " is deleted.");
    fixture.goes(&orphan[0]).await;
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_writable_log_nothing_is_deleted_and_the_screen_says_why() {
    let fixture = DeleteFixture::new(&["/orders"]).await;
    let left = fixture.contend(&fixture.client, CreateMode::PersistentSequential, &["/orders/lock-"]).await;
    // A folder cannot be opened as a file, not even by root.
    let log = fixture.folder.path().join("folder");
    std::fs::create_dir(&log).expect("a folder");
    let mut terminal = fixture.console_with(&log, true, 80, 24);
    terminal.shows("1 contender");
    terminal.press("\rx");
    terminal.shows("y deletes it");
    answer(&mut terminal, "y", "Nothing was done: the audit log");
    terminal.shows("--audit-log");
    terminal.press("7");
    terminal.shows_all(&["Nothing can be deleted", "cannot be read"]);
    assert!(fixture.is_there(&left[0]).await);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[test]
fn a_confirmed_deletion_is_finished_even_if_the_user_leaves() {
    let server = Server::in_own_process();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("audit.jsonl");
    let client = runtime.block_on(async {
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/orders".to_owned()]).await;
        zk::create_all(&client, CreateMode::PersistentSequential, [("/orders/lock-".to_owned(), Vec::new())]).await;
        client
    });
    let arguments =
        ["--connect", &server.connect_string(), "--write", "--audit-log", log.to_str().expect("a plain path")];
    let mut terminal = Terminal::lockscope(&arguments, 80, 24);
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press("\rx");
    terminal.shows_all(&["Delete /", "up to 17 changes", "y deletes it"]);
    // The server is frozen while the plan is confirmed and the console is left.
    server.pause();
    answer(&mut terminal, "y", "deleting 1 node");
    terminal.press("q");
    eventually_blocking("what is said at the end", || {
        let said = terminal.text().contains("Waiting for the deletion to finish.");
        if said && !terminal.screen().alternate_screen() { Ok(()) } else { Err(terminal.text()) }
    });
    server.resume();
    assert!(terminal.ends().success());
    let history = read(&log, HistoryLimits::default()).expect("the log");
    assert_eq!(result(&history.entries[0]), "deleted", "{history:?}");
    let there = runtime.block_on(client.check_stat("/orders/lock-0000000000")).expect("an answer");
    assert!(there.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_orphans_of_three_locks_are_one_plan() {
    let locks = ["/litter/a", "/litter/b", "/litter/c"];
    let fixture = DeleteFixture::new(&locks).await;
    for lock in locks {
        let nodes = vec![format!("{lock}/lock-"); 67];
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        fixture.contend(&fixture.client, CreateMode::PersistentSequential, &nodes).await;
    }
    let owner = zk::connect(&fixture.at).await;
    let waits = fixture.contend(&owner, CreateMode::EphemeralSequential, &["/litter/b/lock-"]).await;
    let mut terminal = fixture.console(true, 160, 45);
    terminal.shows("/litter/c");
    terminal.press(":tag ownerless\r");
    terminal.shows("201 contenders are tagged");
    terminal.press("x");
    let summary = "201 nodes of 3 locks, all without an owner";
    terminal.shows_all(&["Delete 201 nodes?", summary, "/litter/b: lock-0000000067, of host-a", "type 201 and Enter"]);
    terminal.press("201\r");
    terminal.shows("deleting 201 nodes");
    let logged = eventually_within(Duration::from_secs(300), "the outcomes", async || {
        let logged = read(&fixture.log(), HistoryLimits::default()).map_err(|error| error.to_string())?.entries;
        let done = logged.iter().filter(|entry| entry.outcome.is_some()).count();
        if done == 201 { Ok(logged) } else { Err(format!("{done} are done")) }
    });
    for entry in logged.await {
        assert_eq!(entry.outcome.expect("it is there").result, "deleted");
    }
    terminal.shows("201 nodes are deleted");
    assert!(fixture.is_there(&waits[0]).await, "the one with an owner stays");
    terminal.press("q");
    assert!(terminal.ends().success());
}
