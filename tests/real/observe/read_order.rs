//! The order in which many new contenders are read.

use lockscope_model::queue::Change;
use tokio::time::timeout;
use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, curator};
use crate::harness::server::Server;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;

const LONG_QUEUE: usize = 2_000;

/// The locks of other queues below the same parent.
const OTHERS: [&str; 2] = ["orders", "bills"];

/// Returns the names of the nodes in the order of reading, until there are `count`.
async fn read(fixture: &mut ObserverFixture, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < count {
        let batch = timeout(PATIENCE, fixture.observer.next()).await.expect("in time").expect("it goes on");
        names.extend(batch.into_iter().filter_map(|observed| match observed.change {
            Change::Seen { path, .. } => Some(path.name().to_owned()),
            _ => None,
        }));
    }
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_each_queue_below_a_parent_is_read_before_the_rest_of_a_long_one() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::create_all(&client, CreateMode::Persistent, [("/mixed".to_owned(), Vec::new())]).await;
    let mut fixture = ObserverFixture::start(&server.connect_string());
    fixture.until_live().await;

    // In one transaction, so that the events arrive together.
    let (mut writer, options) = (client.new_multi_writer(), zk::open(CreateMode::EphemeralSequential));
    let long = (0..LONG_QUEUE).map(|_| format!("/mixed/{}", curator()));
    let others = OTHERS.iter().flat_map(|name| (0..3).map(move |_| format!("/mixed/{name}_lock_")));
    for path in long.chain(others) {
        writer.add_create(&path, &[], &options).expect("a path that can be sent");
    }
    writer.commit().await.expect("all are created");

    let read = read(&mut fixture, LONG_QUEUE + 3 * OTHERS.len()).await;
    for name in OTHERS {
        let first = read.iter().position(|node| node.starts_with(name)).expect("it is read");
        assert!(first < LONG_QUEUE / 2, "the first of {name} was read after {first} others");
    }
    fixture.observer.stop().await;
}
