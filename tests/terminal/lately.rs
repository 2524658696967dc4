//! Locks while nothing is wrong, on a real ensemble: locks that are free and gone, and the recent
//! events.

use zookeeper_client::CreateMode;

use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn free_and_vanished_locks_stay_visible_and_a_key_shows_the_graph() {
    let at = zk::own_root("lately").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/billing", "/jobs"].map(str::to_owned)).await;
    let wishes = ["/billing", "/jobs"].map(|lock| (format!("{lock}/lock-"), b"host-a".to_vec()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let mut terminal = Terminal::lockscope(&["--connect", &at], 120, 35);
    terminal.shows_all(&["● live", "/billing", "/jobs", "Last minute", "w: graph of watch events"]);
    terminal.press("w");
    terminal.shows_all(&["herd-style", "w lately"]);
    terminal.press("w");
    terminal.shows("Last minute");

    zk::delete_all(&client, ["/billing/lock-0000000000".to_owned()]).await;
    terminal.shows_all(&["free ", "until "]);
    zk::delete_all(&client, ["/jobs/lock-0000000000".to_owned()]).await;
    zk::delete_all(&client, ["/jobs".to_owned()]).await;
    terminal.shows_all(&["1 lock, 0 contenders", "1 gone", "1 gone: /jobs; since the start"]);
    terminal.press("G\r");
    terminal.shows_all(&["History of /jobs", "host-a"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}
