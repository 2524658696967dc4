//! An unreachable ensemble: how long each command waits, and its message.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{DEADLINE, UNUSED_ADDRESS, home, lockscope, ran, refused};

#[test]
fn an_unreachable_ensemble_is_reported_within_the_given_time() {
    let home = home();
    for command in ["snapshot", "watch"] {
        let began = Instant::now();
        let stderr = refused(lockscope(home.path(), &[command, "--connect", UNUSED_ADDRESS, "--timeout", "500ms"]));
        assert!(stderr.contains(UNUSED_ADDRESS) && stderr.contains("--timeout"), "{stderr}");
        assert!(began.elapsed() < DEADLINE);
    }
}

#[test]
fn a_command_that_reads_once_does_not_wait_for_a_server_that_refuses() {
    let home = home();
    for command in ["snapshot", "check"] {
        let began = Instant::now();
        let stderr = refused(lockscope(home.path(), &[command, "--connect", UNUSED_ADDRESS]));
        for part in [UNUSED_ADDRESS, "gave up after 3 tries", "refused the connection", "--timeout"] {
            assert!(stderr.contains(part), "{stderr}");
        }
        assert!(!stderr.contains("lockscope demo"), "an address was given: {stderr}");
        // Otherwise the command takes 15 s.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[test]
fn a_command_that_waits_reports_a_refused_connection_at_once() {
    let home = home();
    for command in [&["watch"][..], &["snapshot", "--timeout", "20s"]] {
        let arguments = [command, &["--connect", UNUSED_ADDRESS]].concat();
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
            .args(&arguments)
            .env_clear()
            .env("HOME", home.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs");
        let began = Instant::now();
        let mut first = String::new();
        BufReader::new(child.stderr.take().expect("stderr")).read_line(&mut first).expect("a line");
        let waited = began.elapsed();
        child.kill().expect("it still tries");
        child.wait().expect("it ended");
        assert!(first.contains("refused the connection") && first.contains("trying again for another"), "{first}");
        assert!(waited < Duration::from_secs(10), "{command:?} {waited:?}");
    }
}

#[test]
fn without_a_named_server_the_error_says_how_to_name_one_and_names_the_demo() {
    let home = home();
    for command in [
        &["snapshot", "--timeout", "300ms"][..],
        &["contend", "--path", "/a", "--timeout", "300ms"],
        &["compare", "--timeout", "300ms"],
        &["delete", "/a", "--dry-run", "--timeout", "300ms"],
    ] {
        let named = refused(lockscope(home.path(), &[command, &["--connect", UNUSED_ADDRESS]].concat()));
        assert!(!named.contains("ZOOKEEPER_CONNECT"), "{named}");
        // A server may be running at the default address of this machine.
        let (code, _, stderr) = ran(lockscope(home.path(), command));
        if code == 2 {
            for part in ["localhost:2181", "--connect", "ZOOKEEPER_CONNECT", "lockscope demo"] {
                assert!(stderr.contains(part), "{command:?}: {stderr}");
            }
        }
    }
}

#[test]
fn test_clients_without_a_session_are_reported_within_the_given_time() {
    let home = home();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address").to_string();
    for command in [&["contend", "--path", "/a"][..], &["compare"]] {
        let arguments = [command, &["--connect", &silent, "--timeout", "500ms"]].concat();
        let stderr = refused(lockscope(home.path(), &arguments));
        assert!(
            stderr.contains(&silent) && stderr.contains("no test client") && stderr.contains("--timeout"),
            "{stderr}"
        );
        let arguments = [command, &["--connect", UNUSED_ADDRESS]].concat();
        let stderr = refused(lockscope(home.path(), &arguments));
        assert!(stderr.contains(UNUSED_ADDRESS), "{stderr}");
    }
}

/// A server of the program, which ends with the value.
struct Sandbox(Child);

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server; returns its address, too.
fn sandbox() -> (Sandbox, String) {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"));
    command.args(["sandbox", "--port", "0"]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let address = line.split('"').find(|part| part.starts_with("127.")).expect("an address").to_owned();
    (Sandbox(child), address)
}

/// Returns the next frame with its length.
fn frame(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut frame = length.to_vec();
    from.take(u32::from_be_bytes(length).into()).read_to_end(&mut frame)?;
    Ok(frame)
}

/// Serves one client: passes its requests on, and so many frames of the server back.
fn pass(mut client: TcpStream, server: &str, frames: usize) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let (mut requests, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || std::io::copy(&mut requests, &mut to));
    for count in 0.. {
        let frame = frame(&mut server)?;
        if count < frames {
            client.write_all(&frame)?;
        }
    }
    Ok(())
}

/// Returns the address of a relay to a server that gives each connection so many answers. Four-letter
/// words get none.
fn relay(server: &str, frames: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = server.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = server.clone();
            thread::spawn(move || pass(client, &server, frames));
        }
    });
    address
}

#[test]
fn a_command_that_reads_once_ends_in_time_whatever_a_server_leaves_unanswered() {
    let (home, (_sandbox, server)) = (home(), sandbox());
    let relays: Vec<String> = [0, 1, 2, 3, 4, 1_000].map(|frames| relay(&server, frames)).into();
    let timeout = Duration::from_secs(4);
    thread::scope(|scope| {
        for (address, command) in relays.iter().flat_map(|relay| ["snapshot", "members"].map(|name| (relay, name))) {
            let home = home.path();
            scope.spawn(move || {
                let began = Instant::now();
                let (_, _, stderr) = ran(lockscope(home, &[command, "--connect", address, "--timeout", "4s"]));
                let took = began.elapsed();
                // Half a second more for a busy machine.
                let most = timeout + Duration::from_millis(1_500);
                assert!(took < most, "{command} took {took:?}: {stderr}");
            });
        }
    });
}
