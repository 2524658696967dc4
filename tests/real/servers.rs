//! Tests of the harness: servers start, obey and stop.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use zookeeper_client::{Client, CreateMode, SaslOptions, TlsCa, TlsCerts, TlsIdentity, TlsOptions};

use crate::harness::process::{await_end_of, process_runs};
use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::wait::{PATIENCE, eventually, eventually_blocking};
use crate::harness::{foreign::Foreign, words, zk};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_starts_again_with_its_port_its_tree_and_its_sessions() {
    for mut server in [Server::start(), Server::in_own_process()] {
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/kept/here".to_owned()]).await;
        let session = zk::session_of(&client);

        server.stop();
        TcpStream::connect(server.connect_string()).expect_err("nobody listens");
        server.restart();

        let read = eventually("a read over the restart", async || client.get_data("/kept/here").await).await;
        assert_eq!(read.0, b"");
        assert_eq!(zk::session_of(&client), session);
    }
}

#[test]
fn a_server_ends_with_its_value_even_when_a_test_panics() {
    for start in [Server::start, Server::in_own_process] {
        let seen = Mutex::new(None);
        let failed = std::panic::catch_unwind(|| {
            let server = start();
            *seen.lock().unwrap() = Some((server.connect_string(), server.folder().to_owned()));
            panic!("as a failing test would");
        });
        assert!(failed.is_err());
        let (address, folder) = seen.into_inner().unwrap().expect("the server had started");
        await_end_of_listener(&address);
        assert!(!folder.exists());
    }
}

#[test]
fn a_killed_test_process_leaves_no_server_and_no_foreign_client() {
    let mut test = Command::new(std::env::current_exe().expect("a test knows its program"))
        .args(["--ignored", "--exact", "--nocapture", "servers::starts_everything_and_never_ends"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test's own program starts");
    let output = BufReader::new(test.stdout.take().expect("it is piped"));
    let started: Vec<String> = output
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("started ")?.1.split(' ').map(str::to_owned).collect()))
        .expect("the other half prints what it started");
    let (pids, addresses) = started.split_at(3);
    let pids: Vec<u32> = pids.iter().map(|pid| pid.parse().expect("a process id")).collect();
    assert_eq!(addresses.len(), 2);
    assert!(pids.iter().all(|pid| process_runs(*pid)));

    test.kill().expect("it runs");
    test.wait().expect("it was killed");
    pids.into_iter().for_each(await_end_of);
    for address in addresses {
        await_end_of_listener(address);
    }
}

fn await_end_of_listener(address: &str) {
    eventually_blocking("the end of a server", || match TcpStream::connect(address) {
        Ok(_) => Err("it listens"),
        Err(_) => Ok(()),
    });
}

