//! Slow servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockscope_model::diagnose::Code;
use zookeeper_client::CreateMode;

use crate::failures::fixture::{ConsoleFixture, hasty};
use crate::failures::forgotten::{curator, enqueue, watch};
use crate::harness::server::Server;
use crate::harness::zk;

/// Enough that some are always in the server while it is stopped.
const WRITES: usize = 500;

/// How often the server is stopped until it counts its writes as slow.
const MAX_STOPS: usize = 20;

/// Between two stops: so short that of a hundred writes more than one waits in the server.
const BETWEEN: Duration = Duration::from_millis(50);

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
    let is_slow = AtomicBool::new(false);
    let writes = async {
        for round in 0.. {
            if is_slow.load(Ordering::Relaxed) {
                break;
            }
            let some = (0..WRITES).map(|number| (format!("/write-{round}-{number}"), Vec::new()));
            zk::create_all(&holder, CreateMode::Persistent, some).await;
        }
    };
    let stops = async {
        for _ in 0..MAX_STOPS {
            tokio::time::sleep(BETWEEN).await;
            server.pause();
            tokio::time::sleep(STOP).await;
            server.resume();
            let of_server = server.words("mntr");
            let slowest =
                of_server.lines().find_map(|line| line.strip_prefix("zk_p99_updatelatency\t")?.trim().parse().ok());
            if slowest.is_some_and(|ms: f64| ms > 1_000.0) {
                return is_slow.store(true, Ordering::Relaxed);
            }
        }
        panic!("the server does not count its writes as slow");
    };
    tokio::join!(writes, stops);
    let mut console = ConsoleFixture::start(&at, hasty()).await;
    let says_so = |console: &ConsoleFixture| {
        console.diagnosis.findings().any(|found| {
            [Code::Stuck, Code::IdleHolder].contains(&found.code) && found.summary.contains("the servers are slow")
        })
    };
    console.until("a finding that names the slow servers", says_so).await;
}
