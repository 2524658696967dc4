//! Compares the sandbox with a real server: 20 chain clients contend for one lock, in turns on
//! either.
//!
//! `cargo bench --bench sandbox` prints acquisitions per second (the median of several passes) and
//! their ratio.

#[path = "../harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "a benchmark needs only a part of the harness")]
mod harness;

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;

use harness::contend::chain_clients;
use harness::server::Server;

const CLIENTS: u32 = 20;
const ROUNDS: u32 = 100;

/// The number of passes for each figure, after a pass to warm up.
const PASSES: usize = 5;

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let real = Server::in_own_process();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let sandbox = Sandbox::start(listener, SandboxConfig::default()).expect("a sandbox");
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for pass in 0..=PASSES {
        let figures = (
            chain_clients(&real.connect_string(), CLIENTS, ROUNDS).await,
            chain_clients(&sandbox.connect_string(), CLIENTS, ROUNDS).await,
        );
        if pass > 0 {
            slow.push(figures.0);
            fast.push(figures.1);
        }
    }
    let (slow, fast) = (median(slow), median(fast));
    println!("{CLIENTS} chain clients, acquisitions per second, median of {PASSES} passes");
    println!("real server  {slow:8.0}\nsandbox      {fast:8.0}\nratio        {:8.1}", fast / slow);
}