#[test]
#[ignore = "the other half of a_killed_test_process_leaves_no_server_and_no_foreign_client, which runs and kills it"]
fn starts_everything_and_never_ends() {
    let (own, hosted) = (Server::in_own_process(), Server::start());
    let at = hosted.connect_string();
    let (java, kazoo) = (Foreign::java_process(&at), Foreign::kazoo(&at));
    println!("started {} {} {} {at} {}", own.pid(), java.pid(), kazoo.pid(), Server::shared().connect_string());
    loop {
        std::thread::park();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_one_process_count_their_own_watch_events_only() {
    let (busy, quiet) = (Server::start(), Server::start());
    let client = zk::connect(&busy.connect_string()).await;
    zk::make(&client, ["/busy".to_owned()]).await;
    for _ in 0..5 {
        let (_, _, watcher) = client.get_and_watch_data("/busy").await.expect("it can be read");
        client.set_data("/busy", b"", None).await.expect("it can be written");
        watcher.changed().await;
    }
    assert_eq!(busy.figure("zk_sum_node_changed_watch_count"), 5);
    assert_eq!(quiet.figure("zk_sum_node_changed_watch_count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_of_a_dropped_java_client_stays_until_its_session_expires() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let mut java = Foreign::java(&server.connect_string());
    let session = java.connect_within("a", Duration::from_secs(4)).await;
    java.start("a", "first", "mutex", "/lock").await;
    java.held("first").await;
    drop(java);

    assert_eq!(server.connection_of(session), None);
    assert_eq!(client.list_children("/lock").await.expect("the parent stays").len(), 1);
    eventually("the expiry", async || match client.list_children("/lock").await {
        Ok(names) if names.is_empty() => Ok(()),
        other => Err(other),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_server_answers_nothing_until_it_resumes() {
    let server = Server::in_own_process();
    let client = zk::connect(&server.connect_string()).await;
    server.pause();
    let answer = words::ask(server.port(), "srvr", Duration::from_millis(300));
    assert!(answer.is_err(), "a frozen server answered {answer:?}");
    let read = client.get_data("/");
    server.resume();
    read.await.expect("the request waited for the server");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_counts_the_packets_of_a_session() {
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    let session = zk::session_of(&client);
    let received = || server.connection_of(session).expect("it is connected").received;

    client.get_data("/").await.expect("the root can be read");
    let before = received();
    for _ in 0..10 {
        client.get_data("/").await.expect("the root can be read");
    }
    assert_eq!(received() - before, 10);

    let watch = client.list_and_watch_children("/").await.expect("the root can be listed").1;
    assert_eq!(server.figure("zk_watch_count"), 1);
    drop(watch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_nodes_are_made_read_and_deleted() {
    let client = zk::connect(&zk::own_root("many").await).await;
    zk::make(&client, ["/queue".to_owned()]).await;
    let wishes = (0..2_000).map(|i| ("/queue/lock-".to_owned(), format!("contender {i}").into_bytes()));
    let paths = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;
    let nodes = zk::tree(&client, "/").await;
    assert_eq!(nodes[0].path, "/queue");
    assert!(nodes[1..].iter().map(|node| &node.path).eq(&paths));
    assert_eq!(nodes[2_000].data, b"contender 1999");
    zk::delete_all(&client, paths).await;
    assert_eq!(zk::tree(&client, "/").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_accepts_packets_up_to_its_limit() {
    let server = Settings::default().jute_maxbuffer(4 << 20).start();
    let client = zk::connect(&server.connect_string()).await;
    let data = vec![b'x'; 2 << 20];
    client.create("/big", &data, &zk::open(CreateMode::Persistent)).await.expect("it is below the bound");
    assert_eq!(client.get_data("/big").await.expect("it was created").0.len(), data.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_without_a_client_expires_soon() {
    let server = Settings::default().tick(Duration::from_millis(100)).start();
    let timeout = Duration::from_secs(2);
    let connector = Client::connector().with_session_timeout(timeout).with_detached();
    // The client gives up after the session's own timeout, which may pass on a busy machine.
    let connect = async || connector.clone().connect(&server.connect_string()).await;
    let gone = eventually("a session", connect).await;
    assert_eq!(gone.session_timeout(), timeout);
    gone.create("/lock", b"", &zk::open(CreateMode::Ephemeral)).await.expect("a node");
    drop(gone);
    let client = zk::connect(&server.connect_string()).await;
    eventually("the end of the node with its session", async || match client.check_stat("/lock").await {
        Ok(None) => Ok(()),
        seen => Err(seen),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tls_server_is_trusted_only_by_its_authority() {
    let server = Settings::default().tls(ClientCertificate::None).start();
    let certificates = server.certificates();
    secure(&server, &certificates.authority, false).await.expect("the authority is the server's");
    secure(&server, &certificates.stranger, false).await.expect_err("the authority is a stranger");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tls_server_may_ask_for_a_client_certificate() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let authority = &server.certificates().authority;
    secure(&server, authority, true).await.expect("the certificate is shown");
    secure(&server, authority, false).await.expect_err("no certificate is shown");
}

async fn secure(
    server: &Server,
    authority: &std::path::Path,
    identity: bool,
) -> Result<Client, zookeeper_client::Error> {
    let read = |path| std::fs::read_to_string(path).expect("the harness wrote it");
    let mut certs = TlsCerts::builder().with_ca(TlsCa::from_pem(&read(authority))?);
    if identity {
        let files = server.certificates();
        certs = certs.with_identity(TlsIdentity::from_pem(&read(&files.client), &read(&files.client_key))?);
    }
    let options = TlsOptions::default().with_certs(certs.build()?);
    let connector = Client::connector().with_session_timeout(PATIENCE).with_tls(options).with_fail_eagerly();
    connector.secure_connect(&server.secure_connect_string()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_sasl_users_knows_their_passwords() {
    let server = Settings::default().sasl_user("alice", "secret").line("sessionRequireClientSASLAuth=true").start();
    let connect = async |password| {
        let sasl = SaslOptions::digest_md5("alice", password);
        let client = Client::connector()
            .with_session_timeout(PATIENCE)
            .with_sasl(sasl)
            .connect(&server.connect_string())
            .await?;
        client.get_data("/").await
    };
    connect("secret").await.expect("the password is right");
    connect("wrong").await.expect_err("the password is wrong");
}
