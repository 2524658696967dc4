//! The ensemble's config names the members and nothing more: it cannot direct requests elsewhere.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockscope_live::zk::survey::ViewBy;
use lockscope_model::server_view::ServerView;
use tokio::net::TcpListener;
use zookeeper_client::Client;

use super::{once, options};
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::zk;
use crate::headless::program::{lockscope, run};

/// Starts a server whose config node is writable for everyone.
fn server() -> Server {
    Settings::default().property("zookeeper.skipACL=yes").start()
}

async fn configure(client: &Client, config: &str) {
    client.set_data("/zookeeper/config", config.as_bytes(), None).await.expect("everybody may write it");
}

/// Starts a listener that counts its connections.
async fn counting() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, count) = (listener.local_addr().expect("it is bound"), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (address, count)
}

fn addresses(view: &ServerView) -> Vec<&str> {
    view.members.iter().map(|member| &*member.address).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_address_is_not_contacted_and_makes_the_members_unknown() {
    let server = server();
    let client = zk::connect(&server.connect_string()).await;
    let (elsewhere, visitors) = counting().await;
    let own = format!("server.1=127.0.0.1:1:2;{}\n", server.port());
    for hostile in [
        format!("server.2=user@{elsewhere}:1:2;{}", elsewhere.port()),
        format!("server.2=127.0.0.1:1:2;{elsewhere}/latest/meta-data"),
        format!("server.2=a#@127.0.0.1:1:2;127.0.0.1#:{}", elsewhere.port()),
        format!("server.2=127.0.0.1/x:1:2;{}", elsewhere.port()),
        "server.2=zk2\r\nHost: evil:1:2;2181".to_owned(),
        "server.2=zk 2:1:2;2181".to_owned(),
        "server.2=/run/zk.sock:1:2;2181".to_owned(),
        format!("server.2={}:1:2;2181", "a".repeat(300)),
        "server.2=127.0.0.1:1:2;0".to_owned(),
        "server.2=127.0.0.1:1:2;70000".to_owned(),
    ] {
        configure(&client, &format!("{own}{hostile}\n")).await;
        for by in [ViewBy::FourLetter, ViewBy::Auto] {
            let view = once(&options(&server.connect_string(), by)).await;
            assert_eq!(addresses(&view), [server.connect_string()], "{hostile}");
            assert!(!view.members_known, "{hostile}");
        }
    }
    assert_eq!(visitors.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_configured_members_at_most_32_are_asked_and_no_metadata_address() {
    let server = server();
    let client = zk::connect(&server.connect_string()).await;
    let members: Vec<String> =
        (1..=1000).map(|id| format!("server.{id}=127.0.{}.{}:1:2;1", id / 200, 1 + id % 200)).collect();
    configure(&client, &members.join("\n")).await;
    let view = once(&options(&server.connect_string(), ViewBy::FourLetter)).await;
    assert_eq!(view.members.len(), 32);
    assert!(!view.members_known, "some are missing");

    let config = "server.1=169.254.169.254:1:2;80\nserver.2=[fe80::1]:1:2;80\nserver.3=0.0.0.0:1:2;80";
    configure(&client, config).await;
    let view = once(&options(&server.connect_string(), ViewBy::Auto)).await;
    for member in &view.members[1..] {
        let error = member.error.as_deref().unwrap_or_default();
        assert!(error.contains("only the ensemble's config names") && error.contains("connect string"), "{member:?}");
    }
    assert_eq!(view.members.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn off_asks_no_server_and_does_not_read_the_config() {
    let server = server();
    let relay = Relay::start(&server.connect_string()).await;
    run(lockscope(&["snapshot", "--connect", &relay.connect_string(), "--server-view", "off"])).await.json();
    assert_eq!(relay.accepted(), 1, "one session, no word");
    relay.record();
    run(lockscope(&["check", "--connect", &relay.connect_string(), "--server-view", "off", "--for", "2s"]))
        .await
        .json();
    assert_eq!(relay.accepted(), 2);
    let arguments =
        ["contend", "--path", "/off", "--clients", "1", "--rounds", "1", "--server-view", "off", "--connect"];
    let outcome = run(lockscope(&[&arguments[..], &[&relay.connect_string()]].concat())).await.json();
    assert!(outcome["server"].is_null(), "{outcome}");
    assert_eq!(relay.accepted(), 4, "the fleet's session and its client's");
    let asked = format!("{:?}", relay.recorded());
    assert!(!asked.contains("/zookeeper/config"), "{asked}");
}
