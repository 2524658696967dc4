//! Requests under way when the connection breaks, and requests without a connection.

use zookeeper_client::CreateMode;

use super::{Servers, TIMEOUT, assert_lost, count_children, create, disconnect, is_ready, node, reconnect};

pub async fn a_request_that_does_not_arrive_fails_and_is_never_sent_again<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let client = servers.client();
    servers.hold_request();
    let lost = client.create(node("/lost", CreateMode::Persistent));
    servers.held().await;
    servers.cut().await;
    assert_lost(lost.await);
    reconnect(&mut servers).await;
    assert_eq!(client.stat("/lost").await, Ok(None));
    create(&*client, "/next").await;
}

pub async fn a_request_whose_reply_is_lost_fails_and_was_carried_out_once<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    create(&*client, "/parent").await;
    servers.hold_reply();
    let lost = client.create(node("/parent/n-", CreateMode::PersistentSequential));
    servers.held().await;
    servers.cut().await;
    assert_lost(lost.await);
    assert_eq!(count_children(&*other, "/parent").await, 1);
    reconnect(&mut servers).await;
    assert_eq!(count_children(&*client, "/parent").await, 1);
    client.create(node("/parent/n-", CreateMode::PersistentSequential)).await.expect("it is connected");
    assert_eq!(count_children(&*client, "/parent").await, 2);
}

pub async fn requests_without_a_connection_wait_and_are_carried_out_once<S: Servers>() {
    let mut servers = S::start(TIMEOUT).await;
    let (client, other) = (servers.client(), servers.other());
    disconnect(&mut servers).await;
    let mut parent = client.create(node("/parent", CreateMode::Persistent));
    let mut child = client.create(node("/parent/n-", CreateMode::PersistentSequential));
    assert_eq!(other.stat("/parent").await, Ok(None));
    assert!(!is_ready(&mut parent) && !is_ready(&mut child));
    servers.heal().await;
    parent.await.expect("it waited for the connection");
    assert_eq!(child.await.expect("it waited for the connection").number, "0000000000");
    client.sync("/").await.expect("it is connected");
    assert_eq!(count_children(&*client, "/parent").await, 1);
}

pub async fn requests_are_carried_out_in_the_order_in_which_they_are_made<S: Servers>() {
    let servers = S::start(TIMEOUT).await;
    let client = servers.client();
    let parent = client.create(node("/parent", CreateMode::Persistent));
    let child = client.create(node("/parent/child", CreateMode::Persistent));
    let listed = client.children("/parent");
    // The first reply is awaited last: requests do not wait for their futures to be polled.
    let (names, _) = listed.await.expect("the parent is there");
    assert_eq!(names, ["child"]);
    let [parent, child] = [parent.await, child.await].map(|created| created.expect("it is created").stat);
    assert!(parent.czxid < child.czxid);
}

pub async fn a_request_whose_reply_is_dropped_is_carried_out<S: Servers>() {
    let servers = S::start(TIMEOUT).await;
    let client = servers.client();
    drop(client.create(node("/dropped", CreateMode::Persistent)));
    assert!(client.stat("/dropped").await.expect("it is connected").is_some());
}
