//! Real lock libraries of other languages, driven by lines of text.
//!
//! `tests/foreign/ForeignClient.java` describes the commands. One client may have many sessions. The
//! clients of Java share the JVM of the servers, unless a test needs the process.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockscope_base::znode::SessionId;
use tokio::sync::mpsc;
use tokio::time::timeout;
use zookeeper_client::Client;

use super::host::{self, Lease};
use super::jvm::{java_program, note_start, sources};
use super::wait::{PATIENCE, eventually};

/// The session timeout of foreign sessions whose test does not care.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// Sessions of a foreign library. When this is dropped, and when the test's process ends, their
/// connections close; the sessions live on until they expire.
#[derive(Debug)]
pub struct Foreign {
    program: Program,
    answers: mpsc::Receiver<String>,
}

#[derive(Debug)]
enum Program {
    /// A process, and its stderr: a file without a name, which needs no removal.
    Process(Child, File),
    Hosted(Lease),
}

impl Foreign {
    /// Starts Curator and Java's `WriteLock`.
    pub fn java(connect: &str) -> Self {
        let began = Instant::now();
        let lease = Lease::open(&[], &format!("client {connect}"));
        note_start("client: leased", began);
        let answers = lines_of(lease.output());
        Self { program: Program::Hosted(lease), answers }
    }

    /// Starts Curator and Java's `WriteLock` in a process of their own, which can be frozen.
    pub fn java_process(connect: &str) -> Self {
        Self::spawn(&java_program("ForeignClient"), connect)
    }

    /// Starts kazoo.
    pub fn kazoo(connect: &str) -> Self {
        Self::spawn(&kazoo_program("kazoo_client.py"), connect)
    }

