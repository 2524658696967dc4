//! Connecting, and the messages about failures.

use std::time::Duration;

use lockscope_base::znode::ZnodePath;
use lockscope_live::zk::{Auth, ConnectError, ConnectOptions, TlsFiles, connect};
use lockscope_model::queue::ConnectionState;
use zookeeper_client::CreateMode;

use super::fixture::{ObserverFixture, connection, curator};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::zk;

fn tls(server: &Server) -> ConnectOptions {
    let certificates = server.certificates();
    let files = TlsFiles {
        ca: certificates.authority.clone(),
        cert: Some(certificates.client.clone()),
        key: Some(certificates.client_key.clone()),
    };
    ConnectOptions { tls: Some(files), ..connection(&server.secure_connect_string().replace("127.0.0.1", "localhost")) }
}

async fn refusal(options: &ConnectOptions) -> ConnectError {
    connect(options).await.expect_err("it must not succeed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_a_chroot_only_its_nodes_are_seen() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/app/locks".to_owned(), "/other".to_owned()]).await;
    for parent in ["/app/locks", "/other"] {
        zk::create_all(&client, CreateMode::EphemeralSequential, [(format!("{parent}/{}", curator()), Vec::new())])
            .await;
    }
    let mut fixture = ObserverFixture::start(&format!("{}/app", server.connect_string()));
    fixture.until_contenders(1).await;
    let wishes = [(format!("/app/locks/{}", curator()), Vec::new())];
    zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    fixture.until_contenders(2).await;
    assert!(fixture.table.find(&ZnodePath::new("/locks").expect("a path"), None).is_some());
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_chroot_is_named_and_waited_for() {
    let server = Server::start();
    let options = connection(&format!("{}/not/there", server.connect_string()));
    let error = refusal(&options).await;
    assert!(error.to_string().contains("the chroot /not/there does not exist"), "{error}");
    let mut fixture = ObserverFixture::with(options, &[]);
    fixture
        .until("the reason", |fixture| {
            matches!(fixture.links.last(), Some(ConnectionState::Connecting { reason: Some(reason), .. }) if reason.contains("chroot")
                && reason.ends_with("waiting until it exists"))
        })
        .await;
    zk::make(&zk::connect(&server.connect_string()).await, ["/not/there".to_owned()]).await;
    fixture.until_live().await;
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_works_and_wrong_ports_and_strangers_are_told_apart() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let secure = tls(&server);
    connect(&secure).await.expect("a session over TLS");

    let plain = ConnectOptions { tls: None, ..secure.clone() };
    let error = refusal(&plain).await;
    assert!(error.to_string().contains("wants TLS"), "{error}");

    let wrong_port = server.connect_string().replace("127.0.0.1", "localhost");
    let error = refusal(&ConnectOptions { connect: wrong_port, ..secure.clone() }).await;
    assert!(error.to_string().contains("does not speak TLS"), "{error}");

    let files = TlsFiles { ca: server.certificates().stranger.clone(), cert: None, key: None };
    let error = refusal(&ConnectOptions { tls: Some(files), ..secure }).await;
    assert!(error.to_string().contains("did not sign"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_open_closed_nodes_and_wrong_ones_end_the_observer() {
    let server = Settings::default().sasl_user("alice", "secret").start();
    let login = |credentials: &[u8]| ConnectOptions {
        auth: vec![Auth { scheme: "sasl".to_owned(), credentials: credentials.to_vec() }],
        ..connection(&server.connect_string())
    };
    connect(&login(b"alice:secret")).await.expect("a session with a login");
    let error = refusal(&login(b"alice:wrong")).await;
    assert!(matches!(error, ConnectError::AuthRefused { .. }) && error.is_permanent(), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");

    let mut fixture = ObserverFixture::with(login(b"alice:wrong"), &[]);
    fixture.until("the refusal", |fixture| matches!(fixture.links.last(), Some(ConnectionState::Refused { .. }))).await;
    assert!(fixture.observer.next().await.is_none());

    let unknown = Auth { scheme: "no-such-scheme".to_owned(), credentials: b"x".to_vec() };
    let error = refusal(&ConnectOptions { auth: vec![unknown], ..connection(&server.connect_string()) }).await;
    assert!(matches!(error, ConnectError::AuthRefused { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn digest_credentials_open_closed_nodes() {
    use zookeeper_client::{Acl, AuthId, Permission};
    let server = Server::start();
    let auth = Auth { scheme: "digest".to_owned(), credentials: b"alice:secret".to_vec() };
    let options = ConnectOptions { auth: vec![auth], ..connection(&server.connect_string()) };
    let alice = connect(&options).await.expect("a session");
    zk::make(&alice, ["/closed/a".to_owned()]).await;
    let wishes = [(format!("/closed/a/{}", curator()), Vec::new())];
    zk::create_all(&alice, CreateMode::EphemeralSequential, wishes).await;
    alice.set_acl("/closed", &[Acl::new(Permission::ALL, AuthId::authed())], None).await.expect("closed");

    let mut stranger = ObserverFixture::start(&server.connect_string());
    stranger.until_live().await;
    assert_eq!((stranger.table.lock_count(), stranger.table.unreadable().len()), (0, 1));
    let mut friend = ObserverFixture::with(options, &[]);
    friend.until_contenders(1).await;
    friend.observer.stop().await;
    stranger.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_server_delays_an_attempt_only_briefly() {
    let server = Server::in_own_process();
    server.pause();
    let options = ConnectOptions { session_timeout: Duration::from_secs(2), ..connection(&server.connect_string()) };
    let error = tokio::time::timeout(Duration::from_secs(30), refusal(&options)).await.expect("in time");
    server.resume();
    assert!(error.to_string().contains("stayed silent"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_freezes_in_use_is_not_taken_for_another_port() {
    let server = Server::in_own_process();
    let options = ConnectOptions { session_timeout: Duration::from_secs(4), ..connection(&server.connect_string()) };
    let mut fixture = ObserverFixture::with(options, &[]);
    fixture.until_live().await;
    server.pause();
    let hangs = |fixture: &ObserverFixture| {
        fixture.links.iter().any(|link| format!("{link:?}").contains("though it did before"))
    };
    fixture.until("that the server hangs", hangs).await;
    assert!(!fixture.links.iter().any(|link| format!("{link:?}").contains("client port")), "{:?}", fixture.links);
    server.resume();
    fixture.observer.stop().await;
}
