//! Several ensembles in one console, on real servers: one of them production, one out of reach.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::TcpListener;
use zookeeper_client::{Acl, AuthId, Client, CreateMode, Permission};

use crate::harness::ensemble::Ensemble;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::{eventually, eventually_blocking};
use crate::harness::zk;

/// Writes a config file with three contexts: `prod`, `test` and `silent`, a server that never
/// answers.
fn config(folder: &Path, test: &str, prod: &str, silent: &str) -> PathBuf {
    let content = format!(
        "audit-log = 'audit.jsonl'\nwrite = true\n[context.test]\nconnect = '{test}'\n[context.prod]\n\
         connect = '{prod}'\nproduction = true\n[context.silent]\nconnect = '{silent}'\n"
    );
    let path = folder.join("config.toml");
    fs::write(&path, content).expect("it is written");
    path
}

/// Creates a lock whose holder never goes by itself, and a waiter. Returns the holder's node.
async fn stuck_lock(client: &Client, lock: &str) -> String {
    zk::make(client, [lock.to_owned()]).await;
    let [holder, waiter] = [("holder", CreateMode::PersistentSequential), ("waiter", CreateMode::EphemeralSequential)]
        .map(|(data, mode)| (mode, (format!("{lock}/_c_00000000-0000-4000-8000-000000000001-lock-"), data.into())));
    let made = zk::create_all(client, holder.0, [holder.1]).await;
    zk::create_all(client, waiter.0, [waiter.1]).await;
    made.into_iter().next().expect("one was made")
}

