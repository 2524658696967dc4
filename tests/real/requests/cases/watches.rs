//! One-shot watches.

use futures::FutureExt;
use lockscope_requests::{Requests, Watch};
use zookeeper_client::EventType;

use super::{Servers, TIMEOUT, create, delete, disconnect, event, is_ready, reconnect, set};

const CHANGED: &str = "/changed";
const DELETED: &str = "/deleted";
const REPLACED: &str = "/replaced";

/// Changes one node, deletes one and creates one anew.
async fn change_all(other: &dyn Requests) {
    set(other, CHANGED).await;
    delete(other, DELETED).await;
    delete(other, REPLACED).await;
    create(other, REPLACED).await;
}

async fn watch_data(client: &dyn Requests, path: &str) -> Watch {
    client.watch_data(path).await.expect("the node is there").2
}

async fn watch_stat(client: &dyn Requests, path: &str) -> Watch {
    client.watch_stat(path).await.expect("it is connected").1
}

async fn watch_children(client: &dyn Requests, path: &str) -> Watch {
    client.watch_children(path).await.expect("the node is there").2
}

async fn assert_event(watch: Watch, expected: EventType, path: &str) {
    assert_eq!(event(watch).await, (expected, path.to_owned()));
}

pub async fn a_data_watch_fires_after_a_reconnect_for_a_change_during_the_outage<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let mut watches = Vec::new();
    for (path, expected) in [
        (CHANGED, EventType::NodeDataChanged),
        (DELETED, EventType::NodeDeleted),
        (REPLACED, EventType::NodeDataChanged),
    ] {
        create(&*other, path).await;
        watches.push((path, expected, watch_data(&*client, path).await));
        watches.push((path, expected, watch_stat(&*client, path).await));
    }
    disconnect(&mut servers).await;
    change_all(&*other).await;
    assert!(watches.iter_mut().all(|(_, _, watch)| !is_ready(watch)));
    reconnect(&mut servers).await;
    for (path, expected, watch) in watches {
        assert_event(watch, expected, path).await;
    }
}

pub async fn a_child_watch_fires_after_a_reconnect_for_a_change_during_the_outage<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let (grown, shrunk) = ("/grown", "/shrunk");
    for path in [grown, shrunk, "/shrunk/child", CHANGED, "/changed/child", DELETED, REPLACED] {
        create(&*other, path).await;
    }
    let mut watches = Vec::new();
    for (path, expected) in [
        (grown, EventType::NodeChildrenChanged),
        (shrunk, EventType::NodeChildrenChanged),
        (DELETED, EventType::NodeDeleted),
        (REPLACED, EventType::NodeChildrenChanged),
    ] {
        watches.push((path, expected, watch_children(&*client, path).await));
    }
    let mut unchanged = watch_children(&*client, CHANGED).await;
    disconnect(&mut servers).await;
    change_all(&*other).await;
    create(&*other, "/grown/child").await;
    delete(&*other, "/shrunk/child").await;
    set(&*other, "/changed/child").await;
    create(&*other, "/changed/child/child").await;
    assert!(watches.iter_mut().all(|(_, _, watch)| !is_ready(watch)));
    reconnect(&mut servers).await;
    for (path, expected, watch) in watches {
        assert_event(watch, expected, path).await;
    }
    assert!(!is_ready(&mut unchanged));
    create(&*other, "/changed/other").await;
    assert_event(unchanged, EventType::NodeChildrenChanged, CHANGED).await;
}

pub async fn a_watch_of_a_missing_node_fires_for_its_creation<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    let (stat, before) = client.watch_stat("/before").await.expect("it is connected");
    assert_eq!(stat, None);
    create(&*other, "/before").await;
    assert_event(before, EventType::NodeCreated, "/before").await;
    let during = watch_stat(&*client, "/during").await;
    let mut passing = watch_stat(&*client, "/passing").await;
    disconnect(&mut servers).await;
    create(&*other, "/during").await;
    create(&*other, "/passing").await;
    delete(&*other, "/passing").await;
    reconnect(&mut servers).await;
    assert_event(during, EventType::NodeCreated, "/during").await;
    assert!(!is_ready(&mut passing));
    create(&*other, "/passing").await;
    assert_event(passing, EventType::NodeCreated, "/passing").await;
}

