//! The processes of the test clients: starts, pauses, freezes and kills them, and reads their
//! output.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::clock::nanos;
use crate::harness::foreign::kazoo_program;
use crate::harness::jvm::java_program;
use crate::harness::process::Supervised;
use crate::holds::Holds;
use crate::locks::{LEASES, Library};

/// The session timeout: the time for which a silent client keeps its locks.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// Processes per library.
const COPIES: usize = 2;

/// All client processes, and the holds that their clients reported.
pub struct Clients {
    pub processes: Vec<ClientProcess>,
    pub holds: Holds,
    pause: PathBuf,
}

/// One client process.
pub struct ClientProcess {
    library: Library,
    /// The prefix of the names of the clients in this process.
    name: String,
    command: Vec<String>,
    running: Option<Running>,
    frozen_since: Option<u64>,
}

struct Running {
    process: Supervised,
    log: Log,
}

/// A growing log file, read by whole lines.
pub struct Log {
    folder: TempDir,
    read: u64,
}

impl Log {
    /// Creates a log in a new folder. The folder is removed when the process that is started in it
    /// ends.
    pub fn new(subject: &str) -> Self {
        let prefix = format!("lockscope-soak-{subject}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().expect("a folder");
        Self { folder, read: 0 }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the complete lines since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let opened = File::open(self.folder.path().join("log"));
        let taken = opened.and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut bytes)
        });
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if taken.is_err() || whole == 0 {
            return Vec::new();
        }
        self.read += whole as u64;
        String::from_utf8_lossy(&bytes[..whole]).lines().map(str::to_owned).collect()
    }
}

impl Clients {
    /// Starts all processes. Their clients connect to the servers in `connect`.
    pub fn start(folder: &Path, connect: &str, seed: u64) -> Self {
        let pause = folder.join("pause");
        let mut holds = Holds::default();
        let mut processes = Vec::new();
        for library in [Library::Java, Library::Kazoo, Library::BuiltIn] {
            for copy in 0..COPIES {
                let name = format!("{library}-{copy}-");
                let mut command = match library {
                    Library::Java => java_program("LongLife"),
                    Library::Kazoo => kazoo_program("kazoo_long_life.py"),
                    Library::BuiltIn => {
                        let program = std::env::current_exe().expect("this program has a path");
                        vec![program.display().to_string(), "client".to_owned()]
                    }
                };
                let timeout = SESSION_TIMEOUT.as_millis().to_string();
                let seed = seed.wrapping_add(processes.len() as u64).cast_signed().to_string();
                command.extend([connect.to_owned(), timeout, seed, pause.display().to_string()]);
                for (number, (recipe, path)) in library.clients().iter().enumerate() {
                    let client = format!("{name}{number}");
                    command.push(format!("{client}={recipe}={path}={LEASES}"));
                    holds.expect(client, recipe, path);
                }
                let mut process = ClientProcess { library, name, command, running: None, frozen_since: None };
                process.start();
                processes.push(process);
            }
        }
        Self { processes, holds, pause }
    }

    /// Pauses the clients: none releases a lock, and none begins to wait.
    pub fn pause(&self) {
        fs::write(&self.pause, "").expect("the folder is writable");
    }

    /// Ends `pause`.
    pub fn go_on(&self) {
        fs::remove_file(&self.pause).expect("they were paused");
    }

    /// Takes in the output since the last call. Returns a line for each violation.
    pub fn judge(&mut self) -> Vec<String> {
        for process in &mut self.processes {
            process.take_in(&mut self.holds);
        }
        self.holds.judge(nanos())
    }

    /// Restarts the processes that ended by themselves, and prints why they ended.
    pub fn start_ended(&mut self) {
        for process in self.processes.iter_mut().filter(|process| !process.runs()) {
            println!("the clients of {} have ended: {}", process.name(), process.complaints(20));
            process.kill(&mut self.holds);
            process.start();
        }
    }

    pub fn kill(&mut self, number: usize) {
        self.processes[number].kill(&mut self.holds);
    }

    pub fn thaw(&mut self, number: usize) {
        self.processes[number].thaw(&mut self.holds);
    }
}

impl ClientProcess {
    pub fn name(&self) -> String {
        self.name.trim_end_matches('-').to_owned()
    }

    pub fn start(&mut self) {
        let log = Log::new("client");
        let process = Supervised::start(log.folder(), &self.command);
        self.running = Some(Running { process, log });
    }

    /// Returns whether the process runs. It ends only when it is killed.
    pub fn runs(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.process.runs())
    }

    pub fn freeze(&mut self) {
        if let Some(running) = &self.running {
            self.frozen_since = Some(nanos());
            running.process.freeze();
        }
    }

    fn thaw(&mut self, holds: &mut Holds) {
        if let (Some(running), Some(since)) = (&self.running, self.frozen_since.take()) {
            running.process.thaw();
            holds.frozen(&self.name, since, nanos());
        }
    }

    fn kill(&mut self, holds: &mut Holds) {
        let at = nanos();
        if let Some(Running { process, mut log }) = self.running.take() {
            process.kill();
            holds.take_all(&log.lines());
            holds.killed(&self.name, at);
        }
    }

    fn take_in(&mut self, holds: &mut Holds) {
        let lines = self.running.as_mut().map(|running| running.log.lines()).unwrap_or_default();
        holds.take_all(&lines);
    }

    /// Returns up to `most` of the last lines that are no records. They show why the process ended.
    pub fn complaints(&self, most: usize) -> String {
        let log = self.running.as_ref().map(|running| running.log.folder().join("log"));
        let text = log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("record ")).collect();
        format!("{}\n{}", self.library, lines[lines.len().saturating_sub(most)..].join("\n"))
    }
}
