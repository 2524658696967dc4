//! `lockscope record` whose file is moved, removed, replaced or truncated, or cannot be written: it is
//! noticed, and what was written before stays readable where the file still exists.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Client, CreateMode};

use super::program::{PROGRAM, Running, run};
use crate::harness::prometheus::get;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::curator;

/// The time within which metrics, health and standard error must tell.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// What is done to a file while it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Remove,
    Move,
    Replace,
    Overwrite,
    Truncate,
    RemoveLog,
    SecondRecorder,
    DiskFull,
    Kill,
}

const FAULTS: [Fault; 9] = [
    Fault::Remove,
    Fault::Move,
    Fault::Replace,
    Fault::Overwrite,
    Fault::Truncate,
    Fault::RemoveLog,
    Fault::SecondRecorder,
    Fault::DiskFull,
    Fault::Kill,
];

impl Fault {
    /// Returns whether a part of the recording is lost with the file.
    fn loses(self) -> bool {
        matches!(self, Self::Remove | Self::Replace | Self::Overwrite | Self::Truncate)
    }
}

/// A recorder with metrics, in a folder of its own.
struct Recorder {
    running: Running,
    port: u16,
    folder: TempDir,
}

fn word(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

/// Starts a recorder that survives a limit of the size of its files.
async fn start(store: &Path, connect: &str) -> (Running, u16) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM, "record", "--metrics", "0", "--store"]);
    command.arg(store).args(["--connect", connect]).env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8");
    let mut running = Running::start(command);
    let first: Value = serde_json::from_str(&running.line().await.expect("a line")).expect("JSON");
    let port = first["metrics"].as_str().and_then(|address| address.rsplit(':').next()?.parse().ok()).expect("a port");
    (running, port)
}

