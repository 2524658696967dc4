//! `lockscope sandbox` as a program of its own.

use crate::harness::wait::PATIENCE;
use crate::harness::{words, zk};
use crate::headless::program::{Running, lockscope, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sandbox_prints_its_address_serves_and_ends_on_a_signal() {
    for signal in ["INT", "TERM"] {
        let mut program = Running::start(lockscope(&["sandbox", "--port", "0", "--max-session-timeout", "5s"]));
        let line = program.line().await.expect("a line");
        let reported: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let address = reported["address"].as_str().expect("an address").to_owned();
        let client = zk::connect(&address).await;
        assert_eq!(client.session_timeout().as_secs(), 5);
        zk::make(&client, ["/a/b".to_owned()]).await;
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        assert_eq!(words::ask(port, "ruok", PATIENCE).expect("an answer"), "imok");
        program.signal(signal);
        assert_eq!(program.ended().await.done(), "");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_refused_in_one_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let sentence = run(lockscope(&["sandbox", "--port", &port])).await.refused();
    assert!(sentence.contains("cannot listen") && sentence.contains("another port"), "{sentence}");
}
