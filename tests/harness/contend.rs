//! Clients that contend for one lock, and how often it changes hands.

use std::time::Instant;

use futures::future::join_all;
use lockscope_lock::{Algorithm, Lock};

use super::zk;

/// Lets so many chain clients, each with its own session, acquire and release one lock in so many rounds, and hold it for
/// no time; gives the acquisitions per second.
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
