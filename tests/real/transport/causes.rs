//! Causes that are known at once are reported at once.

use std::time::{Duration, Instant};

use lockscope_live::zk::{Auth, ConnectError, ConnectOptions, TlsFiles, connect};
use lockscope_model::queue::ConnectionState;
use zookeeper_client::CreateMode;

use crate::harness::certificates::{replace_client, replace_server};
use crate::harness::ensemble::Ensemble;
use crate::harness::raw::Raw;
use crate::harness::relay::{Relay, op};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Running, lockscope, run};
use crate::observe::fixture::{ObserverFixture, connection, curator};

/// The time within which a cause must be reported; attempts would last as long as [`SESSION`].
const AT_ONCE: Duration = Duration::from_secs(30);

const SESSION: Duration = Duration::from_secs(300);

fn options(connect: &str) -> ConnectOptions {
    ConnectOptions { session_timeout: SESSION, ..connection(connect) }
}

/// Returns why there is no session; the cause must be known at once.
async fn cause(options: &ConnectOptions) -> ConnectError {
    let began = Instant::now();
    let error = connect(options).await.expect_err("there must be no session");
    let took = began.elapsed();
    assert!(took < AT_ONCE, "it took {took:?} to find out: {error}");
    error
}

fn secure(server: &Server, files: TlsFiles) -> ConnectOptions {
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    ConnectOptions { tls: Some(files), ..options(&at) }
}

fn by_authority(server: &Server) -> TlsFiles {
    TlsFiles { ca: server.certificates().authority.clone(), cert: None, key: None }
}

