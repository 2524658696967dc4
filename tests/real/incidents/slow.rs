//! Slow servers.

use std::time::Duration;

use lockscope_model::diagnose::Code;
use zookeeper_client::CreateMode;

use crate::failures::fixture::{ConsoleFixture, hasty};
use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::server::Server;
use crate::harness::zk;

/// The writes of a round: so few that one slow write is one in a hundred.
const WRITES: usize = 20;

/// How often the server is stopped until it counts its writes as slow.
const MAX_STOPS: u64 = 40;

/// Longer than a write that counts as slow.
const STOP: Duration = Duration::from_millis(1_300);

/// dolphinscheduler#2065: the servers answer so late that every lock stands. Here the server is
/// stopped several times while it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_stands_while_the_servers_are_slow_says_so() {
    let server = Server::in_own_process();
    let at = server.connect_string();
    let [holder, waiter] = [zk::connect(&at).await, zk::connect(&at).await];
    zk::make(&holder, ["/dolphinscheduler/lock/masters".to_owned()]).await;
    let head = enqueue(&holder, &curator("/dolphinscheduler/lock/masters", 1)).await;
    enqueue(&waiter, &curator("/dolphinscheduler/lock/masters", 2)).await;
    let _watch = watch(&waiter, &head).await;
    for round in 0.. {
        assert!(round < MAX_STOPS, "the server does not count its writes as slow");
        let writes = (0..WRITES).map(|number| (format!("/write-{round}-{number}"), Vec::new()));
        let stop = async {
            // One of these delays finds writes that the server has read and not answered.
            tokio::time::sleep(Duration::from_millis(round % 10)).await;
            server.pause();
            tokio::time::sleep(STOP).await;
            server.resume();
        };
        tokio::join!(zk::create_all(&holder, CreateMode::Persistent, writes), stop);
        let of_server = server.words("mntr");
        // One in twenty: the sessions of the console are writes, too.
        let of_writes = of_server.lines().find_map(|line| line.strip_prefix("zk_p95_updatelatency\t"));
        if of_writes.and_then(|time| time.trim().parse().ok()).is_some_and(|ms: f64| ms > 1_000.0) {
            break;
        }
    }
    let mut console = ConsoleFixture::start(&at, hasty()).await;
    let says_so = |console: &ConsoleFixture| {
        console.diagnosis.findings().any(|found| {
            [Code::Stuck, Code::IdleHolder].contains(&found.code) && found.summary.contains("the servers are slow")
        })
    };
    console.until("a finding that names the slow servers", says_so).await;
}
