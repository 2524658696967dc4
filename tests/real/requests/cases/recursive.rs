//! Recursive watches, which do not survive the connection.

use futures::{FutureExt, StreamExt};
use lockscope_requests::{Events, Requests};
use tokio::time::timeout;
use zookeeper_client::{EventType, SessionState, WatchedEvent};

use super::{PATIENCE, Servers, TIMEOUT, create, delete, disconnect, event, is_session_event, reconnect, set};

async fn next(events: &mut Events) -> WatchedEvent {
    timeout(PATIENCE, events.next()).await.expect("it comes in time").expect("the session has not ended")
}

async fn assert_next(events: &mut Events, expected: EventType, path: &str) {
    let event = next(events).await;
    assert_eq!((event.event_type, event.path.as_str()), (expected, path));
}

async fn assert_state(events: &mut Events, state: SessionState) {
    let event = next(events).await;
    assert!(is_session_event(&event, state), "{event:?}");
}

/// Asserts that no event has come before the reply to a request made now.
async fn assert_quiet(client: &dyn Requests, events: &mut Events) {
    client.sync("/").await.expect("it is connected");
    assert_eq!(events.next().now_or_never(), None);
}

/// Watches a new node, `/top`, and all below it.
async fn watch_top(client: &dyn Requests) -> Events {
    create(client, "/top").await;
    client.watch_recursively("/top").await.expect("the server knows recursive watches")
}

/// Loses the connection and connects again, as the events tell.
async fn interrupt(servers: &mut impl Servers, events: &mut Events) {
    disconnect(servers).await;
    assert_state(events, SessionState::Disconnected).await;
    reconnect(servers).await;
    assert_state(events, SessionState::SyncConnected).await;
}

pub async fn a_recursive_watch_tells_of_every_node_in_order<S: Servers>() {
    let servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let mut events = watch_top(&*client).await;
    create(&*other, "/top/a").await;
    create(&*other, "/top/a/b").await;
    set(&*other, "/top/a/b").await;
    set(&*other, "/top/a/b").await;
    set(&*other, "/top").await;
    create(&*other, "/topmost").await;
    delete(&*other, "/top/a/b").await;
    delete(&*other, "/top/a").await;
    delete(&*other, "/top").await;
    create(&*other, "/top").await;
    for (expected, path) in [
        (EventType::NodeCreated, "/top/a"),
        (EventType::NodeCreated, "/top/a/b"),
        (EventType::NodeDataChanged, "/top/a/b"),
        (EventType::NodeDataChanged, "/top/a/b"),
        (EventType::NodeDataChanged, "/top"),
        (EventType::NodeDeleted, "/top/a/b"),
        (EventType::NodeDeleted, "/top/a"),
        (EventType::NodeDeleted, "/top"),
        (EventType::NodeCreated, "/top"),
    ] {
        assert_next(&mut events, expected, path).await;
    }
    assert_quiet(&*client, &mut events).await;
}

pub async fn a_recursive_watch_tells_of_no_node_after_a_reconnect<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let mut events = watch_top(&*client).await;
    disconnect(&mut servers).await;
    create(&*other, "/top/during").await;
    reconnect(&mut servers).await;
    create(&*other, "/top/after").await;
    set(&*other, "/top").await;
    assert_state(&mut events, SessionState::Disconnected).await;
    assert_state(&mut events, SessionState::SyncConnected).await;
    assert_quiet(&*client, &mut events).await;
    assert!(!servers.is_watched("/top").await);
    interrupt(&mut servers, &mut events).await;
    assert_quiet(&*client, &mut events).await;
}

pub async fn another_recursive_watch_revives_the_one_before<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let mut before = watch_top(&*client).await;
    interrupt(&mut servers, &mut before).await;
    let mut after = client.watch_recursively("/top").await.expect("it is connected");
    create(&*other, "/top/a").await;
    for events in [&mut before, &mut after] {
        assert_next(events, EventType::NodeCreated, "/top/a").await;
    }
    drop(before);
    set(&*other, "/top/a").await;
    assert_next(&mut after, EventType::NodeDataChanged, "/top/a").await;
}

pub async fn an_event_of_another_watch_reaches_a_recursive_watch_after_a_reconnect<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let mut events = watch_top(&*client).await;
    interrupt(&mut servers, &mut events).await;
    create(&*other, "/top/a").await;
    for path in ["/top/a", "/top"] {
        let (.., watch) = client.watch_data(path).await.expect("it is there");
        set(&*other, path).await;
        assert_eq!(event(watch).await, (EventType::NodeDataChanged, path.to_owned()));
        assert_next(&mut events, EventType::NodeDataChanged, path).await;
        set(&*other, path).await;
        assert_quiet(&*client, &mut events).await;
    }
}

pub async fn a_dropped_recursive_watch_is_removed<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let client = servers.client();
    let events = watch_top(&*client).await;
    assert!(servers.is_watched("/top").await);
    drop(events);
    client.sync("/").await.expect("it is connected");
    assert!(!servers.is_watched("/top").await);
}
