//! The console takes the past in from the logs of a real server on this machine.

use tokio::task::spawn_blocking;
use zookeeper_client::CreateMode;

use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::wait::eventually_blocking;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_before_the_console_started_is_shown_after_an_import() {
    let server = spawn_blocking(Server::start).await.expect("it starts");
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/billing".to_owned()]).await;
    let wishes = ["first", "second", "third"].map(|data| ("/billing/lock-".to_owned(), data.into()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    zk::delete_all(&client, nodes[..2].to_vec()).await;

    let mut terminal = Terminal::lockscope(&["--connect", &server.connect_string()], 160, 35);
    terminal.shows_all(&["● live", "1 contender"]);
    terminal.press(":timeline\r");
    terminal.shows_all(&["`:import` takes in the past from", "version-2"]);
    terminal.press(":import\r");
    terminal.shows_all(&["● live", "The past begins at"]);
    terminal.press(":lock /billing\r[");
    terminal.shows("REWOUND");
    // What happened within one millisecond is one step.
    for _ in 0..8 {
        let before = terminal.text();
        if before.contains("first") {
            break;
        }
        terminal.press("[");
        eventually_blocking(
            "an earlier event",
            || if terminal.text() == before { Err(before.clone()) } else { Ok(()) },
        );
    }
    terminal.shows_all(&["REWOUND", "first"]);
    terminal.press("F:import /etc\r");
    terminal.shows("taken in already");
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_another_ensemble_are_refused() {
    let (server, other) = spawn_blocking(|| (Server::start(), Server::start())).await.expect("they start");
    let folder = other.folder().join("data").display().to_string();
    let mut terminal = Terminal::lockscope(&["--connect", &server.connect_string()], 160, 35);
    terminal.shows("● live");
    terminal.press(&format!(":import {folder}\r"));
    terminal.shows("it is of another ensemble");
    terminal.press("q");
    assert!(terminal.ends().success());
}
