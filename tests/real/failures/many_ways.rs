//! Locks that lead to each other by a million ways. `watch` on them still ends when it is told to.

use zookeeper_client::{Client, CreateMode};

use super::forgotten::curator;
use crate::harness::server::Server;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};

/// How many locks each of two sessions holds; each waits for all locks of the other. Every lock
/// thus leads to as many others, and the search for cycles follows all these ways.
const LOCKS_OF_EACH: usize = 1_000;

async fn many_ways(clients: [&Client; 2]) {
    let locks: Vec<String> = (0..2 * LOCKS_OF_EACH).map(|number| format!("/many/{number}")).collect();
    zk::make(clients[0], ["/many".to_owned()]).await;
    zk::create_all(clients[0], CreateMode::Persistent, locks.iter().map(|lock| (lock.clone(), Vec::new()))).await;
    // First both sessions take their locks, then each queues for the other's.
    for (attempt, client, first) in [(1, 0, 0), (2, 1, 1), (3, 0, 1), (4, 1, 0)] {
        let nodes = locks.iter().skip(first).step_by(2).map(|lock| (curator(lock, attempt), Vec::new()));
        zk::create_all(clients[client], CreateMode::EphemeralSequential, nodes).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_ends_in_time_and_at_a_signal_even_with_a_million_ways_between_locks() {
    let server = Server::start();
    let at = server.connect_string();
    let [one, two] = [zk::connect(&at).await, zk::connect(&at).await];
    many_ways([&one, &two]).await;
    let arguments = ["watch", "--connect", &at, "--server-view", "off"];
    let mut watching = Running::start(lockscope(&arguments));
    while !watching.line().await.expect("it watches").contains("deadlock") {}
    watching.signal("TERM");
    watching.ended().await.done();

    let timed = run(lockscope(&[&arguments[..], &["--for", "4s"]].concat())).await;
    assert!(timed.done().contains("/many/0"), "what is there was printed");
}
