//! What is known at once is said at once, and by its cause.

use std::time::{Duration, Instant};

use lockscope::zk::{Auth, ConnectError, ConnectOptions, TlsFiles, connect};

use crate::harness::certificates::replace_server;
use crate::harness::raw::Raw;
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::headless::program::{lockscope, run};

/// How long a cause may take to be known. Attempts would last fifteen seconds.
const AT_ONCE: Duration = Duration::from_secs(5);

fn options(connect: &str) -> ConnectOptions {
    ConnectOptions {
        connect: connect.to_owned(),
        session_timeout: Duration::from_secs(15),
        auth: Vec::new(),
        tls: None,
    }
}

/// Why there is no session, which is known at once.
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
async fn certificates_that_are_too_old_too_new_or_for_others_are_told_with_their_dates_and_names() {
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
            ["a certificate for zk1.example.com only", "connect by a name"],
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
async fn wrong_authorities_missing_certificates_and_the_wrong_kind_of_port_are_told_apart() {
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
    assert!(error.is_permanent());

    // A headless command ends at once, and says no more than that.
    let ca = files.ca.display().to_string();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let began = Instant::now();
    let sentence = run(lockscope(&["snapshot", "--connect", &at, "--tls-ca", &ca])).await.refused();
    assert!(sentence.contains("asks for a client certificate"), "{sentence}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_more_connections_is_told_with_the_setting() {
    let server = Settings::default().line("maxClientCnxns=2").start();
    let _first = Raw::connect(server.port(), 10_000);
    let _second = Raw::connect(server.port(), 10_000);
    let error = cause(&options(&server.connect_string())).await;
    contains(&error, &["closed the connection at once", "maxClientCnxns"]);
    assert!(!error.is_permanent());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_hosts_and_logins_are_told_at_once() {
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

    // Among others that serve, none of it matters.
    let all = format!("{at},no-such-host.invalid:2181,{}", server.connect_string());
    connect(&options(&all)).await.expect("a session with the one that serves");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_accepts_and_stays_silent_does_not_hold_up_the_others() {
    let server = Server::start();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("an address").to_string();
    let at = format!("{silent_at},{silent_at},{}", server.connect_string());
    let began = Instant::now();
    connect(&options(&at)).await.expect("a session with the one that answers");
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
