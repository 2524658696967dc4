//! A person walks through the screens.

use zookeeper_client::CreateMode;

use crate::harness::terminal::Terminal;
use crate::harness::zk;

/// A tree with two locks: `orders` with three contenders, `billing` with one.
async fn two_locks() -> (zookeeper_client::Client, String) {
    let at = zk::own_root("walk").await;
    let client = zk::connect(&at).await;
    zk::make(&client, ["/orders", "/billing"].map(str::to_owned)).await;
    let contenders = (0..3).map(|_| ("/orders/lock-".to_owned(), b"host-a".to_vec()));
    let alone = [("/billing/lock-".to_owned(), b"host-b".to_vec())];
    zk::create_all(&client, CreateMode::EphemeralSequential, contenders.chain(alone)).await;
    (client, at)
}

fn console(at: &str, columns: u16, rows: u16) -> Terminal {
    Terminal::lockscope(&["--connect", at], columns, rows)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_opens_a_queue_looks_at_a_contender_and_comes_back() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "2 locks, 4 contenders", "orders", "billing"]);
    terminal.press("/orders\r");
    terminal.hides("billing");
    terminal.press("\r");
    terminal.shows_all(&["● holds", "╰─▶ 0", "╰─▶ 1", "host-a"]);
    terminal.press("j");
    terminal.shows("lock-0000000001");
    terminal.press("\x1b");
    terminal.shows("2 locks");
    terminal.press("6");
    terminal.shows_all(&["Timeline", "lock-found"]);
    terminal.press("?");
    terminal.shows_all(&["Help", "One row up"]);
    terminal.press("q");
    assert!(terminal.ends().success());
    drop(client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_on_the_server_shows_by_itself() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders"]);
    zk::delete_all(&client, ["/orders/lock-0000000000".to_owned()]).await;
    terminal.shows("3 contenders");
    terminal.press("6");
    terminal.shows_all(&["- gone", "acquired"]);
    zk::make(&client, ["/new".to_owned()]).await;
    zk::create_all(&client, CreateMode::EphemeralSequential, [("/new/lock-".to_owned(), Vec::new())]).await;
    terminal.press("1");
    terminal.shows_all(&["3 locks", "/new"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_terminal_may_change_its_size_at_any_moment() {
    let (_client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.resize(160, 45);
    terminal.shows_all(&["HERD/s", "HOLDER'S DATA"]);
    terminal.resize(20, 5);
    terminal.hides("contenders");
    terminal.resize(100, 30);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_shrinks_for_a_moment_gets_its_lost_cells_again() {
    let (_client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders", "/billing"]);
    terminal.resize(20, 5);
    terminal.resize(80, 24);
    terminal.shows_all(&["● live", "4 contenders", "/billing"]);
    terminal.press("q");
    assert!(terminal.ends().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_screen_stays_as_it_was_until_it_goes_on() {
    let (client, at) = two_locks().await;
    let mut terminal = console(&at, 80, 24);
    terminal.shows_all(&["● live", "4 contenders"]);
    terminal.press("p");
    terminal.shows("PAUSED");
    zk::delete_all(&client, ["/billing/lock-0000000000".to_owned()]).await;
    terminal.shows("1 change since");
    assert!(terminal.text().contains("4 contenders"), "{}", terminal.text());
    terminal.press("p");
    terminal.shows("3 contenders");
    terminal.press("q");
    assert!(terminal.ends().success());
}
