//! A console that starts when nobody leads says who led before: from its recording, or from the
//! servers' logs.

use tokio::task::spawn_blocking;
use zookeeper_client::{Client, CreateMode};

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

/// Creates the election and its only candidate, as Curator's latch does. The client is its process.
async fn lead(server: &Server) -> Client {
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/app/leader".to_owned()]).await;
    let node = "/app/leader/_c_0000000a-0000-4000-8000-000000000000-latch-".to_owned();
    zk::create_all(&client, CreateMode::EphemeralSequential, [(node, b"worker-1".to_vec())]).await;
    client
}

fn console(server: &Server, more: &[&str]) -> Terminal {
    let at = server.connect_string();
    Terminal::lockscope(&[&["--connect", &at, "--stuck-after", "1s"], more].concat(), 160, 35)
}

/// Waits for parts of sentences, wherever their lines break.
fn says(terminal: &Terminal, parts: &[&str]) {
    eventually_blocking(&format!("{parts:?} on the screen"), || {
        let text = terminal.text().replace('│', " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if parts.iter().all(|part| text.contains(part)) { Ok(()) } else { Err(text) }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recording_names_the_last_leader_on_the_first_screen() {
    let server = spawn_blocking(Server::start).await.expect("it starts");
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let store = ["--store", store.to_str().expect("a name in UTF-8")];
    let leader = lead(&server).await;
    let mut terminal = console(&server, &store);
    terminal.shows_all(&["● live", "worker-1"]);
    drop(leader);
    says(&terminal, &["nobody has led for", "worker-1"]);
    terminal.press("q");
    assert!(terminal.ends().success());

    let mut terminal = console(&server, &store);
    says(&terminal, &["nobody has led for", "worker-1", "led last"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_recording_an_import_names_the_last_leader() {
    let server = spawn_blocking(Server::start).await.expect("it starts");
    drop(lead(&server).await);
    let mut terminal = console(&server, &[]);
    says(&terminal, &["● live", "nobody has led for", "an import of the transaction logs tells who it was"]);
    terminal.press(":import\r");
    terminal.shows("The past begins at");
    says(&terminal, &["as recorded, worker-1", "then its client closed the session"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}
