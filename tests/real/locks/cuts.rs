//! Locks over connections that are cut at any time.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use lockscope_lock::{Algorithm, Lock, LockOptions, Naming};
use tokio::task::JoinSet;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use super::fixture::{ALONE, LEASES, LockFixture, Relayed, delete, got, held, lock, wait_for};
use super::wire::{Counted, path};
use crate::harness::relay::{Fault, Place, Relay, Then, op};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Cuts a relay's connections at intervals.
async fn cut_every(relay: &Relay, millis: u64) -> Infallible {
    let mut cuts = tokio::time::interval(Duration::from_millis(millis));
    loop {
        cuts.tick().await;
        relay.cut().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_over_cut_connections_has_one_holder_and_leaves_no_node() {
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
        // The intervals are primes, so the cuts drift against the requests and each other.
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

/// The server executes the next request, a create, but the reply is lost.
const LOST_CREATE: [Fault; 1] = [Fault { place: Place::AfterRequest(1), then: Then::Cut }];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_create_got_no_reply_is_found_among_unreadable_ones() {
    let (counted, path) = (Counted::new().await, path().await);
    let server = Server::shared().connect_string();
    let secret = Client::connector().with_auth("digest", b"owner:secret").connect(&server).await.expect("a session");
    let acls = [Acl::new(Permission::ALL, AuthId::authed())];
    let options = CreateMode::EphemeralSequential.with_acls((&acls[..]).into());
    let (_, number) = secret.create(&format!("{path}/red_lock_"), b"", &options).await.expect("a node");
    let options = LockOptions::default().naming(Naming::Named("red".to_owned()));
    let lock = Lock::with(&counted.client, &path, Algorithm::Chain, options).expect("a good path");
    counted.relay.record();
    counted.relay.arm(&LOST_CREATE);
    let waiting = wait_for(&lock);
    // The client reads its own node and the one before it.
    eventually("both reads", async || match counted.requests() {
        sent if sent.iter().filter(|sent| **sent == op::GET_DATA).count() >= 2 => Ok(()),
        sent => Err(sent),
    })
    .await;
    delete(&secret, &format!("{path}/red_lock_{number}")).await;
    got(waiting).await.release().await.expect("it was held");
    assert_eq!(secret.list_children(&path).await.expect("it is there"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_node_whose_create_got_no_reply_is_found_by_its_name() {
    let (counted, path) = (Counted::new().await, path().await);
    for naming in [Naming::Curator, Naming::Kazoo] {
        let options = LockOptions::default().naming(naming).acls([Acl::new(Permission::WRITE, AuthId::anyone())]);
        let lock = Lock::with(&counted.client, &path, Algorithm::Chain, options).expect("a good path");
        counted.relay.arm(&LOST_CREATE);
        held(&lock).await.release().await.expect("it was held");
        assert!(counted.relay.disarm());
        assert_eq!(counted.client.list_children(&path).await.expect("it is there"), [""; 0]);
    }
}

/// The first create never reaches the server while its client waits for the reply.
const HELD_UP_CREATE: [Fault; 1] = [Fault { place: Place::BeforeRequest(1), then: Then::Cut }];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_a_lost_create_makes_late_blocks_nobody() {
    let named = Naming::Named("red".to_owned());
    for (algorithm, naming) in [(Algorithm::Chain, Naming::Curator), (Algorithm::Herd, named), LEASE, MUTEX] {
        let (counted, path) = (Counted::new().await, path().await);
        let options = LockOptions::default().naming(naming);
        let lock = Lock::with(&counted.client, &format!("{path}/lock"), algorithm, options).expect("a good path");
        counted.relay.arm(&HELD_UP_CREATE);
        let guard = held(&lock).await;
        assert!(counted.relay.disarm(), "{algorithm:?}");
        let node = guard.path().as_str().to_owned();
        let (data, _) = counted.client.get_data(&node).await.expect("the holder's node");
        guard.release().await.expect("it was held");
        // A semaphore's client begins in the queue.
        let node = node.replace("/leases/", "/locks/").replace("-lease-", "-lock-");
        // As if the server received the first create only now.
        late(&counted.client, &node, &data, algorithm).await;
        // The session must not end before the test does, so the wait is short.
        let next = held(&lock).await;
        assert_eq!(next.is_lost(), None, "{algorithm:?}");
        next.release().await.expect("it was held: only the late node is deleted");
    }
}

/// The late node is created, read and deleted, and the reply to the deletion is lost.
const LOST_DELETION: [Fault; 1] = [Fault { place: Place::AfterRequest(3), then: Then::Cut }];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_deletion_of_a_late_mutex_spares_the_next_holders_node() {
    let (counted, path) = (Counted::new().await, path().await);
    let other = zk::connect(&Server::shared().connect_string()).await;
    let at = format!("{path}/lock");
    let lock = Lock::new(&counted.client, &at, Algorithm::Mutex).expect("a good path");
    counted.relay.arm(&HELD_UP_CREATE);
    let guard = held(&lock).await;
    assert!(counted.relay.disarm());
    let (data, _) = counted.client.get_data(&at).await.expect("the holder's node");
    guard.release().await.expect("it was held");
    // The client looks for the node at once and, after a pause, again.
    let looks = || counted.relay.requests().get(&op::GET_DATA).copied().unwrap_or_default();
    let before = looks();
    eventually("a look", async || if looks() > before { Ok(()) } else { Err(looks()) }).await;
    counted.relay.arm(&LOST_DELETION);
    late(&counted.client, &at, &data, Algorithm::Mutex).await;
    let next = held(&Lock::new(&other, &at, Algorithm::Mutex).expect("a good path")).await;
    assert!(counted.relay.disarm(), "the reply was lost");
    // Requests that the other client makes now come after those that it sends again.
    let looked = looks();
    eventually("another look", async || if looks() > looked { Ok(()) } else { Err(looks()) }).await;
    counted.client.check_stat(&path).await.expect("an answer");
    assert_eq!(next.is_lost(), None);
    next.release().await.expect("it was held all the while");
}

const LEASE: (Algorithm, Naming) = (Algorithm::Semaphore(LEASES), Naming::Curator);
const MUTEX: (Algorithm, Naming) = (Algorithm::Mutex, Naming::Curator);

/// Creates a node as the create that created `node` did.
async fn late(client: &Client, node: &str, data: &[u8], algorithm: Algorithm) {
    let (name, mode) = match algorithm {
        Algorithm::Mutex => (node, CreateMode::Ephemeral),
        _ => (node.trim_end_matches(|digit: char| digit.is_ascii_digit()), CreateMode::EphemeralSequential),
    };
    client.create(name, data, &mode.with_acls(Acls::anyone_all())).await.expect("a node");
}