pub async fn a_watch_of_an_unchanged_node_survives_a_reconnect<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*other, "/node").await;
    create(&*other, "/parent").await;
    // A change before the watch is none for the watch.
    set(&*other, "/node").await;
    let data = watch_data(&*client, "/node").await;
    let children = watch_children(&*client, "/parent").await;
    let missing = watch_stat(&*client, "/missing").await;
    let mut watches = [data, children, missing];
    for _ in 0..2 {
        disconnect(&mut servers).await;
        reconnect(&mut servers).await;
        assert!(watches.iter_mut().all(|watch| !is_ready(watch)));
    }
    let [data, children, missing] = watches;
    // A data watch does not tell of children, and a child watch not of data.
    create(&*other, "/node/child").await;
    set(&*other, "/parent").await;
    client.sync("/").await.expect("it is connected");
    let mut quiet = [data, children];
    assert!(quiet.iter_mut().all(|watch| !is_ready(watch)));
    let [data, children] = quiet;
    set(&*other, "/node").await;
    assert_event(data, EventType::NodeDataChanged, "/node").await;
    create(&*other, "/parent/child").await;
    assert_event(children, EventType::NodeChildrenChanged, "/parent").await;
    create(&*other, "/missing").await;
    assert_event(missing, EventType::NodeCreated, "/missing").await;
}

pub async fn an_event_that_is_lost_comes_after_the_reconnect<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*other, "/node").await;
    let mut watch = watch_data(&*client, "/node").await;
    servers.hold_reply();
    set(&*other, "/node").await;
    servers.held().await;
    disconnect(&mut servers).await;
    assert!(!is_ready(&mut watch));
    reconnect(&mut servers).await;
    assert_event(watch, EventType::NodeDataChanged, "/node").await;
}

pub async fn an_event_comes_before_a_reply_that_shows_its_change<S: Servers>() {
    let servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*other, "/node").await;
    for _ in 0..20 {
        let (before, stat, watch) = client.watch_data("/node").await.expect("the node is there");
        let list = watch_children(&*client, "/node").await;
        other.set_data("/node", &[before, b"+".into()].concat(), None).await.expect("the node is there");
        create(&*other, &format!("/node/{}", stat.version)).await;
        client.sync("/node").await.expect("it is connected");
        let (_, after) = client.data("/node").await.expect("the node is there");
        assert_eq!(after.version, stat.version + 1);
        let [watch, list] = [watch, list].map(|watch| watch.now_or_never().map(|event| event.event_type));
        assert_eq!([watch, list], [Some(EventType::NodeDataChanged), Some(EventType::NodeChildrenChanged)]);
    }
}

pub async fn a_dropped_watch_is_removed_and_leaves_another_of_the_node<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*other, "/node").await;
    let dropped = watch_data(&*client, "/node").await;
    let kept = watch_data(&*client, "/node").await;
    assert!(servers.is_watched("/node").await);
    drop(dropped);
    client.sync("/").await.expect("it is connected");
    assert!(servers.is_watched("/node").await);
    // The next watch is asked for before the one before is dropped, and after.
    let next = client.watch_data("/node");
    drop(kept);
    let (.., next) = next.await.expect("the node is there");
    drop(next);
    let last = watch_data(&*client, "/node").await;
    set(&*other, "/node").await;
    assert_event(last, EventType::NodeDataChanged, "/node").await;
    for watch in [watch_data(&*client, "/node").await, watch_stat(&*client, "/missing").await] {
        drop(watch);
    }
    client.sync("/").await.expect("it is connected");
    assert!(!servers.is_watched("/node").await && !servers.is_watched("/missing").await);
}

pub async fn a_watch_that_is_dropped_without_a_connection_is_removed_after_the_reconnect<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*other, "/node").await;
    create(&*other, CHANGED).await;
    let watches = [watch_data(&*client, "/node").await, watch_data(&*client, CHANGED).await];
    disconnect(&mut servers).await;
    drop(watches);
    set(&*other, CHANGED).await;
    reconnect(&mut servers).await;
    assert!(!servers.is_watched("/node").await && !servers.is_watched(CHANGED).await);
}
