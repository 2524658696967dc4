//! The speed of the sandbox compared with a real server, and many sessions on it.

use std::time::{Duration, Instant};

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::contend::chain_clients;
use crate::harness::raw::{Raw, Request as R};
use crate::harness::server::Server;

async fn start() -> Sandbox {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    Sandbox::start(listener, SandboxConfig::default()).expect("a sandbox")
}

/// The benchmark measures the ratio in a release build; here the clients take most of the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hand_overs_are_faster_than_on_a_real_server() {
    let (sandbox, real) = (start().await, Server::start());
    // The best of several counts: the first one warms up, and the machine may be busy.
    let (mut slow, mut fast) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        slow = slow.max(chain_clients(&real.connect_string(), 20, 40).await);
        fast = fast.max(chain_clients(&sandbox.connect_string(), 20, 40).await);
    }
    println!("acquisitions per second: {slow:.0} on a real server, {fast:.0} on the sandbox");
    assert!(fast > slow, "{fast} {slow}");
}

#[test]
fn a_thousand_sessions_connect_watch_and_close() {
    let runtime = Runtime::new().expect("a runtime");
    let sandbox = runtime.block_on(start());
    let port = sandbox.address().port();
    let mut sessions: Vec<Raw> = (0..1000).map(|_| Raw::connect(port, 30_000)).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.ask(&R::create(&format!("/n{n}"), 1));
        session.ask(&R::get_children("/", true));
    }
    let began = Instant::now();
    sessions[0].ask(&R::create("/herd", 1));
    for session in &mut sessions[1..] {
        let reported = session.receive().expect("an event");
        assert!(reported.is_event());
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let mut last = sessions.pop().expect("one");
    sessions.into_iter().for_each(Raw::close);
    // The session's own node, and the three that every server has below its root.
    let left = last.ask(&R::get_all_children_number("/")).pop().expect("a reply");
    assert_eq!(left.body, [0, 0, 0, 4]);
}
