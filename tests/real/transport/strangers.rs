//! The program's internal ports serve no other client.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::harness::server::Server;
use crate::harness::settings::{ClientCertificate, Settings};
use crate::harness::terminal::Terminal;
use crate::harness::wait::{eventually, eventually_blocking};
use crate::headless::program::{Running, lockscope};

/// The time within which a link's port must reject a stranger.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of views with the same sessions that make these the program's own.
const ALIKE: u32 = 10;

/// Returns a handshake for a new session, as a client sends it.
fn handshake() -> Vec<u8> {
    let mut body = vec![0; 4 + 8];
    body.extend(6_000_i32.to_be_bytes());
    body.extend([0; 8]);
    body.extend(16_i32.to_be_bytes());
    body.extend([0; 17]);
    let mut frame = 45_i32.to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

/// Returns the loopback ports on which a process listens.
fn listening(pid: u32) -> Vec<u16> {
    let mut inodes = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).expect("the process runs").flatten() {
        let Ok(link) = fs::read_link(entry.path()) else { continue };
        let name = link.to_string_lossy().into_owned();
        inodes.extend(name.strip_prefix("socket:[").and_then(|name| name.strip_suffix(']')).map(str::to_owned));
    }
    let table = fs::read_to_string("/proc/net/tcp").expect("sockets");
    let port_of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(3) == Some(&"0A") && inodes.iter().any(|inode| fields.get(9) == Some(&inode.as_str()));
        let (_, port) = fields.get(1).filter(|_| listens)?.split_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    table.lines().skip(1).filter_map(port_of).collect()
}

/// Returns what a port sends to a stranger until it closes the connection.
fn answer_to_a_stranger(port: u16, says: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let _ = stream.write_all(says);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            panic!("the port stayed open, and said {answer:?}")
        }
        _ => answer,
    }
}

/// Asserts that these ports send nothing to strangers, whatever the strangers send.
fn none_is_served(ports: &[u16]) {
    for port in ports {
        for says in [handshake(), vec![0xff; 64], b"srvr".to_vec()] {
            let answer = answer_to_a_stranger(*port, &says);
            assert_eq!(answer, Vec::<u8>::new(), "a stranger was served at port {port}");
        }
    }
}

/// Asserts that every port of the program rejects strangers silently and opens nothing for them,
/// and that the program continues. The program works with all its sessions once the server's figure
/// `at_work` is large enough.
async fn sends_strangers_away(server: &Server, arguments: &[&str], ports: usize, at_work: (&str, u64)) {
    let mut program = Running::start(lockscope(arguments));
    let (figure, least) = at_work;
    let (mut previous, mut alike) = (BTreeSet::new(), 0);
    let (before, listening) = eventually("a program that is at work", async || {
        let (worth, sessions) = (server.figure(figure), sessions(server));
        // Read last: a port that could not reach a server is closed again.
        let listening = listening(program.id());
        let works = worth >= least && sessions.len() >= ports && listening.len() >= ports;
        // A session that prepares the run ends, and a server can pass over one whose expiry it just moves.
        alike = if previous == sessions { alike + 1 } else { 0 };
        previous.clone_from(&sessions);
        if works && alike >= ALIKE { Ok((sessions, listening)) } else { Err((worth, sessions, listening)) }
    })
    .await;
    tokio::task::block_in_place(|| none_is_served(&listening));
    let made: Vec<String> = sessions(server).difference(&before).cloned().collect();
    assert!(made.is_empty(), "a session was made for a stranger: {made:?}");
    eventually("the program's own sessions", async || {
        let listed = sessions(server);
        if listed.is_superset(&before) { Ok(()) } else { Err(listed) }
    })
    .await;
    // The program may be asking the server for its figures at that time.
    eventually("no connection besides the sessions", async || {
        let (connections, own) = (alive(server), before.len() as u64 + 1);
        if connections == own { Ok(()) } else { Err((connections, own)) }
    })
    .await;
    assert!(program.lines_now().iter().all(|line| !line.contains("disconnected")), "its own session was cut");
}

/// Returns all sessions, including those over TLS. Sessions that own nodes are listed again, with a
/// colon.
fn sessions(server: &Server) -> BTreeSet<String> {
    let dump = server.words("dump");
    let ids = dump.lines().map(str::trim).filter(|line| line.starts_with("0x") && !line.ends_with(':'));
    ids.map(str::to_owned).collect()
}

/// Returns the number of connections to the server, including those over TLS and the one that asks.
fn alive(server: &Server) -> u64 {
    server.figure("zk_num_alive_connections")
}

/// Returns the arguments that set a TLS identity.
fn identity(server: &Server) -> Vec<String> {
    let certificates = server.certificates();
    let files = [
        ("--tls-ca", &certificates.authority),
        ("--tls-cert", &certificates.client),
        ("--tls-key", &certificates.client_key),
    ];
    files.iter().flat_map(|(name, path)| [(*name).to_owned(), path.display().to_string()]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_links_of_test_clients_reject_strangers() {
    let server = Server::start();
    let at = server.connect_string();
    let arguments = ["contend", "--connect", &at, "--path", "/strangers", "--clients", "3", "--rounds", "1000"];
    sends_strangers_away(&server, &[&arguments[..], &["--hold", "200ms"]].concat(), 3, ("zk_ephemerals_count", 3))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_stranger_uses_the_operators_certificate_through_a_link() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let identity = identity(&server);
    let mut arguments = vec!["contend", "--connect", &at, "--path", "/strangers", "--clients", "2", "--rounds", "1000"];
    arguments.extend(["--hold", "200ms"]);
    arguments.extend(identity.iter().map(String::as_str));
    sends_strangers_away(&server, &arguments, 2, ("zk_ephemerals_count", 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_observers_port_rejects_strangers() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let identity = identity(&server);
    let mut arguments = vec!["watch", "--connect", &at, "--server-view", "off"];
    arguments.extend(identity.iter().map(String::as_str));
    sends_strangers_away(&server, &arguments, 1, ("zk_watch_count", 1)).await;
}

/// The number of test clients in the tour's first scene.
const OF_FIRST_SCENE: usize = 16;

#[test]
fn the_tour_on_an_ensemble_lends_no_stranger_its_certificate() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let identity = identity(&server);
    let mut arguments = vec!["demo", "--connect", &at, "--server-view", "off"];
    arguments.extend(identity.iter().map(String::as_str));
    let mut terminal = Terminal::lockscope(&arguments, 160, 45);
    terminal.shows_all(&["1/8", "herd ── 8 clients", "chain ── 8 clients"]);
    let ports = eventually_blocking("a port for each test client, and more", || {
        let (found, connections) = (listening(terminal.id()), alive(&server));
        let all = found.len() > OF_FIRST_SCENE && connections > OF_FIRST_SCENE as u64;
        if all { Ok(found) } else { Err((found.len(), connections)) }
    });
    none_is_served(&ports);
    // The test clients, for which the ports exist, are still served.
    assert!(alive(&server) > OF_FIRST_SCENE as u64, "{} connections are left", alive(&server));
    terminal.press("nnn");
    terminal.shows_all(&["1/8", "4 of 4", "herd ", "chain "]);
}
