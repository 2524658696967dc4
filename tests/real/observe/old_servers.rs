//! Servers without recursive watches: they answer so, or close the connection.

use std::time::Instant;

use lockscope_model::queue::ConnectionState;
use lockscope_sandbox::ServerBehaviour;
use serde_json::Value;
use zookeeper_client::{Client, CreateMode};

use super::fixture::{ObserverFixture, curator, path};
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};
use crate::played::played;

/// Five of the 20 contenders go, and one comes below a new parent.
async fn follows_changes(client: &Client, fixture: &mut ObserverFixture, nodes: &[String]) {
    zk::delete_all(client, nodes[..5].to_vec()).await;
    fixture.until_contenders(15).await;
    zk::make(client, ["/new/parent".to_owned()]).await;
    let wishes = [(format!("/new/parent/{}", curator()), Vec::new())];
    zk::create_all(client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(16).await;
}

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
    follows_changes(&client, &mut fixture, &nodes).await;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_3_5_is_followed_by_one_shot_watches_and_node_by_node() {
    let server = played(ServerBehaviour::ZooKeeper35).await;
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let wishes = (0..20).map(|_| (format!("/locks/a/{}", curator()), Vec::new()));
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;

    let began = Instant::now();
    let mut fixture = ObserverFixture::start(&relay.connect_string());
    fixture.until_contenders(20).await;
    println!("in step after {:?} and {} connections", began.elapsed(), relay.accepted());
    let connected: Vec<_> =
        fixture.links.iter().filter(|link| matches!(link, ConnectionState::Connected { .. })).collect();
    assert!(!connected.is_empty());
    assert!(
        connected.iter().all(|link| matches!(link, ConnectionState::Connected { recursive: false, .. })),
        "{connected:?}"
    );
    follows_changes(&client, &mut fixture, &nodes).await;
    relay.cut().await;
    zk::delete_all(&client, nodes[5..].to_vec()).await;
    fixture.until_contenders(1).await;
    fixture.observer.stop().await;
    server.stop().await;
}

async fn members(at: &str, pace: &str) -> (Option<i32>, Value) {
    let ended = run(lockscope(&["members", "--connect", at, "--format", "json", "--pace", pace])).await;
    let told = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error} in {ended:?}"));
    (ended.code, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_name_a_server_of_3_5_and_show_its_locks() {
    let server = played(ServerBehaviour::ZooKeeper35).await;
    let at = server.connect_string();
    let client = zk::connect(&at).await;
    zk::make(&client, ["/locks/a".to_owned()]).await;
    let wishes = [(format!("/locks/a/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;

    let told = run(lockscope(&["snapshot", "--connect", &at, "--format", "json"])).await.json();
    let version = told["ensemble"]["servers"][0]["version"].as_str().unwrap_or_default();
    assert!(version.starts_with("3.5."), "{told}");
    assert_eq!(told["ensemble"]["servers"][0]["software"], "zookeeper", "{told}");
    let contenders = told["locks"][0]["contenders"].as_array().expect("contenders");
    assert_eq!(contenders.len(), 1, "{told}");
    assert!(contenders[0]["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.1:")), "{told}");

    let checked = run(lockscope(&["check", "--connect", &at])).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let (code, told) = members(&at, "2").await;
    assert_eq!((code, &told["members"][0]["synced"]), (Some(0), &true.into()), "{told}");
    assert_eq!(told["members"][0]["error"], Value::Null, "{told}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_3_5_are_compared_node_by_node_unless_that_takes_too_long() {
    let server = played(ServerBehaviour::ZooKeeper35).await;
    let relay = Relay::start(&server.connect_string()).await;
    // The same server under two addresses: both must show the same nodes.
    let at = format!("{},{}", server.connect_string(), relay.connect_string());
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, (0..100).map(|parent| format!("/locks/l{parent:02}"))).await;
    let wishes = (0..100).map(|parent| (format!("/locks/l{parent:02}/{}", curator()), Vec::new()));
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let (code, told) = members(&at, "1").await;
    assert_eq!((code, &told["agree"]), (Some(1), &false.into()), "{told}");
    assert_eq!(told["not_compared"].as_array().map(Vec::len), Some(2), "{told}");
    for member in told["members"].as_array().expect("members") {
        let error = member["error"].as_str().unwrap_or_default();
        assert!(member["synced"] == false && error.contains("--pace"), "{member}");
    }
    let (code, told) = members(&at, "1000").await;
    assert_eq!((code, &told["differences"]), (Some(0), &Value::Array(Vec::new())), "{told}");
    assert!(told["members"].as_array().expect("members").iter().all(|member| member["synced"] == true), "{told}");
    assert!(told["compared"]["parents"].as_u64().is_some_and(|parents| parents > 100), "{told}");
    assert!(relay.requests().get(&op::LIST).is_some_and(|count| *count > 100), "{:?}", relay.requests());
    server.stop().await;
}
