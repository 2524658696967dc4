//! Input that no client should send: it ends the connection for a logged reason and affects no
//! other client.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;

use lockscope_sandbox::{Sandbox, SandboxConfig};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::raw::{ANYONE, Jute, Raw, Request as R, Watches, open};
use crate::harness::wait::PATIENCE;
use crate::harness::wait::eventually_blocking;
use crate::harness::words;

struct Guest {
    _runtime: Runtime,
    sandbox: Sandbox,
}

impl Guest {
    fn with(options: SandboxConfig) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let sandbox = runtime.block_on(async {
            Sandbox::start(TcpListener::bind("127.0.0.1:0").await.expect("a port"), options).expect("it starts")
        });
        Self { _runtime: runtime, sandbox }
    }

    fn port(&self) -> u16 {
        self.sandbox.address().port()
    }

    fn connections(&self) -> usize {
        let answer = words::ask(self.port(), "mntr", PATIENCE).expect("an answer");
        // Without the connection that asks.
        words::figure(&answer, "zk_num_alive_connections")
            .expect("a figure")
            .try_into()
            .map(|count: usize| count - 1)
            .expect("few")
    }
}

/// Returns whether the server closes the connection without an answer.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map_or(true, |_| rest.is_empty())
}

fn handshake() -> Vec<u8> {
    let mut body = Vec::new();
    body.put_int(0).put_long(0).put_int(5000).put_long(0).put_buffer(Some(&[0; 16]));
    let mut frame = Vec::new();
    frame.put_buffer(Some(&body));
    frame
}

#[test]
fn bytes_that_are_no_frames_close_only_their_connection() {
    let guest = Guest::with(SandboxConfig::default());
    let mut bystander = Raw::connect(guest.port(), 30_000);
    let after_handshake = |bytes: &[u8]| [handshake(), bytes.to_vec()].concat();
    let hostile: [(&str, Vec<u8>); 8] = [
        ("a negative length", vec![0xff; 64]),
        ("a huge length", vec![0x7f, 0xff, 0xff, 0xff, 0]),
        ("a web browser", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("an unknown word", b"kill".to_vec()),
        ("an empty handshake", vec![0; 4]),
        ("a frame without a header", after_handshake(&[0, 0, 0, 3, 1, 2, 3])),
        ("an empty frame", after_handshake(&[0; 4])),
        ("a huge frame", after_handshake(&[0, 0x10, 0, 0, 1, 2])),
    ];
    for (what, bytes) in hostile {
        let mut stream = open(guest.port()).expect("a connection");
        stream.write_all(&bytes).expect("it is sent");
        if bytes.starts_with(&handshake()) {
            let mut length = [0; 4];
            stream.read_exact(&mut length).expect("a greeting");
            let mut greeting = vec![0; usize::try_from(i32::from_be_bytes(length)).expect("a length")];
            stream.read_exact(&mut greeting).expect("a greeting");
        }
        assert!(is_closed(&mut stream), "{what}");
        assert_eq!(bystander.ask(&R::exists("/", false)).len(), 1, "{what}");
    }
}

#[test]
fn partial_frames_wait_and_end_with_their_connection() {
    let guest = Guest::with(SandboxConfig::default());
    let whole = [handshake(), vec![0, 0, 0, 8, 0, 0, 0, 1]].concat();
    for cut in [1, 3, 4, 5, 20, handshake().len() + 2, whole.len()] {
        let mut stream = open(guest.port()).expect("a connection");
        for byte in &whole[..cut] {
            stream.write_all(&[*byte]).expect("it is sent");
        }
        stream.shutdown(Shutdown::Write).expect("it is open");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is closed");
    }
    eventually_blocking("that all are gone", || match guest.connections() {
        0 => Ok(()),
        more => Err(more),
    });
}

#[test]
fn one_connection_too_many_is_refused_until_another_closes() {
    let guest = Guest::with(SandboxConfig { max_connections: 3, max_sessions: 2, ..SandboxConfig::default() });
    let first = Raw::connect(guest.port(), 30_000);
    let _second = Raw::connect(guest.port(), 30_000);
    assert!(Raw::resume(guest.port(), 30_000, 0, &[0; 16], 0).is_err(), "a third session");
    let held = open(guest.port()).expect("a third connection");
    assert!(is_closed(&mut open(guest.port()).expect("it is accepted before it is refused")));
    drop(held);
    first.close();
    eventually_blocking("a place", || Raw::resume(guest.port(), 30_000, 0, &[0; 16], 0));
}

#[test]
fn requests_beyond_the_memory_limit_are_refused() {
    let guest = Guest::with(SandboxConfig { max_memory: 100_000, ..SandboxConfig::default() });
    let mut client = Raw::connect(guest.port(), 30_000);
    let large = vec![0; 100_000];
    let mut error = |request: &R| client.ask(request).pop().expect("a reply").error;
    assert_eq!(error(&R::create_as(1, "/small", Some(&[0; 100]), &[ANYONE], 0)), 0);
    assert_eq!(error(&R::create_as(1, "/large", Some(&large), &[ANYONE], 0)), -125);
    assert_eq!(error(&R::set_data("/small", Some(&large), -1)), -125);
    let watch = (0..1000).find(|n| error(&R::exists(&format!("/{}{n}", "x".repeat(1000)), true)) == -125);
    assert!(watch.is_some_and(|n| n > 10), "{watch:?}");
    let lists = ["y"; 200].map(|name| name.repeat(900));
    let many: Vec<&str> = lists.iter().map(String::as_str).collect();
    assert_eq!(error(&R::set_watches(0, Watches { exist: &many, ..Watches::default() })), -125);
    assert_eq!(error(&R::set_data("/small", Some(&[0; 10]), -1)), 0, "what needs less goes on");
    assert_eq!(error(&R::delete("/small", -1)), 0);
}

#[test]
fn a_client_that_does_not_read_is_closed_and_others_continue() {
    let guest = Guest::with(SandboxConfig { max_unread: 1 << 20, ..SandboxConfig::default() });
    let (mut deaf, mut client) = (Raw::connect(guest.port(), 30_000), Raw::connect(guest.port(), 30_000));
    client.ask(&R::create(&format!("/{}", "n".repeat(60_000)), 0));
    deaf.ask(&R::add_watch("/", 1));
    let request = R::set_data(&format!("/{}", "n".repeat(60_000)), None, -1);
    // The content of the sockets' buffers comes on top of what the server buffers.
    eventually_blocking("that it is closed", || {
        for _ in 0..20 {
            assert_eq!(client.ask(&request).pop().expect("a reply").error, 0);
        }
        match guest.connections() {
            1 => Ok(()),
            more => Err(more),
        }
    });
}

#[test]
fn a_connection_without_a_request_is_closed_and_a_session_stays() {
    let timeout = std::time::Duration::from_millis(300);
    let guest = Guest::with(SandboxConfig { handshake_timeout: timeout, sweep: PATIENCE, ..SandboxConfig::default() });
    let mut client = Raw::connect(guest.port(), 30_000);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| open(guest.port()).expect("a connection")).collect();
    for (n, stream) in silent.iter_mut().enumerate() {
        stream.write_all(&handshake()[..n]).expect("it is sent");
    }
    for stream in &mut silent {
        assert!(is_closed(stream));
    }
    eventually_blocking("that the session alone is left", || match guest.connections() {
        1 => Ok(()),
        more => Err(more),
    });
    assert_eq!(client.ask(&R::exists("/", false)).len(), 1);
}

