//! A counter's recorder receives what the counter counts and what passes a relay.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockscope_lock::activity::{ActivityRecorder, LockActivity, WatchPlace};
use lockscope_lock::{CostCounter, Lock, LockOptions};
use tokio::task::JoinSet;

use super::fixture::{ALONE, LockFixture, Relayed, held};
use crate::harness::relay::op;
use crate::harness::wait::eventually;

const CLIENTS: usize = 5;
const ROUNDS: usize = 8;

#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<LockActivity>>);

impl ActivityRecorder for Recorder {
    fn record(&self, activity: LockActivity) {
        self.0.lock().expect("nobody panics").push(activity);
    }
}

impl Recorder {
    fn recorded(&self) -> Vec<LockActivity> {
        self.0.lock().expect("nobody panics").clone()
    }
}

/// A client that takes turns at a lock through a relay of its own.
struct RecordedClient {
    relayed: Relayed,
    recorder: Arc<Recorder>,
    lock: Lock,
    /// The requests that opened its session.
    before: u64,
}

/// Returns the requests of the lock. Under load, a library may open a session twice and close one
/// of the two at any time; these requests do not count.
fn sent(relayed: &Relayed) -> u64 {
    relayed.relay.requests().into_iter().filter(|(code, _)| !op::is_housekeeping(*code)).map(|(_, count)| count).sum()
}

fn count(recorded: &[LockActivity], of: impl Fn(&LockActivity) -> bool) -> u64 {
    recorded.iter().filter(|activity| of(activity)).count() as u64
}

/// Returns the watches and nodes that remain after all activity.
fn left(recorded: &[LockActivity]) -> (Vec<WatchPlace>, Vec<String>) {
    let (mut watches, mut nodes) = (Vec::new(), Vec::new());
    for activity in recorded {
        match activity {
            LockActivity::Watches(place) => watches.push(place.clone()),
            LockActivity::Unwatches(place) | LockActivity::Woken(place) => {
                let at = watches.iter().position(|set| set == place).expect("it was set");
                watches.remove(at);
            }
            LockActivity::Created(node) => nodes.push(node.as_str().to_owned()),
            LockActivity::Deleted(node) => {
                let at = nodes.iter().position(|made| made == node.as_str()).expect("it was made");
                nodes.remove(at);
            }
            _ => {}
        }
    }
    (watches, nodes)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_every_lock_equal_its_counts_and_the_traffic() {
    for algorithm in ALONE {
        let fixture = LockFixture::new().await;
        // A listing that finds a newly created parent is useless to its attempt, and its watch is
        // removed while it fires.
        fixture.make_parents(algorithm).await;
        let path = format!("/{}", algorithm.name());
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let relayed = Relayed::new(&fixture, Duration::from_secs(30)).await;
            let recorder = Arc::new(Recorder::default());
            let options = LockOptions::default().counter(CostCounter::recorded_by(recorder.clone()));
            let lock = Lock::with(&relayed.client, &path, algorithm, options).expect("a good path");
            clients.push(RecordedClient { before: sent(&relayed), relayed, recorder, lock });
        }
        let mut turns = JoinSet::new();
        for lock in clients.iter().map(|client| client.lock.clone()) {
            turns.spawn(async move {
                for _ in 0..ROUNDS {
                    held(&lock).await.release().await.expect("it was held");
                }
            });
        }
        turns.join_all().await;
        for client in &clients {
            eventually("one count", async || {
                let recorded = client.recorder.recorded();
                let recorded_counts = (
                    count(&recorded, |activity| matches!(activity, LockActivity::Sends(_))),
                    count(&recorded, |activity| matches!(activity, LockActivity::Woken(_))),
                );
                let cost = client.lock.cost();
                let on_the_wire = (sent(&client.relayed) - client.before, client.relayed.relay.events());
                let counts = (recorded_counts, (cost.requests, cost.events), on_the_wire);
                if counts.0 == counts.1 && counts.1 == counts.2 {
                    Ok(())
                } else {
                    Err((algorithm, counts, recorded, client.relayed.relay.requests()))
                }
            })
            .await;
            assert_eq!(left(&client.recorder.recorded()), (Vec::new(), Vec::new()), "{algorithm:?}");
        }
    }
}
