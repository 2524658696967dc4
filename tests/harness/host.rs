//! The JVM that the servers and Java clients of all tests share, also those of other test
//! processes: see `tests/foreign/Host.java`. Servers with other system properties share another one.
//!
//! The first test that needs the host starts it. What a test leases from it ends with the lease, and
//! so with the test's process. The host ends when it has been idle for a while.

use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::jvm::{compiled, java, note_start};
use super::wait::{PATIENCE, eventually_blocking};

/// The heap for all that the tests lease at a time, in MiB.
const HEAP_MIB: u32 = 3_072;

/// A server or a client in the host. It ends when this is dropped.
#[derive(Debug)]
pub struct Lease {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Lease {
    /// Leases what the line says from the host with these system properties. Starts it if it does not
    /// run.
    pub fn open(properties: &[String], line: &str) -> Self {
        eventually_blocking("a host", || Self::try_open(properties, line))
    }

    /// A host that ends in this moment, since it was idle, gives no answer.
    fn try_open(properties: &[String], line: &str) -> Result<Self, String> {
        let stream = connect(properties)?;
        stream.set_read_timeout(Some(2 * PATIENCE)).map_err(|error| error.to_string())?;
        let answers = BufReader::new(stream.try_clone().map_err(|error| error.to_string())?);
        let mut lease = Self { stream, answers };
        match lease.ask(line) {
            Ok(answer) if answer == "ready" => Ok(lease),
            other => Err(format!("{other:?}")),
        }
    }

    /// Sends a line and returns the line of answer; an error if the lease has ended.
    pub fn ask(&mut self, line: &str) -> Result<String, String> {
        writeln!(self.stream, "{line}").map_err(|error| error.to_string())?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer) {
            Ok(0) => Err("the host has ended".to_owned()),
            Ok(_) => Ok(answer.trim_end().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns where lines are written.
    pub fn input(&mut self) -> &mut UnixStream {
        &mut self.stream
    }

    /// Returns where the answers come from, for a reader on a thread of its own. They then take as long
    /// as they take.
    pub fn output(&self) -> UnixStream {
        self.stream.set_read_timeout(None).expect("a socket needs no time-out");
        self.stream.try_clone().expect("a socket can be shared")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The host closes its side once everything has ended. A failure means that it is gone.
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.set_read_timeout(Some(PATIENCE));
        let _ = self.answers.read_to_end(&mut Vec::new());
    }
}

/// Returns the end of what a host and everything in it complained about.
pub fn complaints(properties: &[String]) -> String {
    let log = fs::read(folder(properties).join("log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// Connects to the host, which is started first if none listens.
fn connect(properties: &[String]) -> Result<UnixStream, String> {
    let folder = folder(properties);
    let socket = folder.join("socket");
    if let Ok(stream) = UnixStream::connect(&socket) {
        return Ok(stream);
    }
    let lock = File::create(folder.join("lock")).map_err(|error| error.to_string())?;
    // Only one process starts it.
    lock.lock().map_err(|error| error.to_string())?;
    if let Ok(stream) = UnixStream::connect(&socket) {
        return Ok(stream);
    }
    let _ = fs::remove_file(&socket);
    let log = File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = java(HEAP_MIB);
    command.extend(properties.iter().map(|property| format!("-D{property}")));
    command.extend(
        ["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.admin.enableServer=false"]
            .map(str::to_owned),
    );
    command.extend([
        "-Dzookeeper.4lw.commands.whitelist=*".to_owned(),
        "Host".to_owned(),
        socket.display().to_string(),
    ]);
    let began = Instant::now();
    Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        // It outlives this test: a signal for the test's group is not for the host.
        .process_group(0)
        .spawn()
        .map_err(|error| error.to_string())?;
    eventually_blocking("the socket of the host", || UnixStream::connect(&socket).map(drop));
    note_start("host: a JVM", began);
    UnixStream::connect(&socket).map_err(|error| error.to_string())
}

/// Returns the folder of the host with these properties and classes, which only this user can enter. A socket's path
/// must be short.
fn folder(properties: &[String]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (compiled(), properties).hash(&mut hasher);
    let own = fs::metadata("/proc/self").expect("there is /proc").uid();
    let folder = std::env::temp_dir().join(format!("lockscope-host-{own}-{:016x}", hasher.finish()));
    // It may be there already.
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    let made = fs::symlink_metadata(&folder).expect("it was made");
    assert!(made.is_dir() && made.uid() == own, "{} belongs to somebody else", folder.display());
    folder
}
