//! Ports that the program listens on for itself serve nobody else.

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

/// How long the port of a link may take to send a stranger away.
const PATIENCE: Duration = Duration::from_secs(10);

/// A handshake for a new session, as a client sends it.
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

/// The loopback ports on which a process listens.
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

/// What a stranger gets from a port for its handshake, until it is closed.
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

/// Each of these ports says nothing to strangers, whatever they say.
fn none_is_served(ports: &[u16]) {
    for port in ports {
        for says in [handshake(), vec![0xff; 64], b"srvr".to_vec()] {
            let answer = answer_to_a_stranger(*port, &says);
            assert_eq!(answer, Vec::<u8>::new(), "a stranger was served at port {port}");
        }
    }
}

/// Every port of the program sends strangers away without a word and opens nothing for them, and the program goes on. It is at
/// work, with all its sessions, when that figure of the server is so large.
async fn sends_strangers_away(server: &Server, arguments: &[&str], ports: usize, at_work: (&str, u64)) {
    let mut program = Running::start(lockscope(arguments));
    let (figure, least) = at_work;
    let (before, listening) = eventually("a program that is at work", async || {
        let (worth, sessions) = (server.figure(figure), sessions(server));
        // Asked last: a port through which no server could be reached is closed again.
        let listening = listening(program.id());
        let works = worth >= least && sessions.len() >= ports && listening.len() >= ports;
        if works { Ok((sessions, listening)) } else { Err((worth, sessions, listening)) }
    })
    .await;
    tokio::task::block_in_place(|| none_is_served(&listening));
    assert_eq!(sessions(server), before, "a session was made for a stranger, or one of the program's own was cut");
    // The program may ask the server for its figures just then.
    eventually("no connection besides the sessions", async || {
        let (connections, own) = (alive(server), before.len() as u64 + 1);
        if connections == own { Ok(()) } else { Err((connections, own)) }
    })
    .await;
    assert!(program.lines_now().iter().all(|line| !line.contains("disconnected")), "its own session was cut");
}

/// All sessions, over TLS too. Those that own nodes are listed a second time, with a colon.
fn sessions(server: &Server) -> BTreeSet<String> {
    let dump = server.words("dump");
    let ids = dump.lines().map(str::trim).filter(|line| line.starts_with("0x") && !line.ends_with(':'));
    ids.map(str::to_owned).collect()
}

/// Connections to the server, over TLS too, and the one that asks.
fn alive(server: &Server) -> u64 {
    server.figure("zk_num_alive_connections")
}

/// The arguments that give a TLS identity.
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
async fn the_links_of_test_clients_serve_no_stranger() {
    let server = Server::start();
    let at = server.connect_string();
    let arguments = ["contend", "--connect", &at, "--path", "/strangers", "--clients", "3", "--rounds", "1000"];
    sends_strangers_away(&server, &[&arguments[..], &["--hold", "200ms"]].concat(), 3, ("zk_ephemerals_count", 3))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_links_of_test_clients_lend_nobody_the_operators_certificate() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let identity = identity(&server);
    let mut arguments = vec!["contend", "--connect", &at, "--path", "/strangers", "--clients", "2", "--rounds", "1000"];
    arguments.extend(["--hold", "200ms"]);
    arguments.extend(identity.iter().map(String::as_str));
    sends_strangers_away(&server, &arguments, 2, ("zk_ephemerals_count", 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_observers_own_session_serves_no_stranger() {
    let server = Settings::default().tls(ClientCertificate::Need).start();
    let at = server.secure_connect_string().replace("127.0.0.1", "localhost");
    let identity = identity(&server);
    let mut arguments = vec!["watch", "--connect", &at, "--server-view", "off"];
    arguments.extend(identity.iter().map(String::as_str));
    sends_strangers_away(&server, &arguments, 1, ("zk_watch_count", 1)).await;
}

/// How many test clients the tour's first scene has.
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
    // Whom the ports are for is served all the same.
    assert!(alive(&server) > OF_FIRST_SCENE as u64, "{} connections are left", alive(&server));
    terminal.press("nnn");
    terminal.shows_all(&["1/8", "4 of 4", "/herd", "/chain"]);
}