    fn spawn(command: &[String], connect: &str) -> Self {
        let complaints = tempfile::tempfile().expect("a file can be made");
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .arg(connect)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone().expect("a file can be shared"))
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let answers = lines_of(process.stdout.take().expect("it is piped"));
        let program = if command[0] == "java" { "client: a JVM" } else { "client: kazoo" };
        note_start(program, Instant::now());
        Self { program: Program::Process(process, complaints), answers }
    }

    /// Opens a session under a name.
    pub async fn connect(&mut self, client: &str) -> SessionId {
        self.connect_within(client, SESSION_TIMEOUT).await
    }

    /// Opens a session under a name, with a session timeout.
    pub async fn connect_within(&mut self, client: &str, timeout: Duration) -> SessionId {
        let session = self.answer("connected", &format!("connect {client} {}", timeout.as_millis())).await;
        let bits = u64::from_str_radix(session.trim_start_matches("0x"), 16).expect("a session's id in hex");
        SessionId(bits.cast_signed())
    }

    /// Lets a session contend in the background, under an id. For a semaphore, the number of leases
    /// follows the path.
    pub async fn start(&mut self, client: &str, id: &str, recipe: &str, path: &str) {
        self.answer("ok", &format!("start {client} {id} {recipe} {path}")).await;
    }

    /// Waits until a contender holds. Returns its node's name, or `-` where the library hides it.
    pub async fn held(&mut self, id: &str) -> String {
        self.answer("held", &format!("wait {id}")).await
    }

    /// Returns whether a contender holds, according to its library.
    pub async fn holds(&mut self, id: &str) -> bool {
        self.ask(&format!("holds {id}")).await == "yes"
    }

    /// Returns the queue as a contender's library sees it: names of nodes, or identifiers.
    pub async fn order(&mut self, id: &str) -> Vec<String> {
        let order = self.answer("order", &format!("order {id}")).await;
        order.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Lets a holder release.
    pub async fn release(&mut self, id: &str) {
        self.answer("released", &format!("release {id}")).await;
    }

    /// Lets sessions of kazoo contend for a lock that nobody else uses, each once the one before
    /// stands in the queue.
    pub async fn queue_up(&mut self, client: &Client, lock: &str, names: &[&str]) {
        for (number, name) in (1..).zip(names) {
            self.connect(name).await;
            self.start(name, name, "lock", lock).await;
            eventually("the contender", async || {
                let children = client.list_children(lock).await.unwrap_or_default();
                if children.len() == number { Ok(()) } else { Err(children) }
            })
            .await;
        }
    }

    /// Lets a waiter give up.
    pub async fn abandon(&mut self, id: &str) {
        self.answer("left", &format!("abandon {id}")).await;
    }

    /// Starts threads that acquire and release in a loop, each with its own session, all at the
    /// same moment.
    pub async fn churn(&mut self, id: &str, recipe: &str, path: &str, threads: usize, rounds: usize) {
        self.answer("ok", &format!("churn {id} {recipe} {path} {threads} {rounds}")).await;
    }

    /// Starts a `churn` in which each holder checks below `PATH-inside` whether another client
    /// holds, and writes an entry below `PATH-record`. Both nodes must exist.
    pub async fn churn_checked(&mut self, id: &str, recipe: &str, path: &str, threads: usize, rounds: usize) {
        self.answer("ok", &format!("churn {id} {recipe} {path} {threads} {rounds} checked")).await;
    }

    /// Waits for the end of a `churn`. Returns the number of acquisitions.
    pub async fn churned(&mut self, id: &str) -> usize {
        self.churned_in(id).await.0
    }

    /// Waits for the end of a `churn`. Returns the number of acquisitions and the time from the
    /// first to the last, without the time for opening sessions.
    pub async fn churned_in(&mut self, id: &str) -> (usize, Duration) {
        let done = self.answer("done", &format!("wait {id}")).await;
        let (count, millis) = done.split_once(' ').expect("a number and a time");
        (count.parse().expect("a number"), Duration::from_millis(millis.parse().expect("milliseconds")))
    }

    /// Closes a session cleanly.
    pub async fn close(&mut self, client: &str) {
        self.answer("closed", &format!("close {client}")).await;
    }

    /// Closes all sessions cleanly and ends the client.
    pub async fn quit(mut self) {
        self.answer("bye", "quit").await;
    }

    /// Returns the id of a client in a process of its own.
    pub fn pid(&self) -> u32 {
        match &self.program {
            Program::Process(process, _) => process.id(),
            Program::Hosted(_) => panic!("the client shares its process: start it by `Foreign::java_process`"),
        }
    }

    /// Sends a command. Returns the text after the expected word of the answer.
    async fn answer(&mut self, word: &str, command: &str) -> String {
        let answer = self.ask(command).await;
        let rest = answer.strip_prefix(word).map(|rest| rest.trim_start().to_owned());
        rest.unwrap_or_else(|| panic!("{command:?} was answered by {answer:?}\n{}", self.complaints()))
    }

    /// Sends a command and returns the answer.
    pub async fn ask(&mut self, command: &str) -> String {
        let input: &mut dyn Write = match &mut self.program {
            Program::Process(process, _) => process.stdin.as_mut().expect("it is piped"),
            Program::Hosted(lease) => lease.input(),
        };
        let sent = writeln!(input, "{command}").and_then(|()| input.flush());
        assert!(sent.is_ok(), "the foreign client is gone before {command:?}\n{}", self.complaints());
        match timeout(2 * PATIENCE, self.answers.recv()).await {
            Ok(Some(answer)) => answer,
            Ok(None) => panic!("the foreign client ended at {command:?}\n{}", self.complaints()),
            Err(after) => panic!("the foreign client did not answer {command:?}: {after}\n{}", self.complaints()),
        }
    }

    fn complaints(&self) -> String {
        let Program::Process(_, file) = &self.program else {
            return host::complaints(&[]);
        };
        let mut bytes = vec![0; 1 << 16];
        // A positioned read, because the process shares the file's cursor.
        let length = file.read_at(&mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Program::Process(process, _) = &mut self.program {
            // Both fail only when the process is already gone.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Reads lines on a thread, which ends with the program.
fn lines_of(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(64);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Returns the command that starts a script of `tests/foreign` with a Python that has kazoo:
/// `KAZOO_PYTHON`, or Debian's.
pub fn kazoo_program(script: &str) -> Vec<String> {
    let python = std::env::var("KAZOO_PYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned());
    vec![python, sources().join(script).display().to_string()]
}
