//! Servers without recursive watches: they answer so, or close the connection.

use lockscope_model::queue::ConnectionState;
use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, curator, path};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::zk;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_shot_watches_follow_queues_single_nodes_and_new_parents() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    relay.rewrite_op(op::REMOVE_WATCHES, op::UNKNOWN);
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;

    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until_live().await;
    let connected: Vec<&ConnectionState> =
        fixture.links.iter().filter(|link| matches!(link, ConnectionState::Connected { .. })).collect();
    assert!(matches!(connected[..], [ConnectionState::Connected { recursive: false, .. }]), "{:?}", fixture.links);

    let wishes = (0..20).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(20).await;
    zk::delete_all(&client, nodes[..5].to_vec()).await;
    fixture.until_contenders(15).await;

    zk::make(&client, ["/new/parent".to_owned()]).await;
    let wishes = [(format!("/new/parent/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(16).await;

    // A single node that is deleted and created again under the same name.
    let lock = path("/new/lock");
    for _ in 0..3 {
        let options = zk::open(CreateMode::Ephemeral);
        let (stat, _) = client.create(lock.as_str(), b"", &options).await.expect("created");
        let shows = |fixture: &ObserverFixture| fixture.contenders().iter().any(|(_, czxid, _)| *czxid == stat.czxid);
        fixture.until("the holder", shows).await;
        zk::delete_all(&client, [lock.to_string()]).await;
    }
    relay.cut().await;
    zk::delete_all(&client, nodes[5..].to_vec()).await;
    fixture.until_contenders(1).await;
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_root_is_found_without_recursive_watches_too() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    relay.rewrite_op(op::ADD_WATCH, op::UNKNOWN);
    relay.rewrite_op(op::REMOVE_WATCHES, op::UNKNOWN);
    let client = zk::connect(&server.connect_string()).await;
    let mut fixture = ObserverFixture::with(super::fixture::connection(&relay.connect_string()), &["/later"]);
    fixture.until_live().await;
    assert!(fixture.table.unreadable().contains_key(&path("/later")));
    for _ in 0..2 {
        zk::make(&client, ["/later".to_owned()]).await;
        let wishes = [(format!("/later/{}", curator()), Vec::new())];
        let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
        fixture.until_contenders(1).await;
        assert!(fixture.table.unreadable().is_empty());
        zk::delete_all(&client, nodes).await;
        zk::delete_all(&client, ["/later".to_owned()]).await;
        fixture.until("no root", |fixture| fixture.table.unreadable().contains_key(&path("/later"))).await;
    }
    fixture.observer.stop().await;
}
