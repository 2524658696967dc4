//! Clients that contend for one lock, and the rate of its hand-overs.

use std::time::Instant;

use futures::future::join_all;
use lockscope_lock::{Algorithm, Lock};

use super::zk;

/// Runs chain clients, each with its own session, that acquire and release one lock `rounds` times
/// and hold it for no time. Returns the acquisitions per second.
pub async fn chain_clients(at: &str, clients: u32, rounds: u32) -> f64 {
    let sessions = join_all((0..clients).map(|_| zk::connect(at))).await;
    let began = Instant::now();
    let tasks: Vec<_> = sessions
        .iter()
        .map(|client| {
            let lock = Lock::new(client, "/contended", Algorithm::Chain).expect("a good path");
            tokio::spawn(async move {
                for _ in 0..rounds {
                    let guard = lock.acquire().await.expect("a sound connection");
                    guard.release().await.expect("a sound connection");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    f64::from(clients * rounds) / began.elapsed().as_secs_f64()
}
