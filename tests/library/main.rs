//! The lock library as an application uses it, without the console: the example program, plain
//! threads and a subscriber on a real server; the tutorial's test; and its public interface.

mod blocking;
#[expect(dead_code, reason = "its `main` is for the program")]
#[path = "../../src/lock/examples/guarded_counter.rs"]
mod guarded_counter;
#[expect(dead_code, unused_imports, reason = "these tests use only a part of it")]
mod harness;
mod public_api;
mod seen;
mod with_the_sandbox;

use std::time::Duration;

use guarded_counter::{Round, Worker, add_with};
use harness::relay::Relay;
use harness::wait::PATIENCE;
use harness::zk;
use lockscope_lock::zookeeper_client::{Client, CreateMode};
use lockscope_lock::{Algorithm, Lock, Loss, Zxid};

/// Creates a counter at 0 on the shared server. The counter is below a node of this test, which is
/// the root of the connect string.
async fn counter(subject: &str) -> (String, Client) {
    let servers = zk::own_root(subject).await;
    let client = zk::connect(&servers).await;
    client.create("/counter", b"0 0", &zk::open(CreateMode::Persistent)).await.expect("it is created");
    (servers, client)
}

async fn worker(servers: &str) -> Worker {
    Worker::connect(servers, "/lock", "/counter").await.expect("a session")
}

async fn value(client: &Client) -> (i64, u64) {
    let (data, _) = client.get_data("/counter").await.expect("it is there");
    let text = String::from_utf8(data).expect("text");
    let (token, value) = text.split_once(' ').expect("two words");
    (token.parse().expect("a number"), value.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_count_together_and_leave_nothing_behind() {
    let (servers, client) = counter("counted").await;
    let workers = (0..3).map(|_| async {
        let mut worker = worker(&servers).await;
        worker.count(5).await.expect("it counts");
    });
    futures::future::join_all(workers).await;
    assert_eq!(value(&client).await.1, 15);
    assert_eq!(client.list_children("/lock").await.expect("the parent is there"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_session_expires_at_work_stops_and_goes_on_with_another_session() {
    let (servers, client) = counter("expired").await;
    let (server, root) = servers.split_once('/').expect("it has a root of its own");
    let relay = Relay::start(server).await;
    let mut first = worker(&format!("{}/{root}", relay.connect_string())).await;
    let (at_work, started) = tokio::sync::oneshot::channel();
    let endless = async {
        at_work.send(()).expect("somebody listens");
        std::future::pending::<()>().await;
    };
    let (round, ()) = tokio::join!(tokio::time::timeout(PATIENCE, first.add_one(endless)), async {
        // Its node alone does not mean that it knows of it.
        started.await.expect("it comes to hold");
        relay.expire().await;
    });
    assert_eq!(round.expect("it ends").expect("it knows"), Round::Lost(Loss::Expired));
    assert_eq!(value(&client).await, (0, 0), "it has written nothing");
    first.count(1).await.expect("it counts with another session");
    assert_eq!(value(&client).await.1, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_a_holder_that_has_lost_the_lock_unawares_is_refused() {
    let (servers, client) = counter("fenced").await;
    let slow = Lock::new(&client, "/lock", Algorithm::Chain).expect("a lock").acquire().await.expect("it is free");
    // Somebody thinks that the slow holder hangs, and deletes its node.
    client.delete(slow.path().as_str(), None).await.expect("it is there");
    worker(&servers).await.count(1).await.expect("it counts");
    let (token, one) = value(&client).await;
    assert_eq!(one, 1);
    assert!(token > slow.token().0);
    let late = add_with(&client, "/counter", slow.token()).await.expect("it answers");
    assert_eq!(late, Round::Outdated(Zxid(token)));
    assert_eq!(value(&client).await, (token, 1));
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), slow.lost()).await, Ok(Loss::Deleted));
}
