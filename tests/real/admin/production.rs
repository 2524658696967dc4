//! Ensembles that people depend on, under names that the config file does not have.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use zookeeper_client::{Client, CreateMode};

use crate::harness::ensemble::Ensemble;
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::terminal::{Terminal, with_usual_environment};
use crate::harness::zk;
use crate::headless::program::{Ended, PROGRAM, lockscope, run};
use lockscope_sandbox::{Sandbox, SandboxConfig};

/// A user with a home and a config file.
struct User {
    home: TempDir,
}

impl User {
    /// Writes a config file whose context `prod` names these servers.
    fn depending_on(connect: &str) -> Self {
        let user = Self { home: tempfile::tempdir().expect("a folder") };
        user.configure(&format!("[context.prod]\nconnect = '{connect}'\nproduction = true\n"));
        user
    }

    fn configure(&self, text: &str) {
        fs::write(self.config(), text).expect("it is written");
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("config.toml")
    }

    fn default_log(&self) -> PathBuf {
        self.home.path().join(".local/state/lockscope/audit.jsonl")
    }

    async fn run(&self, arguments: &[&str]) -> Ended {
        let config = self.config();
        let mut command = lockscope(arguments);
        command.args(["--config", config.to_str().expect("text")]).env("HOME", self.home.path());
        run(command).await
    }

    /// Deletes a node with `--yes`, and returns the result.
    async fn delete(&self, node: &str, connect: &str) -> String {
        let ended = self.run(&["delete", node, "--connect", connect, "--yes"]).await;
        let reported: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        reported["outcome"]["result"].as_str().expect("a result").to_owned()
    }
}

