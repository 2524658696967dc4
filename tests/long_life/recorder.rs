//! Runs `lockscope record`, and reads its file and its metrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use serde_json::Value;

use crate::clients::Log;
use crate::harness::process::Supervised;
use crate::harness::prometheus::get;
use crate::knowledge::Knowledge;
use crate::locks::SINGLE;

/// The time limit for the first line, and for reading the file.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockscope");

/// The program, its file and its port.
pub struct Recorder {
    process: Supervised,
    log: Log,
    store: PathBuf,
    port: u16,
    /// The lines of output besides the first JSON object.
    pub complaints: Vec<String>,
}

impl Recorder {
    pub fn start(folder: &Path, connect: &str, max_size: ByteSize) -> Result<Self, String> {
        let store = folder.join("record");
        fs::create_dir(&store).map_err(|error| error.to_string())?;
        let (file, audit) = (store.join("locks.db"), store.join("audit.jsonl"));
        let (file, audit) = (file.display().to_string(), audit.display().to_string());
        let max_size = format!("{}B", max_size.as_u64());
        let options = ["--lock", SINGLE, "--session-timeout", "10s", "--max-size", &max_size, "--audit-log", &audit];
        let what = ["record", "--store", &file, "--metrics", "127.0.0.1:0", "--connect", connect];
        let command: Vec<String> =
            [&[PROGRAM], what.as_slice(), options.as_slice()].concat().iter().map(ToString::to_string).collect();
        let log = Log::new("record");
        let process = Supervised::start(log.folder(), &command);
        let mut recorder = Self { process, log, store, port: 0, complaints: Vec::new() };
        recorder.port = recorder.await_port()?;
        Ok(recorder)
    }

    /// Waits for the first line, which contains the address of the metrics.
    fn await_port(&mut self) -> Result<u16, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for line in self.log.lines() {
                let first = serde_json::from_str::<Value>(&line).ok();
                let address = first.as_ref().and_then(|first| first["metrics"].as_str());
                let port = address
                    .and_then(|address| address.rsplit_once(':')?.1.trim_matches('/').split('/').next()?.parse().ok());
                match port {
                    Some(port) => return Ok(port),
                    None => self.complaints.push(line),
                }
            }
            if Instant::now() > deadline || !self.runs() {
                return Err(format!("no first line of the recorder, but {:?}", self.complaints));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn runs(&self) -> bool {
        self.process.runs()
    }

    /// Returns the size of the recording and the files beside it, in KiB.
    pub fn size(&self) -> u64 {
        let files = fs::read_dir(&self.store).into_iter().flatten().flatten();
        let named = files.filter(|file| file.file_name().to_string_lossy().starts_with("locks.db"));
        named.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>() / 1024
    }

    /// Reads the recording with `lockscope snapshot`.
    pub fn knows(&mut self) -> Result<Knowledge, String> {
        self.complaints.extend(self.log.lines());
        let file = self.store.join("locks.db");
        let out = self.store.join("snapshot.json");
        let written = fs::File::create(&out).map_err(|error| error.to_string())?;
        let mut child = Command::new(PROGRAM)
            .args(["snapshot", "--format", "json", "--store"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(written)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if Instant::now() > deadline {
                // The process may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("lockscope snapshot does not end in {PATIENCE:?}"));
            }
            std::thread::sleep(LOOK);
        };
        let text = fs::read_to_string(&out).map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("lockscope snapshot ended with {status}"));
        }
        Knowledge::of_snapshot(&serde_json::from_str(&text).map_err(|error| error.to_string())?)
    }

    /// Returns a line for each metric that differs from the truth.
    pub fn metrics_differ(&self, truth: &Knowledge) -> Result<Vec<String>, String> {
        let (status, body) = get(self.port, "/metrics", &[]).map_err(|error| error.to_string())?;
        if status != 200 {
            return Err(format!("/metrics was answered with {status}"));
        }
        let mut lines = Vec::new();
        for (key, contenders) in &truth.0 {
            let holders = contenders.iter().filter(|one| one.holds).count();
            for (gauge, expected) in
                [("lockscope_lock_holders", holders), ("lockscope_lock_waiters", contenders.len() - holders)]
            {
                let seen = figure(&body, gauge, key);
                // The waiters of a single node are not in the tree; only the servers know them.
                let known = gauge == "lockscope_lock_holders" || key != SINGLE;
                if known && seen != Some(expected as u64) {
                    lines.push(format!("{gauge} of {key} is {seen:?} in place of {expected}"));
                }
            }
        }
        Ok(lines)
    }
}

/// Returns the value of a lock's gauge.
fn figure(metrics: &str, gauge: &str, key: &str) -> Option<u64> {
    let (path, name) = key.split_once('#').map_or((key, None), |(path, name)| (path, Some(name)));
    let (path, name) = (format!("lock=\"{path}\""), name.map(|name| format!("name=\"{name}\"")));
    let of_lock = |line: &&str| {
        line.strip_prefix(gauge).is_some_and(|rest| rest.starts_with('{'))
            && line.contains(&path)
            && name.as_ref().is_none_or(|name| line.contains(name))
    };
    metrics.lines().find(of_lock)?.rsplit_once(' ')?.1.parse().ok()
}
