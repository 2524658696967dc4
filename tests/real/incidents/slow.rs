//! Slow servers.

use std::time::Duration;

use lockscope_model::diagnose::Code;
use zookeeper_client::CreateMode;

use crate::failures::fixture::{ConsoleFixture, hasty};
use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::server::Server;
use crate::harness::zk;

/// Enough that some are always in the server while it is stopped.
const WRITES: usize = 3_000;

/// Longer than a write that counts as slow.
const STOP: Duration = Duration::from_millis(1_300);

/// dolphinscheduler#2065: the servers answer so late that every lock stands. Here the server is
/// stopped several times while it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_stands_while_the_servers_are_slow_says_so() {
    let server = Server::start();
    let at = server.connect_string();
    let [holder, waiter] = [zk::connect(&at).await, zk::connect(&at).await];
    zk::make(&holder, ["/dolphinscheduler/lock/masters".to_owned()]).await;
    let head = enqueue(&holder, &curator("/dolphinscheduler/lock/masters", 1)).await;
    enqueue(&waiter, &curator("/dolphinscheduler/lock/masters", 2)).await;
    let _watch = watch(&waiter, &head).await;
    let writes = (0..WRITES).map(|number| (format!("/write-{number}"), Vec::new()));
    let stops = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            server.pause();
            tokio::time::sleep(STOP).await;
            server.resume();
        }
    };
    tokio::join!(zk::create_all(&holder, CreateMode::Persistent, writes), stops);
    let mut console = ConsoleFixture::start(&at, hasty()).await;
    let is_slow = |console: &ConsoleFixture| {
        console.diagnosis.findings().any(|found| {
            [Code::Stuck, Code::IdleHolder].contains(&found.code) && found.summary.contains("the servers are slow")
        })
    };
    console.until("a finding that names the slow servers", is_slow).await;
}