impl Recorder {
    async fn start(connect: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (running, port) = start(&folder.path().join("r.db"), connect).await;
        Self { running, port, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = get(self.port, "/metrics", &[]).ok()?;
        text.lines().find(|line| line.starts_with(name))?.rsplit(' ').next()?.parse().ok()
    }

    /// Returns the file that is written, as the last message about it says.
    fn current(&self) -> PathBuf {
        let said = self.running.said_now();
        let goes_on = said.lines().rev().find_map(|line| line.rsplit_once("recording goes on in "));
        goes_on.map_or_else(|| self.path("r.db"), |(_, path)| path.into())
    }

    /// Waits until a file has more than it had at `than`. Returns up to when it has everything.
    async fn until_written(&self, than: i64) -> i64 {
        eventually("a recording that goes on", async || {
            let until = until(&self.current()).unwrap_or_default();
            let is_up = self.metric("lockscope_store_up") == Some(1.0);
            if until > than && is_up { Ok(until) } else { Err(format!("{until}; {}", self.running.said_now())) }
        })
        .await
    }

    /// Waits until metrics, health and standard error tell that the recording is not written.
    /// Returns how long that took at most.
    async fn noticed(&self, before: usize, said: &str) -> Duration {
        let began = Instant::now();
        let mut seen = [None; 3];
        while seen.contains(&None) {
            assert!(began.elapsed() < NOTICED_WITHIN, "{seen:?}: {}", self.running.said_now());
            let now = [
                self.metric("lockscope_store_up") == Some(0.0),
                get(self.port, "/healthz", &[]).is_ok_and(|(status, _)| status == 503),
                self.running.said_now()[before..].contains(said),
            ];
            for (seen, _) in seen.iter_mut().zip(now).filter(|(_, now)| *now) {
                seen.get_or_insert_with(|| began.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        seen.into_iter().flatten().max().unwrap_or_default()
    }
}

/// Returns up to when a file has everything; `None` where it cannot be read.
fn until(path: &Path) -> Option<i64> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    connection.query_row("SELECT max(until_ms) FROM segment", [], |row| row.get(0)).ok()
}

/// Asserts that a file is whole up to a time, and that the program reads it.
async fn assert_readable(path: &Path, expected: i64) {
    assert!(until(path).is_some_and(|until| until >= expected), "{}: {:?}, {expected}", path.display(), until(path));
    let check: String = Connection::open(path)
        .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .expect("an answer");
    assert_eq!(check, "ok", "{}", path.display());
    run(super::program::lockscope(&["history", "--store", &word(path)])).await.done();
}

fn limit(process: &Running, bytes: Option<u64>) {
    let process = i32::try_from(process.id()).ok().and_then(Pid::from_raw).expect("a process id");
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = Rlimit { current: bytes.or(maximum), maximum };
    prlimit(Some(process), Resource::Fsize, limit).expect("a limit of one's own process");
}

/// Causes a fault, and asserts that it is noticed and that nothing else is lost. Returns how long it
/// took to notice.
async fn round(recorder: &mut Recorder, fault: Fault, number: u32, connect: &str, other: &[u8]) -> Duration {
    let current = recorder.current();
    let written = recorder.until_written(0).await;
    let (moved, before) = (recorder.path(&format!("moved-{number}")), recorder.running.said_now().len());
    let mut second = None;
    match fault {
        Fault::Remove => fs::remove_file(&current).expect("removed"),
        Fault::Move => fs::rename(&current, &moved).expect("moved"),
        Fault::Replace => {
            fs::write(&moved, other).expect("written");
            fs::rename(&moved, &current).expect("replaced");
        }
        Fault::Overwrite => fs::write(&current, other).expect("written"),
        Fault::Truncate => OpenOptions::new().write(true).open(&current).and_then(|file| file.set_len(0)).expect("cut"),
        Fault::RemoveLog => fs::remove_file(format!("{}-wal", current.display())).expect("removed"),
        Fault::SecondRecorder => {
            fs::rename(&current, &moved).expect("moved");
            second = Some(start(&current, connect).await.0);
        }
        Fault::DiskFull => limit(&recorder.running, Some(0)),
        Fault::Kill => {
            recorder.running.signal("KILL");
            eventually("its end", async || if recorder.running.has_ended() { Ok(()) } else { Err("it runs") }).await;
            let began = Instant::now();
            (recorder.running, recorder.port) = start(&recorder.path("r.db"), connect).await;
            recorder.until_written(written).await;
            return began.elapsed();
        }
    }
    let said = if fault == Fault::DiskFull { "nothing is written at the moment" } else { "recording goes on in" };
    let took = recorder.noticed(before, said).await;
    if fault == Fault::DiskFull {
        limit(&recorder.running, None);
    }
    recorder.until_written(written).await;
    match fault {
        Fault::Move | Fault::SecondRecorder => assert_readable(&moved, written).await,
        Fault::Replace | Fault::Overwrite => assert_eq!(fs::read(&current).expect("it is there"), other),
        Fault::RemoveLog | Fault::DiskFull => assert_readable(&current, written).await,
        Fault::Remove | Fault::Truncate | Fault::Kill => {}
    }
    if let Some(second) = second {
        assert_ne!(recorder.current(), current, "the second one has it");
        second.signal("TERM");
        let ended = second.ended().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_readable(&current, written).await;
    }
    took
}

/// Lets contenders come and go.
async fn churn(client: &Client) {
    let wishes = (0..20).map(|_| (format!("/locks/billing/{}", curator()), b"client".to_vec()));
    let come = zk::create_all(client, CreateMode::EphemeralSequential, wishes).await;
    zk::delete_all(client, come).await;
}

/// Runs each fault this often; each kind has a recorder of its own.
async fn run_faults(rounds: u32) {
    let server = Server::start();
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    zk::make(&client, ["/locks", "/locks/billing"].map(str::to_owned)).await;
    let other = {
        let recorder = Recorder::start(&connect).await;
        recorder.until_written(0).await;
        let path = recorder.path("r.db");
        recorder.running.signal("TERM");
        assert_eq!(recorder.running.ended().await.code, Some(0));
        fs::read(path).expect("a recording")
    };
    for fault in FAULTS {
        let mut recorder = Recorder::start(&connect).await;
        let mut slowest = Duration::ZERO;
        for number in 0..rounds {
            churn(&client).await;
            slowest = slowest.max(round(&mut recorder, fault, number, &connect, &other).await);
        }
        println!("{fault:?}: {rounds} rounds, noticed or restarted after {slowest:?} at most");
        recorder.running.signal("TERM");
        let ended = recorder.running.ended().await;
        assert_eq!(ended.code, Some(if fault.loses() { 2 } else { 0 }), "{fault:?}: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_goes_is_noticed_and_recorded_on() {
    run_faults(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: cargo test --test real -- --ignored --nocapture record_gone"]
async fn a_file_that_goes_fifty_times_is_noticed_and_recorded_on() {
    run_faults(50).await;
}
