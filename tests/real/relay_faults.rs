//! Tests of the harness: a relay makes a fault at exactly the packet for which it was armed, and
//! counts round trips.

use std::time::Duration;

use zookeeper_client::{Client, CreateMode, Error, SessionState};

use crate::harness::relay::{Asked, Fault, Passed, Place, Relay, Then, op, round_trips};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Returns a relay with a client behind it, a client without a relay, and the path of the test.
async fn relayed(subject: &str) -> (Relay, Client, Client, String) {
    let server = Server::shared().connect_string();
    let path = zk::own_root(subject).await.split_off(server.len());
    let relay = Relay::start(&server).await;
    let client = zk::connect(&relay.connect_string()).await;
    (relay, client, zk::connect(&server).await, path)
}

fn cut(place: Place) -> Fault {
    Fault { place, then: Then::Cut }
}

fn expire(place: Place) -> Fault {
    Fault { place, then: Then::Expire }
}

async fn names(client: &Client, path: &str) -> Vec<String> {
    let mut names = client.list_children(path).await.expect("it can be listed");
    names.sort();
    names
}

async fn create(client: &Client, path: &str, name: &str) -> Result<(), Error> {
    client.create(&format!("{path}/{name}"), &[], &zk::open(CreateMode::Ephemeral)).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_cut_before_it_arrives_is_not_executed() {
    let (relay, client, witness, path) = relayed("cut-before").await;
    relay.arm(&[cut(Place::BeforeRequest(2))]);
    assert_eq!(create(&client, &path, "first").await, Ok(()));
    assert_eq!(create(&client, &path, "second").await, Err(Error::ConnectionLoss));
    assert!(relay.disarm());
    assert_eq!(names(&witness, &path).await, ["first"]);
    eventually("the next connection", async || create(&client, &path, "third").await).await;
    assert_eq!(relay.accepted(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_cut_after_it_arrived_is_executed_and_its_reply_is_lost() {
    let (relay, client, witness, path) = relayed("cut-after").await;
    relay.arm(&[cut(Place::AfterRequest(2))]);
    assert_eq!(create(&client, &path, "first").await, Ok(()));
    assert_eq!(create(&client, &path, "second").await, Err(Error::ConnectionLoss));
    assert_eq!(names(&witness, &path).await, ["first", "second"]);
    assert!(relay.disarm());
    eventually("the next connection", async || create(&client, &path, "third").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_strike_one_after_another_and_only_once() {
    let (relay, client, witness, path) = relayed("cut-twice").await;
    relay.arm(&[cut(Place::AfterRequest(1)), cut(Place::BeforeRequest(2)), cut(Place::AfterRequest(9))]);
    for name in ["first", "second"] {
        assert_eq!(create(&client, &path, name).await, Err(Error::ConnectionLoss));
    }
    assert_eq!(create(&client, &path, "third").await, Ok(()));
    assert_eq!(names(&witness, &path).await, ["first", "third"]);
    assert_eq!(relay.accepted(), 3);
    assert!(!relay.disarm());
}

// Single-threaded, so that all requests are made before the client's task sends the first one: a
// request after the cut would wait for a connection.
#[tokio::test]
async fn requests_before_a_cut_are_answered_and_later_ones_are_lost() {
    let (relay, client, witness, path) = relayed("cut-between").await;
    for (place, executed) in [(Place::BeforeRequest(2), vec!["a"]), (Place::AfterRequest(2), vec!["a", "b"])] {
        // On a slow machine, a late request must not find the next connection.
        relay.arm(&[Fault { place, then: Then::Bar }]);
        let asked = ["a", "b", "c"].map(|name| create(&client, &path, name));
        let [a, b, c] = asked;
        let (a, b, c) = tokio::join!(a, b, c);
        assert_eq!(a, Ok(()), "{place:?}");
        assert_eq!([b, c], [Err(Error::ConnectionLoss), Err(Error::ConnectionLoss)], "{place:?}");
        assert_eq!(names(&witness, &path).await, executed, "{place:?}");
        relay.heal();
        eventually("the next connection", async || client.get_data(&path).await).await;
        zk::delete_all(&witness, executed.iter().map(|name| format!("{path}/{name}"))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_lost_in_a_cut_comes_after_the_reconnect() {
    let (relay, client, witness, path) = relayed("cut-event").await;
    let (_, _, watcher) = client.get_and_watch_data(&path).await.expect("it can be read");
    relay.arm(&[cut(Place::AtEvent(1))]);
    witness.set_data(&path, b"new", None).await.expect("it can be written");
    watcher.changed().await;
    assert!(relay.disarm());
    assert_eq!((relay.accepted(), relay.events()), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_expires_before_and_after_a_request_and_at_an_event() {
    for (place, executed) in
        [(Place::BeforeRequest(2), false), (Place::AfterRequest(2), true), (Place::AtEvent(1), true)]
    {
        let (relay, client, witness, path) = relayed("expire").await;
        let (_, _, _watcher) = client.get_and_watch_data(&path).await.expect("it can be read");
        relay.arm(&[expire(place)]);
        create(&client, &path, "own").await.expect("it can be made");
        let write = client.set_data(&path, b"new", None).await;
        assert!(matches!(write, Err(Error::ConnectionLoss | Error::SessionExpired)), "{place:?}: {write:?}");
        let expired = eventually("the client's end", async || match client.get_data(&path).await {
            Err(error) if error != Error::ConnectionLoss => Ok(error),
            other => Err(other),
        });
        assert_eq!(expired.await, Error::SessionExpired, "{place:?}");
        assert_eq!(names(&witness, &path).await, [""; 0], "{place:?}");
        let (data, _) = witness.get_data(&path).await.expect("it can be read");
        assert_eq!(data == b"new", executed, "{place:?}");
        assert!(relay.disarm() && !relay.refuses(), "{place:?}");
        let next = zk::connect(&relay.connect_string()).await;
        next.get_data(&path).await.expect("the relay has healed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_expires_without_a_request() {
    let (relay, client, witness, path) = relayed("expire-idle").await;
    create(&client, &path, "own").await.expect("it can be made");
    relay.expire().await;
    assert_eq!(names(&witness, &path).await, [""; 0]);
    let states = client.state_watcher();
    eventually("the client's end", async || match states.peek_state() {
        SessionState::Expired => Ok(()),
        state => Err(state),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_sent_together_are_one_round_trip_and_sequential_ones_two() {
    let (relay, client, _, path) = relayed("trips").await;
    relay.delay(Duration::from_millis(20));
    // A busy machine may separate two requests that were sent together.
    let mut logs = Vec::new();
    for _ in 0..10 {
        relay.record();
        let (data, children) = (client.get_data(&path), client.list_children(&path));
        data.await.expect("it can be read");
        children.await.expect("it can be listed");
        logs.push(relay.recorded());
    }
    let log = logs.into_iter().min_by_key(|log| round_trips(log)).expect("ten");
    assert_eq!(round_trips(&log), 1, "{log:?}");
    let asked = [op::GET_DATA, op::LIST].map(|op| Asked { op, watches: false });
    let replies = asked.map(|to| Passed::Reply { to, ok: true });
    assert_eq!(log, [Passed::Request(asked[0]), Passed::Request(asked[1]), replies[0], replies[1]]);

    relay.record();
    let (_, _, watcher) = client.get_and_watch_data(&path).await.expect("it can be read");
    assert!(relay.recorded()[1].is_watch_set());
    drop(watcher);

    relay.record();
    client.get_data(&path).await.expect("it can be read");
    client.get_data(&path).await.expect("it can be read");
    assert_eq!(round_trips(&relay.recorded()), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_applies_to_each_packet_on_its_own() {
    let (relay, client, _, path) = relayed("delay").await;
    let each_way = Duration::from_millis(20);
    relay.delay(each_way);
    let started = tokio::time::Instant::now();
    client.get_data(&path).await.expect("it can be read");
    let one = started.elapsed();
    assert!(one >= 2 * each_way, "{one:?}");
    relay.record();
    let reads: Vec<_> = (0..100).map(|_| client.get_data(&path)).collect();
    for read in reads {
        read.await.expect("it can be read");
    }
    // One after the other they would take a hundred round trips; a busy machine separates a few.
    let trips = round_trips(&relay.recorded());
    assert!(trips < 10, "{trips}");
}
