//! The servers' counts of watch events for a herd, a chain and recursive watches.

use lockscope_live::zk::survey::ViewBy;
use lockscope_live::zk::watch_events;
use lockscope_model::server_view::WatchEventTotals;
use zookeeper_client::{AddWatchMode, CreateMode};

use super::{once, options};
use crate::harness::server::Server;
use crate::harness::zk;

/// The number of waiters of the herd and of the chain.
const WAITERS: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_herd_and_of_a_chain_are_counted_one_by_one() {
    let server = Server::start();
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    zk::make(&client, ["/herd/a".to_owned(), "/chain/a".to_owned()]).await;
    let mut waiters = Vec::new();
    let mut watches = Vec::new();
    for _ in 0..WAITERS {
        let waiter = zk::connect(&connect).await;
        watches.push(waiter.list_and_watch_children("/herd").await.expect("it exists").1);
        waiters.push(waiter);
    }
    watches.push(waiters[0].get_and_watch_data("/chain/a").await.expect("it exists").2);
    let view = once(&options(&connect, ViewBy::FourLetter)).await;
    assert_eq!(view.child_watches(), Some(WAITERS));
    assert_eq!(view.members[0].watch_totals.map(|totals| totals.watches), Some(1));

    let before = watch_events(&connect).await.expect("it answers");
    client.delete("/chain/a", None).await.expect("it exists");
    client.create("/herd/b", b"", &zk::open(CreateMode::Persistent)).await.expect("it can be made");
    let after = watch_events(&connect).await.expect("it answers");
    let expected = WatchEventTotals { deleted: 1, children: WAITERS, ..WatchEventTotals::default() };
    assert_eq!(after.since(&before), Some(expected));
    assert_eq!(once(&options(&connect, ViewBy::FourLetter)).await.child_watches(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_3_9_a_recursive_watch_counts_as_a_watch_on_children_too() {
    let server = Server::start();
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    let _watch = client.watch("/", AddWatchMode::PersistentRecursive).await.expect("3.8 knows it");
    let view = once(&options(&connect, ViewBy::FourLetter)).await;
    assert_eq!(view.members[0].watch_totals.map(|totals| totals.watches), Some(1));
    assert_eq!(view.child_watches(), Some(1));
}
