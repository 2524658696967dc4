//! Tests with a real client over a socket.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use zookeeper_client::{Acls, Client, CreateMode, Error, EventType, LockOptions, LockPrefix};

use super::*;

async fn sandbox() -> Sandbox {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Sandbox::start(listener, SandboxConfig::default()).unwrap()
}

async fn connect(sandbox: &Sandbox) -> Client {
    Client::connector().with_session_timeout(Duration::from_secs(5)).connect(&sandbox.connect_string()).await.unwrap()
}

#[tokio::test]
async fn a_client_creates_reads_watches_and_deletes_nodes() {
    let sandbox = sandbox().await;
    let (one, other) = (connect(&sandbox).await, connect(&sandbox).await);
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    one.create("/a", b"x", &options).await.unwrap();
    let (data, _, changed) = other.get_and_watch_data("/a").await.unwrap();
    assert_eq!(data, b"x");
    let (children, _, listed) = other.get_and_watch_children("/").await.unwrap();
    assert_eq!(children, ["a", "zookeeper"]);
    one.delete("/a", None).await.unwrap();
    assert_eq!(changed.changed().await.event_type, EventType::NodeDeleted);
    assert_eq!(listed.changed().await.event_type, EventType::NodeChildrenChanged);
    assert_eq!(other.get_data("/a").await.unwrap_err(), Error::NoNode);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_lock_of_zookeeper_client_passes_to_the_next_session() {
    let sandbox = sandbox().await;
    let (one, other) = (connect(&sandbox).await, connect(&sandbox).await);
    let prefix = || LockPrefix::new_curator("/locks", "lock-").unwrap();
    let options = || {
        LockOptions::new(Acls::anyone_all())
            .with_ancestor_options(CreateMode::Container.with_acls(Acls::anyone_all()))
            .unwrap()
    };
    let held = one.lock(prefix(), b"", options()).await.unwrap();
    let waiting = tokio::spawn(async move { other.lock(prefix(), b"", options()).await.map(|_| ()) });
    assert!(!waiting.is_finished());
    drop(held);
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_address_beyond_loopback_needs_any_address() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = Sandbox::start(listener, SandboxConfig::default()).unwrap_err();
    assert!(refused.to_string().contains("no loopback address"), "{refused}");
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    Sandbox::start(listener, SandboxConfig { any_address: true, ..SandboxConfig::default() }).unwrap();
}

#[tokio::test]
async fn a_stopped_sandbox_closes_its_connections_and_frees_its_port() {
    let sandbox = sandbox().await;
    let address = sandbox.address();
    let mut socket = TcpStream::connect(address).await.unwrap();
    connect(&sandbox).await;
    sandbox.stop().await;
    TcpListener::bind(address).await.unwrap();
    assert_eq!(socket.read(&mut [0]).await.unwrap(), 0, "it is closed");
    let dropped = self::sandbox().await;
    let address = dropped.address();
    drop(dropped);
    while TcpListener::bind(address).await.is_err() {
        tokio::task::yield_now().await;
    }
}
