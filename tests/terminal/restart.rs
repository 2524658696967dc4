//! A console that is started again on its recording.

use crate::harness::foreign::Foreign;
use crate::harness::server::Server;
use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_console_that_was_started_again_knows_since_when_a_lock_is_held() {
    let server = Server::start();
    let (at, folder) = (server.connect_string(), tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("past.db").display().to_string();
    let start = || Terminal::lockscope(&["--connect", &at, "--store", &file, "--utc"], 100, 30);
    let (mut kazoo, client) = (Foreign::kazoo(&at), zk::connect(&at).await);
    kazoo.queue_up(&client, "/app/lock", &["a", "b", "c"]).await;
    let mut first = start();
    first.shows("3 contenders");
    kazoo.release("a").await;
    kazoo.held("b").await;
    first.press("6");
    first.shows("● acquired");
    first.press("q");
    assert!(first.ends().success());

    kazoo.abandon("c").await;
    let mut second = start();
    second.shows("live 1/1");
    second.press("\r");
    second.shows_all(&["● holds", "0 waiting", "held "]);
    let text = second.text();
    assert!(!text.contains("held ≤") && !text.contains("held ≥"), "{text}");
    second.press("6");
    second.shows("gone");
    second.press("q");
    assert!(second.ends().success());
    kazoo.quit().await;
}
