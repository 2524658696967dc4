//! An unreachable ensemble: how long each command waits, and its message.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
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