/// Creates a node without an owner, which a deletion needs no more for than a yes.
async fn orphan(client: &Client, lock: &str) -> String {
    zk::make(client, [lock.to_owned()]).await;
    let node = (format!("{lock}/lock-"), Vec::new());
    zk::create_all(client, CreateMode::PersistentSequential, [node]).await.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_of_an_address_hides_that_people_depend_on_an_ensemble() {
    let server = Server::start();
    let (port, client) = (server.port(), zk::connect(&server.connect_string()).await);
    let node = orphan(&client, "/spelled/lock").await;
    let user = User::depending_on(&format!("localhost:{port}"));
    let spellings = [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("127.0.0.1:{port}"),
        format!("127.1:{port}"),
        format!("127.0.1:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("tcp://127.0.0.1:{port}"),
        format!("localhost:1,127.1:{port}"),
    ];
    for connect in &spellings {
        assert_eq!(user.delete(&node, connect).await, "production", "{connect}");
    }
    for (chroot, node) in [("/spelled", "/lock/lock-0000000000"), ("/spelled/lock", "/lock-0000000000")] {
        assert_eq!(user.delete(node, &format!("127.1:{port}{chroot}")).await, "production", "{chroot}");
    }
    assert!(client.check_stat(&node).await.expect("an answer").is_some());
    let other = User::depending_on(&format!("localhost:{port}/elsewhere"));
    assert_eq!(other.delete(&node, &format!("127.1:{port}/spelled")).await, "gone", "another part of the tree");
    assert_eq!(other.delete("/lock/lock-0000000000", &format!("127.1:{port}/spelled")).await, "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_the_context_does_not_name_is_known_by_the_config_of_the_ensemble() {
    let ensemble = Ensemble::start();
    let client = zk::connect(&ensemble.connect_string()).await;
    let node = orphan(&client, "/members/lock").await;
    let user = User::depending_on(&ensemble.address(0));
    // What is kept of the nodes is outdated: the only node at the top is another one afterwards.
    user.run(&["delete", &node, "--context", "prod", "--dry-run"]).await.done();
    zk::delete_all(&client, [node, "/members/lock".to_owned(), "/members".to_owned()]).await;
    let node = orphan(&client, "/members/lock").await;
    for connect in
        [ensemble.address(1), ensemble.address(2), format!("{},{}", ensemble.address(2), ensemble.address(1))]
    {
        assert_eq!(user.delete(&node, &connect).await, "production", "{connect}");
    }
    let ended = user.run(&["delete", &node, "--connect", &ensemble.address(1), "--yes", "--production", "prod"]).await;
    assert_eq!(ended.json()["outcome"]["result"], "deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_proxy_an_ensemble_is_known_by_its_nodes_once_its_context_was_in_force() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let node = orphan(&client, "/proxied/lock").await;
    let user = User::depending_on(&server.connect_string());
    user.run(&["delete", &node, "--context", "prod", "--dry-run"]).await.done();
    let known = fs::read_to_string(user.home.path().join(".local/state/lockscope/ensembles.json"));
    let known: Value = serde_json::from_str(&known.expect("it is kept")).expect("JSON");
    assert_eq!(known["prod"]["landmarks"][0]["path"], "/proxied", "{known}");
    let proxy = Relay::start(&server.connect_string()).await;
    assert_eq!(user.delete(&node, &proxy.connect_string()).await, "production");
    // The nodes of the part of the tree that the context names are known by their full paths.
    let below = format!("{}/proxied", proxy.connect_string());
    assert_eq!(user.delete("/lock/lock-0000000000", &below).await, "production");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_other_ensembles_are_deleted_from_without_a_question() {
    let server = Server::start();
    zk::make(&zk::connect(&server.connect_string()).await, ["/others/lock".to_owned()]).await;
    let user = User::depending_on(&server.connect_string());
    user.run(&["delete", "/others/lock", "--context", "prod", "--dry-run"]).await.done();
    for number in 0..20 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let sandbox = Sandbox::start(listener, SandboxConfig::default()).expect("it starts");
        let node = orphan(&zk::connect(&sandbox.connect_string()).await, "/others/lock").await;
        assert_eq!(user.delete(&node, &sandbox.connect_string()).await, "deleted", "{number}");
        sandbox.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_an_address_leaves_a_doubt_and_the_doubt_asks() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let node = orphan(&client, "/doubted/lock").await;
    let user = User::depending_on("no-such-host.invalid:2181");
    let ended = user.run(&["delete", &node, "--connect", &server.connect_string(), "--yes"]).await;
    let reported: Value = serde_json::from_str(&ended.out).expect("JSON");
    let reason = reported["outcome"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("cannot be told from that of the context prod"), "{reason}");
    assert!(reason.contains("no-such-host.invalid:2181 has no address here"), "{reason}");
    assert!(reason.contains("--production prod"), "{reason}");
    assert!(client.check_stat(&node).await.expect("an answer").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ensemble_that_becomes_production_while_the_question_stands_is_not_changed() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let node = orphan(&client, "/meanwhile/lock").await;
    let user = User::depending_on("127.0.0.1:1");
    user.configure(&format!("[context.prod]\nconnect = '{}'\n", server.connect_string()));
    let (config, connect) = (user.config(), format!("localhost:{}", server.port()));
    let log = user.home.path().join("audit.jsonl");
    let config = config.to_str().expect("text");
    let arguments =
        ["delete", &node, "--connect", &connect, "--config", config, "--audit-log", log.to_str().expect("text")];
    let mut terminal = Terminal::lockscope(&arguments, 160, 40);
    terminal.shows("Do it? [y/N]");
    user.configure(&format!("[context.prod]\nconnect = '{}'\nproduction = true\n", server.connect_string()));
    terminal.press("y\r");
    assert_eq!(terminal.ends().exit_code(), 2, "{}", terminal.text());
    assert!(terminal.text().contains("which was not so when you were asked; look again"), "{}", terminal.text());
    assert!(client.check_stat(&node).await.expect("an answer").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_to_the_ensemble_of_a_context_go_into_the_log_of_that_context() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let nodes = [orphan(&client, "/logged/a").await, orphan(&client, "/logged/b").await];
    let user = User::depending_on("127.0.0.1:1");
    user.configure(&format!("[context.team]\nconnect = '{}'\naudit-log = 'team.jsonl'\n", server.connect_string()));
    let connect = format!("127.1:{}", server.port());
    assert_eq!(user.delete(&nodes[0], &connect).await, "deleted");
    let logged = fs::read_to_string(user.home.path().join("team.jsonl")).expect("it is there");
    assert_eq!(logged.lines().count(), 2, "{logged}");
    assert!(!user.default_log().exists());
    let named = user.home.path().join("named.jsonl");
    let arguments = ["delete", &nodes[1], "--connect", &connect, "--yes", "--audit-log", named.to_str().expect("text")];
    assert_eq!(user.run(&arguments).await.json()["outcome"]["result"], "deleted");
    assert!(named.exists(), "a log on the command line is meant");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_screen_finds_out_that_people_depend_on_an_ensemble_and_that_a_context_makes_it_read_only() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    orphan(&client, "/seen/lock").await;
    let user = User::depending_on(&server.connect_string());
    let (config, log) = (user.config(), user.home.path().join("audit.jsonl"));
    let (config, log) = (config.to_str().expect("text"), log.to_str().expect("text"));
    let connect = format!("127.1:{}", server.port());
    let arguments = ["--connect", &connect, "--config", config, "--write", "--audit-log", log];
    let mut terminal = Terminal::start(with_usual_environment(PROGRAM, &arguments), 120, 30);
    terminal.shows_all(&["● live", "PRODUCTION prod", "may write"]);
    terminal.press("\rx");
    terminal.shows("type prod and Enter");
    terminal.press("\x1b");
    terminal.hides("type prod and Enter");
    terminal.press("q");
    assert!(terminal.ends().success());

    let team = format!("write = true\n[context.team]\nconnect = '{}'\nwrite = false\n", server.connect_string());
    user.configure(&team);
    let mut terminal = Terminal::lockscope(&["--connect", &connect, "--config", config, "--audit-log", log], 120, 30);
    terminal.shows_all(&["● live", "/seen/lock"]);
    terminal.press("\rx");
    terminal.shows("the context team makes this ensemble read-only");
    terminal.press("\x1b");
    terminal.hides("the context team makes");
    terminal.press("q");
    assert!(terminal.ends().success());
}