#[test]
fn clients_that_never_read_replies_are_closed_and_others_are_served() {
    let guest = Guest::with(SandboxConfig { max_buffered: 8 << 20, ..SandboxConfig::default() });
    let mut client = Raw::connect(guest.port(), 30_000);
    client.ask(&R::create_as(1, "/large", Some(&vec![7; 1_000_000]), &[ANYONE], 0));
    // Each is to receive more than a megabyte, besides the content of the sockets' buffers.
    let mut deaf: Vec<Raw> = (0..40).map(|_| Raw::connect(guest.port(), 30_000)).collect();
    eventually_blocking("that some are closed", || {
        for one in &mut deaf {
            for _ in 0..8 {
                one.send(&R::get_data("/large", false));
            }
        }
        assert_eq!(client.ask(&R::get_data("/large", false)).len(), 1, "who reads is served");
        match guest.connections() {
            left if left <= 20 => Ok(()),
            more => Err(more),
        }
    });
}

#[test]
fn a_reply_that_would_be_too_large_is_refused() {
    let guest = Guest::with(SandboxConfig::default());
    let mut client = Raw::connect(guest.port(), 30_000);
    client.ask(&R::create_as(1, "/large", Some(&vec![7; 1_000_000]), &[ANYONE], 0));
    let reads: Vec<R> = (0..1000).map(|_| R::get_data("/large", false)).collect();
    assert_eq!(client.ask(&R::multi_read(&reads)).pop().expect("a reply").error, -125);
    assert_eq!(client.ask(&R::multi_read(&reads[..3])).pop().expect("a reply").error, 0);
}

#[test]
fn the_log_says_why_a_connection_was_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut program = Command::new(env!("CARGO_BIN_EXE_lockscope"))
        .args(["sandbox", "--port", "0", "--log-file"])
        .arg(&log)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(program.stdout.take().expect("piped")), &mut line)
        .expect("a line");
    let port =
        line.trim_end_matches(['"', '}', '\n']).rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    open(port).expect("a connection").write_all(&[0xff; 8]).expect("it is sent");
    let said = eventually_blocking("a line of the log", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.contains("a frame of -1 bytes") { Ok(text) } else { Err(text) }
    });
    assert!(said.contains("WARN") && said.contains("closed a connection") && said.contains("127.0.0.1:"), "{said}");
    program.kill().expect("it runs");
    program.wait().expect("it ends");
}
