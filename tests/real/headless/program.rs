//! The program in a process of its own, with pipes instead of a terminal.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::harness::signal;
use crate::harness::wait::{PATIENCE, eventually, eventually_within};

/// How long a command may take that reads very much.
const LONG: Duration = Duration::from_secs(600);

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_lockscope");

/// Returns the program with these arguments and a clean environment: no home, UTF-8, and none of
/// the program's own variables.
pub fn lockscope(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8");
    command
}

/// The output of a command and its exit.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    /// The text on stderr.
    pub stderr: String,
}

impl Ended {
    /// Asserts success without any text on stderr. Returns stdout.
    pub fn done(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// Asserts success as `done` does, and parses stdout as one line with one JSON object.
    pub fn json(self) -> Value {
        let out = self.done();
        assert_eq!(out.matches('\n').count(), 1, "{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} in {out}"))
    }

    /// Asserts a refusal as `refused` does, also for a recorder, which names its file before it
    /// connects and has an exit code of its own.
    pub fn refused_at_connecting(mut self) -> String {
        if self.out.starts_with("{\"recording\":") {
            assert_eq!(self.code, Some(75), "a service manager shall start it again: {}", self.stderr);
            (self.code, self.out) = (Some(2), String::new());
        }
        self.refused()
    }

    /// Asserts a refusal. Returns the one sentence on stderr, without notes about attempts to
    /// connect.
    pub fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{}", self.stderr);
        let lines = self.stderr.split_inclusive('\n').filter(|line| !line.contains("; trying again for another "));
        let said: String = lines.collect();
        let sentence = said.strip_prefix("lockscope: ").and_then(|reported| reported.strip_suffix('\n'));
        let sentence = sentence.filter(|sentence| !sentence.contains('\n'));
        sentence.unwrap_or_else(|| panic!("{:?} is not one sentence", self.stderr)).to_owned()
    }
}

/// Runs a command to its end.
pub async fn run(command: Command) -> Ended {
    Running::start(command).ended().await
}

/// Runs a command to its end, which may take minutes.
pub async fn run_long(command: Command) -> Ended {
    let mut running = Running::start(command);
    eventually_within(LONG, "the program's end", async || if running.has_ended() { Ok(()) } else { Err("it runs") })
        .await;
    running.ended().await
}

/// A running command. Dropping it kills the command.
pub struct Running {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    reported: Option<JoinHandle<()>>,
    /// What arrived on standard error so far.
    said: Arc<Mutex<String>>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let err = child.stderr.take().expect("it is piped");
        let (sender, lines) = mpsc::unbounded_channel();
        // Both threads end with the process.
        std::thread::spawn(move || {
            let mut line = String::new();
            while out.read_line(&mut line).expect("it prints text") > 0
                && sender.send(std::mem::take(&mut line)).is_ok()
            {}
        });
        let said = Arc::new(Mutex::new(String::new()));
        let so_far = Arc::clone(&said);
        let reported = std::thread::spawn(move || {
            let (mut err, mut line) = (BufReader::new(err), String::new());
            while err.read_line(&mut line).expect("it says text") > 0 {
                so_far.lock().expect("no panic").push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, lines, reported: Some(reported), said }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line; `None` once the command has ended.
    pub async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.lines.recv()).await.expect("a line in time")
    }

    /// Returns the lines that have already arrived.
    pub fn lines_now(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.lines.try_recv().ok()).collect()
    }

    /// Returns the lines on standard error so far.
    pub fn said_now(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Returns the peak memory so far, in KiB; `None` once the command has ended.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    /// Returns whether the command has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        signal::send(self.child.id(), name);
    }

    /// Waits for the end. The output has the lines that were not taken yet.
    pub async fn ended(mut self) -> Ended {
        let child = &mut self.child;
        let status =
            eventually("the program's end", async || child.try_wait().ok().flatten().ok_or("it still runs")).await;
        let mut out = String::new();
        while let Some(line) = self.line().await {
            out += &line;
        }
        self.reported.take().expect("it ends once").join().expect("it says text");
        Ended { code: status.code(), out, stderr: self.said_now() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the command has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
