//! The locks of plain threads, on a real server.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lockscope_lock::blocking::{BlockingClient, BlockingLock};
use lockscope_lock::zookeeper_client::{self, Client};
use lockscope_lock::{Algorithm, LockError, Loss};

use crate::harness::relay::Relay;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;

const SHORT: Duration = Duration::from_millis(200);

/// Runs a part of the harness, which is async.
fn harness<F: Future>(work: F) -> F::Output {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn connect(subject: &str) -> BlockingClient {
    BlockingClient::connect(&harness(zk::own_root(subject))).expect("a session")
}

fn chain(client: &BlockingClient) -> BlockingLock {
    client.lock("/lock", Algorithm::Chain).expect("a lock")
}

/// Waits until the queue has that many nodes.
fn until_queued(client: &BlockingClient, nodes: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let queued = client.block_on(client.client().list_children("/lock")).expect("the parent is there");
        if queued.len() == nodes {
            return;
        }
        assert!(Instant::now() < deadline, "{nodes} nodes, but there are {queued:?}");
        thread::yield_now();
    }
}

#[test]
fn one_thread_holds_at_a_time_and_nothing_is_left_behind() {
    let client = connect("threads");
    let (inside, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
    let highest = std::sync::Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            let lock = chain(&client);
            let (inside, rounds, highest) = (&inside, &rounds, &highest);
            scope.spawn(move || {
                for round in 0..5 {
                    let guard = lock.acquire().expect("its turn comes");
                    assert!(!inside.swap(true, Ordering::SeqCst), "two threads hold");
                    let last = std::mem::replace(&mut *highest.lock().expect("no thread panics"), guard.token().0);
                    assert!(last < guard.token().0, "tokens rise");
                    rounds.fetch_add(1, Ordering::SeqCst);
                    inside.store(false, Ordering::SeqCst);
                    if round % 2 == 0 {
                        guard.release().expect("it was held");
                    }
                }
            });
        }
    });
    client.cleaned_up();
    assert_eq!(rounds.into_inner(), 20);
    until_queued(&client, 0);
}

#[test]
fn a_thread_gives_up_when_its_time_is_over_or_the_lock_is_taken() {
    let client = connect("gives-up");
    let guard = chain(&client).acquire().expect("it is free");
    assert!(chain(&client).try_acquire().expect("it answers").is_none());
    let error = chain(&client).acquire_within(SHORT).expect_err("it is held");
    assert!(matches!(error, LockError::TimedOut { within: SHORT, .. }), "{error}");
    assert_eq!(guard.lost_within(SHORT), None);
    assert_eq!(guard.is_lost(), None);
    // The end of the scope is the release.
    drop(guard);
    let guard = chain(&client).acquire_within(PATIENCE).expect("it is free");
    client.block_on(client.client().delete(guard.guard().path().as_str(), None)).expect("it is there");
    assert_eq!(guard.lost_within(PATIENCE), Some(Loss::Deleted));
    assert_eq!(guard.is_lost(), Some(Loss::Deleted));
    assert!(matches!(guard.release(), Err(LockError::NodeDeleted { .. })));
}

#[test]
fn a_waiting_thread_is_woken_by_a_release_of_another_client() {
    let servers = harness(zk::own_root("woken"));
    let [first, second] = [(); 2].map(|()| BlockingClient::connect(&servers).expect("a session"));
    let guard = chain(&first).acquire().expect("it is free");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| chain(&second).acquire());
        until_queued(&first, 2);
        let token = guard.token();
        // Another thread than the one that acquired.
        scope.spawn(|| guard.release()).join().expect("no panic").expect("it was held");
        let next = waiting.join().expect("no panic").expect("its turn");
        assert!(next.token() > token);
    });
}

#[test]
fn an_expired_session_is_told_to_a_thread() {
    let servers = harness(zk::own_root("thread-expires"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (server, root) = servers.split_once('/').expect("it has a root of its own");
    let relay = runtime.block_on(Relay::start(server));
    let connector = Client::connector().with_session_timeout(Duration::from_secs(4));
    let client = BlockingClient::connect_with(connector, &format!("{}/{root}", relay.connect_string()));
    let guard = chain(&client.expect("a session")).acquire().expect("it is free");
    runtime.block_on(relay.expire());
    assert_eq!(guard.lost_within(PATIENCE), Some(Loss::Expired));
    assert!(matches!(guard.release(), Err(LockError::SessionExpired { .. })));
}

/// Within a task it stops the thread, like any blocking call, but it does not panic, and it does not
/// use up the time that Tokio gives to a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_within_a_runtime_blocks_and_does_not_panic() {
    let servers = zk::own_root("within").await;
    let client = BlockingClient::connect(&servers).expect("a session");
    for _ in 0..100 {
        chain(&client).acquire().expect("it is free").release().expect("it was held");
    }
    let guard = tokio::task::spawn_blocking(move || chain(&client).acquire()).await.expect("no panic");
    drop(guard.expect("it is free"));
}

/// A call on the client's own thread could never return. It panics at once, on that thread.
#[test]
fn a_call_on_the_clients_own_thread_is_refused() {
    let client = connect("own-thread");
    let own = client.clone();
    let task = async { tokio::spawn(async move { drop(chain(&own).acquire()) }).await };
    let refused = client.block_on(task).expect_err("it cannot return");
    assert!(refused.is_panic());
    chain(&client).acquire().expect("the client works on").release().expect("it was held");
}

#[test]
fn the_session_ends_with_the_last_handle_and_a_dropped_guard_first() {
    let servers = harness(zk::own_root("last-handle"));
    let watcher = BlockingClient::connect(&servers).expect("a session");
    let (sender, closed) = mpsc::channel();
    let (client, lock, guard) = {
        let client = BlockingClient::connect(&servers).expect("a session");
        let lock = chain(&client);
        let guard = lock.acquire().expect("it is free");
        (client, lock, guard)
    };
    let mut states = client.client().state_watcher();
    drop(client);
    drop(lock);
    drop(guard);
    thread::spawn(move || {
        let end = async {
            while !states.peek_state().is_terminated() {
                states.changed().await;
            }
            states.peek_state()
        };
        sender.send(harness(end)).expect("somebody listens");
    });
    assert_eq!(closed.recv_timeout(PATIENCE), Ok(zookeeper_client::SessionState::Closed));
    until_queued(&watcher, 0);
}

#[test]
fn no_server_is_an_error() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let connector = Client::connector().with_session_timeout(Duration::from_secs(1)).with_fail_eagerly();
    assert!(BlockingClient::connect_with(connector, &nobody.to_string()).is_err());
}
