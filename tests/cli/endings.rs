//! The end of the program: closed pipes, failing outputs, signals.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};

use super::{DEADLINE, UNUSED_ADDRESS, home, lockscope, refused};

/// Starts the program with pipes, as a shell would.
pub fn started(home: &Path, arguments: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits for the program to end, with a deadline. Returns the exit code and stderr.
pub fn ended(mut child: Child) -> (Option<i32>, String) {
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child process") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    (status.code(), stderr)
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let home = home();
    for arguments in [&["man"][..], &["completions", "zsh"], &["--help"]] {
        let mut child = started(home.path(), arguments);
        drop(child.stdout.take());
        assert_eq!(ended(child), (Some(0), String::new()), "{arguments:?}");
    }
    let mut child = started(home.path(), &["completions", "zsh"]);
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert!(first.contains("lockscope"), "{first}");
    assert_eq!(ended(child), (Some(0), String::new()));
}

#[test]
fn a_failing_output_is_an_error_that_names_its_reason_once() {
    let home = home();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device that is always full");
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("lockscope"))
        .args(["completions", "zsh"])
        .env_clear()
        .env("HOME", home.path())
        .stdout(full)
        .output()
        .expect("it runs");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("lockscope: cannot write the output: No space"), "{stderr}");
    assert_eq!(stderr.matches("No space left").count(), 1, "{stderr}");
}

#[test]
fn a_signal_ends_watch_successfully_even_without_a_server() {
    let home = home();
    for (name, signal) in [("TERM", Signal::TERM), ("INT", Signal::INT)] {
        let log = home.path().join(name);
        let arguments = ["watch", "--connect", UNUSED_ADDRESS, "--timeout", "1h", "--log-file", log.to_str().unwrap()];
        let child = started(home.path(), &arguments);
        let deadline = Instant::now() + DEADLINE;
        while !fs::read_to_string(&log).is_ok_and(|text| text.contains("watching")) {
            assert!(Instant::now() < deadline, "it does not say in its log that it watches");
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(process, signal).expect("the signal is delivered");
        assert_eq!(ended(child), (Some(0), String::new()), "{name}");
    }
}

#[test]
fn a_blocked_or_full_log_file_delays_nothing() {
    let home = home();
    let fifo = home.path().join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    let asked = |log: &str| lockscope(home.path(), &["snapshot", "--connect", UNUSED_ADDRESS, "--log-file", log]);
    let stderr = refused(asked(fifo.to_str().unwrap()));
    assert!(stderr.contains("FIFO") && stderr.contains("--log-file"), "{stderr}");
    let stderr = refused(asked("/dev/full"));
    assert!(stderr.contains(UNUSED_ADDRESS), "{stderr}");
}