fn contains(error: &ConnectError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_future_and_foreign_certificates_are_reported_with_their_dates_and_names() {
    let mut server = Settings::default().tls(ClientCertificate::None).start();
    let files = by_authority(&server);
    let names = "DNS:localhost,IP:127.0.0.1";
    for (from, until, names, parts) in [
        ("20200101", "20210203", names, ["expired at 2021-02-03 00:00 UTC", "renewed"]),
        ("20990101", "20990203", names, ["valid from 2099-01-01 00:00 UTC only", "clock"]),
        (
            "20200101",
            "20990203",
            "DNS:zk1.example.com",
            ["a certificate for zk1.example.com only", "connect by one of these names"],
        ),
    ] {
        replace_server(server.folder(), from, until, names);
        server.restart();
        let error = cause(&secure(&server, files.clone())).await;
        contains(&error, &parts);
        assert!(error.is_permanent(), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_expired_or_future_certificate_is_reported_before_a_server_is_contacted() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let certificates = server.certificates().clone();
    let with =
        |ca| TlsFiles { ca, cert: Some(certificates.client.clone()), key: Some(certificates.client_key.clone()) };
    for (from, until, part) in [
        ("20200101", "20210203", "our own certificate expired at 2021-02-03 00:00 UTC"),
        ("20990101", "20990203", "our own certificate is valid from 2099-01-01 00:00 UTC only"),
    ] {
        replace_client(server.folder(), from, until);
        // Our certificate may be signed by another authority than the server's.
        for authority in [&certificates.authority, &certificates.stranger] {
            let nobody = ConnectOptions { tls: Some(with(authority.clone())), ..options("localhost:1") };
            for options in [secure(&server, with(authority.clone())), nobody] {
                let error = cause(&options).await;
                contains(&error, &["client.crt", part, "clock"]);
                assert!(error.is_permanent(), "{error}");
            }
        }
    }
    replace_client(server.folder(), "20200101", "20990203");
    connect(&secure(&server, with(certificates.authority.clone()))).await.expect("a session");
    let error = cause(&secure(&server, with(certificates.stranger.clone()))).await;
    contains(&error, &["the given authority did not sign"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_member_is_reported_as_such_and_waited_for() {
    let mut ensemble = tokio::task::block_in_place(Ensemble::with_read_only_mode);
    ensemble.stop(0);
    ensemble.stop(1);
    tokio::task::block_in_place(|| ensemble.await_reads_only(2));
    let alone = format!("{} is alone and serves reads only: a majority of the ensemble is down", ensemble.address(2));
    let error = cause(&options(&ensemble.connect_string())).await;
    contains(&error, &[&alone, &format!("{}, {} refused", ensemble.address(0), ensemble.address(1))]);
    assert!(!error.is_permanent());

    let at = ensemble.address(2);
    let reported = run(lockscope(&["snapshot", "--connect", &at, "--timeout", "3s"])).await.refused();
    assert!(reported.contains(&alone) && !reported.contains("waiting"), "{reported}");

    let mut fixture = ObserverFixture::with(options(&at), &[]);
    fixture
        .until("the reason", |fixture| {
            matches!(fixture.links.last(), Some(ConnectionState::Connecting { reason: Some(reason), .. })
                if reason.contains(&alone) && reason.ends_with("; waiting for a majority"))
        })
        .await;
    tokio::task::block_in_place(|| ensemble.start_again(0));
    fixture.until_live().await;
    fixture.observer.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_authorities_missing_certificates_and_the_wrong_kind_of_port_are_distinguished() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let files = by_authority(&server);

    let stranger = TlsFiles { ca: server.certificates().stranger.clone(), ..files.clone() };
    let error = cause(&secure(&server, stranger)).await;
    contains(&error, &["the given authority did not sign", "--tls-ca"]);
    assert!(error.is_permanent());

    let error = cause(&secure(&server, files.clone())).await;
    contains(&error, &["asks for a client certificate", "--tls-cert"]);
    assert!(error.is_permanent());

    let error = cause(&ConnectOptions { tls: None, ..secure(&server, files.clone()) }).await;
    contains(&error, &["wants TLS"]);
    assert!(error.is_permanent());

    let plain = server.connect_string().replace("127.0.0.1", "localhost");
    let error = cause(&ConnectOptions { connect: plain, ..secure(&server, files.clone()) }).await;
    contains(&error, &["does not speak TLS"]);
    assert!(!error.is_permanent(), "a server that starts closes the connection too");

    // A headless command ends at once, with this error alone.
    let ca = files.ca.display().to_string();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let began = Instant::now();
    let arguments = ["snapshot", "--connect", &at, "--tls-ca", &ca, "--session-timeout", "300s"];
    let sentence = run(lockscope(&arguments)).await.refused();
    assert!(sentence.contains("asks for a client certificate"), "{sentence}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_at_its_connection_limit_is_reported_with_the_setting() {
    let server = Settings::default().line("maxClientCnxns=2").start();
    let _first = Raw::connect(server.port(), 10_000);
    let _second = Raw::connect(server.port(), 10_000);
    let error = cause(&options(&server.connect_string())).await;
    contains(&error, &["closed the connection at once", "maxClientCnxns"]);
    assert!(!error.is_permanent());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_ports_hosts_and_logins_are_reported_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = free.local_addr().expect("an address").to_string();
    drop(free);
    let error = cause(&options(&at)).await;
    contains(&error, &[&format!("{at} refused the connection")]);

    let error = cause(&options("no-such-host.invalid:2181")).await;
    contains(&error, &["no-such-host.invalid:2181 is not known by that name"]);

    let server = Settings::default().sasl_user("alice", "secret").start();
    let auth = vec![Auth { scheme: "sasl".to_owned(), credentials: b"alice:wrong".to_vec() }];
    let error = cause(&ConnectOptions { auth, ..options(&server.connect_string()) }).await;
    assert!(matches!(error, ConnectError::AuthRefused { .. }), "{error}");

    // With a working server in the list, none of these errors matters.
    let all = format!("{at},no-such-host.invalid:2181,{}", server.connect_string());
    connect(&options(&all)).await.expect("a session with the one that serves");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_member_does_not_delay_the_others() {
    let server = Server::start();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("an address").to_string();
    let at = format!("{silent_at},{silent_at},{}", server.connect_string());
    let began = Instant::now();
    let fifteen = ConnectOptions { session_timeout: Duration::from_secs(15), ..options(&at) };
    connect(&fifteen).await.expect("a session with the one that answers");
    assert!(began.elapsed() < Duration::from_secs(14), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_identities_and_a_login_work_together() {
    let server = Settings::default().sasl_user("alice", "secret").start();
    let auth = |scheme: &str, credentials: &str| Auth { scheme: scheme.to_owned(), credentials: credentials.into() };
    let auths = vec![auth("sasl", "alice:secret"), auth("digest", "bob:one"), auth("digest", "carol:two")];
    let client =
        connect(&ConnectOptions { auth: auths, ..options(&server.connect_string()) }).await.expect("a session");
    let users = client.list_auth_users().await.expect("the server knows who we are");
    let names: Vec<String> = users.iter().map(|user| format!("{user:?}")).collect();
    for name in ["alice", "bob", "carol"] {
        assert!(names.iter().any(|user| user.contains(name)), "{name} is not among {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_below_a_missing_chroot_ends_at_once() {
    let server = Server::start();
    let at = format!("{}/not/there", server.connect_string());
    let commands: [&[&str]; 6] = [
        &["snapshot"],
        &["watch"],
        &["check"],
        &["delete", "/a", "--dry-run"],
        &["contend", "--path", "/a", "--rounds", "1"],
        &["compare", "--path", "/a", "--rounds", "1"],
    ];
    for command in commands {
        let began = Instant::now();
        let arguments = [command, &["--connect", &at, "--session-timeout", "300s"]].concat();
        let reported = run(lockscope(&arguments)).await.refused();
        assert!(
            reported.starts_with("the chroot /not/there does not exist in the ensemble: create it"),
            "{command:?}: {reported}"
        );
        assert!(!reported.contains("waiting"), "{command:?}: {reported}");
        assert!(began.elapsed() < AT_ONCE, "{command:?} took {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_waits_for_a_chroot_that_vanished() {
    let server = Server::start();
    let relay = Relay::start(&server.connect_string()).await;
    let client = zk::connect(&server.connect_string()).await;
    let lock = async |parent: &str| {
        zk::make(&client, [parent.to_owned()]).await;
        let wish = (format!("{parent}/{}", curator()), Vec::new());
        zk::create_all(&client, CreateMode::EphemeralSequential, [wish]).await.remove(0)
    };
    let node = lock("/app/one").await;
    let at = format!("{}/app", relay.connect_string());
    let mut watch = Running::start(lockscope(&["watch", "--connect", &at, "--server-view", "off"]));
    let mut until = async |part: &str| while !watch.line().await.expect("it goes on").contains(part) {};
    until("/one").await;
    for path in [node.as_str(), "/app/one", "/app"] {
        client.delete(path, None).await.expect("deleted");
    }
    let looked = || relay.requests().get(&op::EXISTS).copied().unwrap_or_default();
    let before = looked();
    relay.expire().await;
    eventually("two looks for the chroot", async || if looked() >= before + 2 { Ok(()) } else { Err(looked()) }).await;
    lock("/app/two").await;
    until("/two").await;
}
