//! The tree of nodes.

use zookeeper_client::{Acls, CreateMode};

use crate::harness::terminal::Terminal;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_goes_down_and_up_opens_a_queue_and_finds_nodes_by_name_and_data() {
    let at = zk::own_root("tree").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/apps/orders".to_owned(), "/apps/empty".to_owned()]).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, [("/apps/orders/lock-".to_owned(), b"worker-1".to_vec())])
        .await;
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/apps/empty/settings", b"{\"port\": 8125}", &persistent).await.expect("it is created");
    let sequential = CreateMode::PersistentSequential.with_acls(Acls::anyone_all());
    client.create("/apps/empty/ticket-", b"", &sequential).await.expect("it is created");

    let mut terminal = Terminal::lockscope(&["--connect", &at], 100, 30);
    terminal.shows("● live");
    terminal.press("8");
    terminal.shows_all(&["Tree ── / ──", "1 child", "read at"]);
    terminal.press("\r");
    terminal.shows_all(&["Tree ── /apps ──", "2 children", "empty", "●orders"]);
    terminal.press("j\r");
    terminal.shows_all(&["lock-0000000000", "worker-1"]);
    terminal.press("\x1b");
    terminal.shows("Tree ── /apps ──");
    terminal.press("k\r");
    terminal.shows_all(&["Tree ── /apps/empty ──", "settings", "14 B", "ticket-000000000"]);
    terminal.press("d");
    terminal.shows("\"port\": 8125");
    terminal.press("\x1b");
    terminal.shows("Tree ── /apps/empty ──");
    terminal.press("\x1b");
    terminal.shows("Tree ── /apps ──");
    terminal.press("\x1b");
    terminal.shows("Tree ── / ──");
    terminal.press(":find-node 8125\r");
    terminal.shows_all(&["find: 8125", "1 found in 6 nodes, complete", "apps/empty/settings"]);
    client.create("/apps/other", b"", &persistent).await.expect("it is created");
    terminal.press(":tree /apps\r");
    terminal.shows_all(&["3 children", "other"]);
    client.delete("/apps/other", None).await.expect("it is deleted");
    terminal.press("8");
    terminal.shows("2 children");
    terminal.press(":tree /nowhere\r");
    terminal.shows("/nowhere is gone");
    terminal.press("q");
    assert!(terminal.ends().success());
}