async fn is_there(client: &Client, node: &str) -> bool {
    client.check_stat(node).await.expect("an answer").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worst_lock_of_all_ensembles_is_two_keys_away_and_the_wrong_ensemble_keeps_its_nodes() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), Server::start());
    let first = zk::own_root("ensembles").await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = silent.local_addr().expect("an address").to_string();
    let (here, there) = (zk::connect(&first).await, zk::connect(&other.connect_string()).await);
    let (in_test, in_prod) = (stuck_lock(&here, "/orders").await, stuck_lock(&there, "/orders").await);
    stuck_lock(&there, "/billing").await;
    let config = config(folder.path(), &first, &other.connect_string(), &silent);
    let arguments = ["--config", config.to_str().expect("a plain path"), "--all-contexts"];
    let mut terminal = Terminal::lockscope(&arguments, 120, 30);
    terminal.shows_all(&["3 ensembles", "2 live", "prod PROD", "/billing  persistent", "what to do"]);
    terminal.press("\r");
    terminal.shows_all(&["PRODUCTION prod", "● live", "/billing", "/orders"]);
    terminal.press("\r");
    terminal.shows_all(&["Diagnosis", "what to do", "ownerless"]);
    terminal.press("\u{1b}");
    terminal.shows("Locks ──");
    terminal.press("\u{1b}");
    terminal.shows_all(&["3 ensembles", "prod is open (1)", "All ensembles, newest first"]);

    terminal.press("/prod\r1/orders\r\r");
    terminal.shows_all(&["/orders ", "ownerless"]);
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/", "prod", "type prod and Enter"]);
    terminal.press("test\r");
    terminal.shows("people depend on this ensemble; type prod to confirm");
    terminal.press("y\r");
    terminal.shows("people depend on this ensemble; type prod to confirm");
    terminal.press("\u{1b}");
    terminal.hides("Delete /orders/");
    assert!(is_there(&there, &in_prod).await && is_there(&here, &in_test).await, "nothing was confirmed");

    terminal.press(":context test\r");
    terminal.shows_all(&["● live", " test ", "/orders"]);
    terminal.hides("PRODUCTION");
    terminal.press("\r");
    terminal.shows("ownerless");
    terminal.press("x");
    terminal.shows_all(&["Delete /orders/", "ensemble  test", "y deletes it"]);
    // An answer is refused right after the plan has changed, as it does when the servers report.
    eventually_blocking("the deletion", || {
        if terminal.text().contains("y deletes it") {
            terminal.press("y");
        }
        if terminal.text().contains("is deleted.") { Ok(()) } else { Err(terminal.text()) }
    });
    eventually("the end of the node in test", async || {
        if is_there(&here, &in_test).await { Err("it is there") } else { Ok(()) }
    })
    .await;
    assert!(is_there(&there, &in_prod).await, "the other ensemble has a node of the same path");
    terminal.press("0");
    terminal.shows_all(&["filter: prod (1 of 3)", "prod PROD"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ensemble_that_goes_and_comes_back_is_told_and_changes_nothing_for_the_others() {
    let (folder, mut other) = (tempfile::tempdir().expect("a folder"), Server::start());
    let first = zk::own_root("ensembles").await;
    let here = zk::connect(&first).await;
    stuck_lock(&here, "/orders").await;
    let config = config(folder.path(), &first, &other.connect_string(), "127.0.0.1:1");
    let arguments = ["--config", config.to_str().expect("a plain path"), "--context", "test,prod"];
    let mut terminal = Terminal::lockscope(&arguments, 160, 40);
    terminal.shows_all(&["2 ensembles", "2 live", "/orders  persistent"]);
    other.stop();
    terminal.shows_all(&["1 not seen", "1 live", "/orders  persistent"]);
    // The past of the open ensemble begins with the state in which it was taken over.
    terminal.press("/test\r\r\r");
    terminal.shows_all(&["Diagnosis", "ownerless", "● live", "past <1m"]);
    terminal.press("{");
    terminal.shows("REWOUND");
    terminal.shows("ownerless");
    terminal.press("F0\u{1b}");
    other.restart();
    terminal.shows_all(&["2 live", "prod  live"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ensemble_is_opened_with_the_identity_that_its_context_has_by_then() {
    let (folder, first) = (tempfile::tempdir().expect("a folder"), zk::own_root("ensembles").await);
    let alice = Client::connector().with_auth("digest", b"alice:w0nderland").connect(&first).await.expect("a session");
    stuck_lock(&alice, "/orders").await;
    alice.set_acl("/orders", &[Acl::new(Permission::ALL, AuthId::new("auth", ""))], None).await.expect("closed");
    let auth = folder.path().join("auth");
    fs::write(&auth, "digest:alice:w0nderland\n").expect("written");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("its owner's alone");
    let config = folder.path().join("config.toml");
    let context = format!("[context.other]\nconnect = '127.0.0.1:1'\n[context.test]\nconnect = '{first}'\n");
    fs::write(&config, &context).expect("written");
    let mut terminal =
        Terminal::lockscope(&["--config", config.to_str().expect("a plain path"), "--all-contexts"], 120, 30);
    terminal.shows_all(&["2 ensembles", "1 live"]);
    terminal.press("/test\r\r");
    terminal.shows_all(&["There is no lock in what can be read.", "1 place cannot be read: /orders"]);
    fs::write(&config, format!("{context}auth-file = '{}'\n", auth.display())).expect("written");
    terminal.press(":context test\r");
    terminal.shows_all(&["● live", "/orders ", "persistent"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_an_ensemble_forgets_nothing_whatever_is_given_on_the_command_line() {
    let (folder, first) = (tempfile::tempdir().expect("a folder"), zk::own_root("ensembles").await);
    let here = zk::connect(&first).await;
    stuck_lock(&here, "/orders").await;
    let auth = folder.path().join("auth");
    fs::write(&auth, "digest:alice:w0nderland\n").expect("written");
    fs::set_permissions(&auth, Permissions::from_mode(0o600)).expect("its owner's alone");
    let config = config(folder.path(), &first, "127.0.0.1:1", "127.0.0.1:1");
    let [config, auth] = [&config, &auth].map(|path| path.to_str().expect("a plain path"));
    let arguments = ["--config", config, "--auth-file", auth, "--root", "/orders", "--session-timeout", "9s"];
    let mut terminal = Terminal::lockscope(&[&arguments[..], &["--context", "test,prod"]].concat(), 160, 40);
    terminal.shows_all(&["1 live", "+1", "test  /orders  "]);
    terminal.press("/test\r\r");
    terminal.shows_all(&["┌ Locks ──", "● live", "persistent"]);
    terminal.press("\u{1b}");
    terminal.shows_all(&["test is open (1)", "newest first"]);
    let text = terminal.text();
    assert_eq!(text.matches("test  /orders  ").count(), 1, "it is raised once:\n{text}");
    assert!(!text.contains("over:") && !text.contains("test  live") && !text.contains("+1"), "{text}");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_is_named_in_the_list_of_ensembles() {
    let (folder, mut ensemble) = (tempfile::tempdir().expect("a folder"), Ensemble::start());
    let config = config(folder.path(), &ensemble.connect_string(), "127.0.0.1:1", "127.0.0.1:1");
    let arguments = ["--config", config.to_str().expect("a plain path"), "--context", "test,prod"];
    let mut terminal = Terminal::lockscope(&arguments, 160, 40);
    terminal.shows_all(&["● live ", "3/3"]);
    terminal.press("/test\r");
    terminal.shows("(1 of 2)");
    let follower = ensemble.follower();
    ensemble.stop(follower);
    let silent = format!("1 of 3 servers does not answer: {}", ensemble.address(follower));
    terminal.shows_all(&["! live 2/3", "1 warning", &silent]);
    terminal.press("\r");
    terminal.shows("● live !2/3");
    terminal.press("\u{1b}");
    terminal.shows_all(&["test is open (1)", "! live 2/3", &silent]);
    ensemble.start_again(follower);
    terminal.shows_all(&["● live ", "3/3"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_lock_is_found_in_the_ensemble_that_has_it_by_a_filter_and_by_its_path() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), Server::start());
    let first = zk::own_root("ensembles").await;
    let (here, there) = (zk::connect(&first).await, zk::connect(&other.connect_string()).await);
    for (client, lock) in [(&here, "/shop/till"), (&there, "/shop/orph"), (&there, "/shop/other")] {
        zk::make(client, [lock.to_owned()]).await;
        let node = format!("{lock}/_c_00000000-0000-4000-8000-000000000001-lock-");
        zk::create_all(client, CreateMode::EphemeralSequential, [(node, b"holder".to_vec())]).await;
    }
    let config = config(folder.path(), &first, &other.connect_string(), "127.0.0.1:1");
    let arguments = ["--config", config.to_str().expect("a plain path"), "--context", "test,prod"];
    let mut terminal = Terminal::lockscope(&arguments, 120, 30);
    terminal.shows_all(&["2 ensembles", "2 live"]);
    terminal.press("/orph\r");
    terminal.shows_all(&["filter: orph (1 of 2)", "/shop/orph  (1 match)"]);
    terminal.press("\r");
    terminal.shows_all(&["PRODUCTION prod", "filter: orph (1 of 2)", "/shop/orph"]);
    terminal.hides("/shop/other");
    terminal.press("\u{1b}");
    terminal.shows("/shop/other");
    terminal.press("\u{1b}");
    terminal.shows("prod is open (1)");
    terminal.press(":lock /shop/till\r");
    terminal.shows_all(&[" test ", "● live", "/shop/till", "holder"]);
    terminal.press("0");
    terminal.shows("test is open (1)");
    terminal.press(":lock /shop/none\r");
    terminal.shows("No ensemble has a lock at /shop/none.");
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// Lets a client take its place in a queue of kazoo's lock, under a name.
async fn contend(client: &Client, lock: &str, name: &str, number: u32) {
    let node = (format!("{lock}/{number:032x}__lock__"), name.as_bytes().to_vec());
    zk::create_all(client, CreateMode::EphemeralSequential, [node]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_wait_for_each_other_across_ensembles_are_named_in_both() {
    let (folder, servers) = (tempfile::tempdir().expect("a folder"), [Server::start(), Server::start()]);
    let [eu, us] = servers.each_ref().map(Server::connect_string);
    let path = folder.path().join("config.toml");
    fs::write(&path, format!("[context.eu]\nconnect = '{eu}'\n[context.us]\nconnect = '{us}'\n"))
        .expect("it is written");
    let mut clients = Vec::new();
    for (connect, lock) in [(&eu, "/a"), (&us, "/b")] {
        clients.extend([zk::connect(connect).await, zk::connect(connect).await]);
        zk::make(&clients[clients.len() - 1], [lock.to_owned()]).await;
    }
    for (client, lock, name) in
        [(0, "/a", "worker-1"), (2, "/b", "worker-2"), (1, "/a", "worker-2"), (3, "/b", "worker-1")]
    {
        contend(&clients[client], lock, name, u32::try_from(client).expect("few") + 1).await;
    }
    let mut terminal =
        Terminal::lockscope(&["--config", path.to_str().expect("a plain path"), "--all-contexts"], 160, 30);
    terminal.shows_all(&["2 ensembles", "/a  cross-cycle", "/b  cross-cycle"]);
    terminal.press("/eu\r\r");
    terminal.shows_all(&["Locks ──", "/a"]);
    terminal.press("4");
    let cycle = "cycle over ensembles: 2 clients wait for each other, matched by name and host";
    terminal.shows_all(&[cycle, "holds /a in eu, waits for /b in us", "holds /b in us, waits for /a in eu"]);
    drop(clients.pop());
    terminal.hides("cycle over ensembles");
}
