//! How fast the sandbox is beside a real server.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lockscope::lock::{Algorithm, Lock};
use lockscope::sandbox::{Options, Sandbox};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::raw::{Raw, Request as R};
use crate::harness::server::Server;
use crate::harness::zk;

const CLIENTS: usize = 20;
const ROUNDS: usize = 40;

/// Acquisitions per second of chain clients on one lock.
async fn speed(at: &str) -> f64 {
    let locks: Vec<Lock> = join_all((0..CLIENTS).map(|_| zk::connect(at)))
        .await
        .iter()
        .map(|client| Lock::new(client, "/speed", Algorithm::Chain).expect("a good path"))
        .collect();
    let began = Instant::now();
    let tasks: Vec<_> = locks
        .into_iter()
        .map(|lock| {
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    let guard = lock.acquire().await.expect("a sound connection");
                    guard.release().await.expect("a sound connection");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    f64::from(u32::try_from(CLIENTS * ROUNDS).expect("few")) / began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_change_hands_faster_than_on_a_real_server() {
    let (_, sandbox) = start().await;
    let real = Server::start();
    // The best of several counts: the first warms up, and others may be busy.
    let (mut slow, mut fast) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        slow = slow.max(speed(&real.connect_string()).await);
        fast = fast.max(speed(&sandbox.connect_string()).await);
    }
    println!("acquisitions per second: {slow:.0} on a real server, {fast:.0} on the sandbox");
    assert!(fast > slow, "{fast} {slow}");
}

async fn start() -> (u16, Sandbox) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let sandbox = Sandbox::start(listener, Options::default()).expect("it starts");
    (sandbox.address().port(), sandbox)
}

#[test]
fn a_thousand_sessions_come_watch_and_go() {
    let runtime = Runtime::new().expect("a runtime");
    let (port, _sandbox) = runtime.block_on(start());
    let mut sessions: Vec<Raw> = (0..1000).map(|_| Raw::connect(port, 30_000)).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.ask(&R::create(&format!("/n{n}"), 1));
        session.ask(&R::get_children("/", true));
    }
    let began = Instant::now();
    sessions[0].ask(&R::create("/herd", 1));
    for session in &mut sessions[1..] {
        assert_eq!(session.receive().map(|event| event.is_event()), Some(true));
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let mut last = sessions.pop().expect("one");
    sessions.into_iter().for_each(Raw::close);
    let left = last.ask(&R::get_ephemerals("/")).pop().expect("a reply");
    assert_eq!(last.ask(&R::get_all_children_number("/")).pop().expect("a reply").body, [0, 0, 0, 4], "{left:?}");
}
