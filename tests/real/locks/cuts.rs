//! Locks over connections that are cut at any moment.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;

use super::fixture::{ALONE, LockFixture, Relayed, held, lock};
use crate::harness::relay::Relay;

/// Cuts a relay's connections at intervals.
async fn cut_every(relay: &Relay, millis: u64) -> Infallible {
    let mut cuts = tokio::time::interval(Duration::from_millis(millis));
    loop {
        cuts.tick().await;
        relay.cut().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_over_connections_that_are_cut_again_and_again_has_one_holder_and_leaves_no_node() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 10;
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        let inside = Arc::new(AtomicUsize::new(0));
        let (mut clients, mut relays) = (JoinSet::new(), Vec::new());
        for _ in 0..CLIENTS {
            let Relayed { relay, client } = Relayed::new(&fixture, Duration::from_secs(30)).await;
            let lock = lock(&client, algorithm);
            drop(client);
            let inside = Arc::clone(&inside);
            clients.spawn(async move {
                for _ in 0..ROUNDS {
                    let guard = held(&lock).await;
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{algorithm:?}: two hold");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.release().await.expect("it was held");
                }
            });
            relays.push(relay);
        }
        // Times that have no common measure with the requests', nor with each other.
        let cutting = relays.iter().zip([41, 67, 97, 131]).map(|(relay, millis)| cut_every(relay, millis));
        let working = async {
            while let Some(client) = clients.join_next().await {
                client.expect("no client panics");
            }
        };
        tokio::select! {
            () = working => {}
            _ = join_all(cutting) => {}
        }
        fixture.until_nodes(0).await;
    }
}
