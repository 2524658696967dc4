//! Real lock libraries of other languages, each in a process of its own, driven by lines of text.
//!
//! `tests/foreign/ForeignClient.java` describes the commands. One process may have many sessions.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::process::{class_path, java};
use super::wait::PATIENCE;

const JARS: [&str; 14] = [
    "curator-recipes",
    "curator-framework",
    "curator-client",
    "zookeeper",
    "zookeeper-jute",
    "zookeeper-recipes-lock",
    "guava",
    "slf4j-api",
    "slf4j-simple",
    "jackson-core",
    "jackson-databind",
    "jackson-annotations",
    "netty-handler",
    "metrics-core",
];

/// The session timeout of foreign sessions whose test does not care.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);

/// A process with sessions of a foreign library. The process is killed when this is dropped, and
/// ends with the test's process.
#[derive(Debug)]
pub struct Foreign {
    process: Child,
    answers: mpsc::Receiver<String>,
    /// The process's stderr: a file without a name, which needs no removal.
    complaints: File,
}

impl Foreign {
    /// Starts Curator and Java's `WriteLock`.
    pub fn java(connect: &str) -> Self {
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
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, answers) = mpsc::channel(64);
        // The thread ends with the process.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Self { process, answers, complaints }
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

    /// Closes all sessions cleanly and ends the process.
    pub async fn quit(mut self) {
        self.answer("bye", "quit").await;
    }

    /// Returns the process's id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a command. Returns the text after the expected word of the answer.
    async fn answer(&mut self, word: &str, command: &str) -> String {
        let answer = self.ask(command).await;
        let rest = answer.strip_prefix(word).map(|rest| rest.trim_start().to_owned());
        rest.unwrap_or_else(|| panic!("{command:?} was answered by {answer:?}\n{}", self.complaints()))
    }

    /// Sends a command and returns the answer.
    pub async fn ask(&mut self, command: &str) -> String {
        let input = self.process.stdin.as_mut().expect("it is piped");
        let sent = writeln!(input, "{command}").and_then(|()| input.flush());
        assert!(sent.is_ok(), "the foreign client is gone before {command:?}\n{}", self.complaints());
        match timeout(2 * PATIENCE, self.answers.recv()).await {
            Ok(Some(answer)) => answer,
            Ok(None) => panic!("the foreign client ended at {command:?}\n{}", self.complaints()),
            Err(after) => panic!("the foreign client did not answer {command:?}: {after}\n{}", self.complaints()),
        }
    }

    fn complaints(&self) -> String {
        let mut bytes = vec![0; 1 << 16];
        // A positioned read, because the process shares the file's cursor.
        let length = self.complaints.read_at(&mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // Both fail only when the process is already gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the command that starts a class of `tests/foreign`.
pub fn java_program(class: &str) -> Vec<String> {
    let mut command = java(256);
    command.push("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".to_owned());
    command.extend(["-cp".to_owned(), format!("{}:{}", compiled().display(), class_path(&JARS))]);
    command.push(class.to_owned());
    command
}

/// Returns the command that starts a script of `tests/foreign` with a Python that has kazoo:
/// `KAZOO_PYTHON`, or Debian's.
pub fn kazoo_program(script: &str) -> Vec<String> {
    let python = std::env::var("KAZOO_PYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned());
    vec![python, sources().join(script).display().to_string()]
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign")
}

/// Returns the folder of the compiled classes. They are compiled once for each state of the
/// sources.
fn compiled() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let mut files: Vec<PathBuf> = fs::read_dir(sources())
            .expect("the sources are there")
            .map(|entry| entry.expect("it can be listed").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "java"))
            .collect();
        files.sort();
        let mut hasher = DefaultHasher::new();
        for file in &files {
            fs::read(file).expect("the source can be read").hash(&mut hasher);
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let classes = target.join(format!("foreign-{:016x}", hasher.finish()));
        if !classes.exists() {
            compile(&files, target, &classes);
        }
        classes
    })
}

/// Compiles into another folder and renames it, so that concurrent test processes see all classes
/// or none.
fn compile(files: &[PathBuf], target: &Path, classes: &Path) {
    let aside = tempfile::Builder::new().prefix("foreign-").tempdir_in(target).expect("a folder can be made");
    let javac = Command::new("javac")
        .args(["-nowarn", "-cp", &class_path(&JARS), "-d"])
        .arg(aside.path())
        .args(files)
        .output()
        .expect("javac starts; `tests/run --install-only` installs what the tests need");
    assert!(javac.status.success(), "javac failed:\n{}", String::from_utf8_lossy(&javac.stderr));
    if let Err(error) = fs::rename(aside.path(), classes) {
        assert!(classes.exists(), "{} cannot be made: {error}", classes.display());
    }
}
