//! `lockscope record` on a disk that fills up and has room again, and on a read-only disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Client, CreateMode};

use super::program::{PROGRAM, Running, run};
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::observe::fixture::curator;

/// More than a recorder buffers while it cannot write, in bytes.
const TOO_MUCH: usize = 24 << 20;

/// The recorded bytes of a node's data.
const DATA: usize = 4096;

/// A disk that a test fills.
enum SmallDisk {
    /// A file system in memory, mounted in a namespace that `keeper` keeps alive.
    Mounted { keeper: Running, folder: TempDir },
    /// Used where the system allows no such mount: a limit on the size of files that the recorder
    /// writes. To the recorder this is a full disk (`EFBIG` instead of `ENOSPC`).
    Limited { folder: TempDir },
}

impl SmallDisk {
    /// Mounts a disk in memory with room for several times the recorder's buffer. Returns `None`,
    /// and prints a line, where the system does not allow this.
    async fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let script =
            "mkdir \"$0/disk\" && mount -t tmpfs -o size=128m none \"$0/disk\" && echo mounted && exec sleep 600";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(folder.path());
        let mut keeper = Running::start(command);
        if keeper.line().await.as_deref() == Some("mounted\n") {
            return Some(Self::Mounted { keeper, folder });
        }
        println!("NOT TESTED: a disk in memory, for nothing can be mounted here: {}", keeper.ended().await.stderr);
        None
    }

    fn limited() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("disk")).expect("a folder");
        Self::Limited { folder }
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Mounted { folder, .. } | Self::Limited { folder } => folder.path(),
        }
    }

    /// Returns the path of the recording for a program on that disk.
    fn store(&self) -> String {
        word(&self.folder().join("disk/locks.db"))
    }

    /// Returns the program's stderr.
    fn log(&self) -> String {
        fs::read_to_string(self.folder().join("stderr")).unwrap_or_default()
    }

    /// Returns the program on that disk, with its stderr in a file.
    fn command(&self, arguments: &[&str]) -> Command {
        let script = match self {
            Self::Mounted { .. } => "exec \"$@\" 2>>\"$0\"",
            // Without ignoring the signal, the program would be killed by the first byte beyond the
            // limit. The limit applies to every file, so stderr goes through a pipe.
            Self::Limited { .. } => "trap '' XFSZ; mkfifo \"$0.$$\"; cat \"$0.$$\" >>\"$0\" & exec \"$@\" 2>\"$0.$$\"",
        };
        let shell = ["sh", "-c", script, &word(&self.folder().join("stderr")), PROGRAM].map(str::to_owned);
        let mut words = match self {
            Self::Mounted { keeper, .. } => {
                ["nsenter", "--user", "--mount", "--preserve-credentials", "--target", &keeper.id().to_string()]
                    .map(str::to_owned)
                    .to_vec()
            }
            Self::Limited { .. } => Vec::new(),
        };
        words.extend(shell);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(arguments).env_clear().env("HOME", "/nonexistent").env("LANG", "C.UTF-8");
        command
    }

    /// Returns the path of a file on the disk for this process.
    fn seen(&self, name: &str) -> PathBuf {
        match self {
            Self::Mounted { keeper, folder } => {
                let inside = folder.path().join("disk").join(name);
                Path::new(&format!("/proc/{}/root", keeper.id())).join(inside.strip_prefix("/").expect("absolute"))
            }
            Self::Limited { folder } => folder.path().join("disk").join(name),
        }
    }

    /// Fills the disk: nothing more can be written.
    fn fill(&self, recorder: &Running) {
        match self {
            Self::Mounted { .. } => {
                let mut filler = File::create(self.seen("filler")).expect("a file");
                for size in [1 << 20, 4096, 1] {
                    while filler.write_all(&vec![0; size]).is_ok() {}
                }
            }
            Self::Limited { .. } => limit(recorder, Some(0)),
        }
    }

    /// Makes room again.
    fn make_room(&self, recorder: &Running) {
        match self {
            Self::Mounted { .. } => fs::remove_file(self.seen("filler")).expect("it is removed"),
            Self::Limited { .. } => limit(recorder, None),
        }
    }

    /// Returns a copy of the closed recording that any program can read.
    fn copy(&self) -> PathBuf {
        let copy = self.folder().join("copy.db");
        fs::copy(self.seen("locks.db"), &copy).expect("it is copied");
        copy
    }
}

/// Limits the size of files that the process writes, in bytes. Sets only the soft limit, so no
/// privilege is needed.
fn limit(process: &Running, bytes: Option<u64>) {
    let process = i32::try_from(process.id()).ok().and_then(Pid::from_raw).expect("a process id");
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = Rlimit { current: bytes.or(maximum), maximum };
    prlimit(Some(process), Resource::Fsize, limit).expect("a limit of one's own process");
}

fn word(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

async fn until_said(disk: &SmallDisk, sentence: &str, times: usize) {
    eventually(sentence, async || {
        let log = disk.log();
        if log.matches(sentence).count() >= times { Ok(()) } else { Err(log) }
    })
    .await;
}

/// Returns the program's JSON output about the recording, line by line.
async fn lines(disk: &SmallDisk, command: &str) -> Vec<Value> {
    let printed = run(disk.command(&[command, "--store", &disk.store(), "--format", "json"])).await;
    printed.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the contenders' nodes at the end of the recording.
async fn nodes(disk: &SmallDisk) -> Vec<String> {
    let shot = lines(disk, "snapshot").await;
    let locks = shot.first().and_then(|shot| shot["locks"].as_array().cloned()).unwrap_or_default();
    let contenders = locks.iter().flat_map(|lock| lock["contenders"].as_array().cloned().unwrap_or_default());
    contenders.filter_map(|one| one["node"].as_str().map(|node| format!("/locks/billing/{node}"))).collect()
}

async fn until_recorded(disk: &SmallDisk, expected: &[String]) {
    eventually("a recording that is up to date", async || {
        let found = nodes(disk).await;
        if found == expected { Ok(()) } else { Err(found) }
    })
    .await;
}

async fn contender(client: &Client) -> String {
    let prefix = format!("/locks/billing/{}", curator());
    zk::create_all(client, CreateMode::EphemeralSequential, [(prefix, Vec::new())]).await.remove(0)
}

/// Causes more changes than a recorder buffers: contenders with incompressible data come and go.
async fn crowd(client: &Client, bytes: usize) {
    let mut standing = Vec::new();
    for _ in 0..bytes.div_ceil(DATA * 500) {
        let wishes = (0..500).map(|_| {
            let data: Vec<u8> =
                std::iter::repeat_with(|| uuid::Uuid::new_v4().into_bytes()).take(DATA / 16).flatten().collect();
            (format!("/locks/billing/{}", curator()), data)
        });
        let come = zk::create_all(client, CreateMode::EphemeralSequential, wishes).await;
        zk::delete_all(client, std::mem::replace(&mut standing, come)).await;
    }
    zk::delete_all(client, standing).await;
}

async fn start(disk: &SmallDisk, server: &Server) -> Running {
    let connect = server.connect_string();
    let audit = word(&disk.folder().join("audit.jsonl"));
    let mut running = Running::start(disk.command(&[
        "record",
        "--store",
        &disk.store(),
        "--connect",
        &connect,
        "--session-timeout",
        "10s",
        "--audit-log",
        &audit,
    ]));
    let first = running.line().await.unwrap_or_else(|| panic!("{}", disk.log()));
    assert!(first.contains("recording"), "{first}");
    running
}

/// Changes of a short time are written later; for too many changes, a gap says why nothing is
/// known.
async fn a_full_disk_loses_nothing_but_what_the_gap_says(disk: SmallDisk) {
    const FULL: &str = "nothing is written at the moment, and tried again: ";
    const WRITTEN: &str = "the recording is written again";
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks", "/locks/billing"].map(str::to_owned)).await;
    let recorder = start(&disk, &server).await;
    let mut standing = vec![contender(&client).await];
    until_recorded(&disk, &standing).await;

    disk.fill(&recorder);
    standing.push(contender(&client).await);
    until_said(&disk, FULL, 1).await;
    disk.make_room(&recorder);
    until_said(&disk, WRITTEN, 1).await;
    until_recorded(&disk, &standing).await;
    let is_gap = |event: &Value| event["event"] == "gap";
    assert!(!lines(&disk, "watch").await.iter().any(is_gap), "nothing is missing");

    // How much reaches the recorder while the disk is full is unknown, so the amount grows until it
    // is too much.
    let mut bytes = TOO_MUCH;
    for time in 2.. {
        disk.fill(&recorder);
        crowd(&client, bytes).await;
        until_said(&disk, FULL, time).await;
        standing.push(contender(&client).await);
        disk.make_room(&recorder);
        until_said(&disk, WRITTEN, time).await;
        until_recorded(&disk, &standing).await;
        if lines(&disk, "watch").await.iter().any(is_gap) {
            break;
        }
        bytes *= 2;
    }

    recorder.signal("TERM");
    let ended = recorder.ended().await;
    assert_eq!(ended.code, Some(2), "something is lost: {}", disk.log());
    let events = lines(&disk, "watch").await;
    let gaps: Vec<&Value> = events.iter().filter(|event| is_gap(event)).collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    for node in &standing[..2] {
        let name = node.rsplit('/').next().expect("a name");
        let of = |event: &&Value| event["node"] == name && event["at"].as_str() < gaps[0]["at"].as_str();
        assert!(events.iter().any(|event| of(&event)), "{node} came before the gap");
    }
    let copy = Connection::open(disk.copy()).expect("a recording");
    let check: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
    assert_eq!(check, "ok");
    let mut reasons =
        copy.prepare("SELECT reason FROM gap WHERE began_at > (SELECT min(began_at) FROM recording)").expect("a query");
    let reasons: Vec<String> =
        reasons.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("text")).collect();
    let [reason] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert!(reason.starts_with("events could not be written: "), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_causes_a_gap_with_its_reason_and_the_recording_continues() {
    let disk = SmallDisk::mounted().await.unwrap_or_else(SmallDisk::limited);
    a_full_disk_loses_nothing_but_what_the_gap_says(disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_on_a_read_only_disk_can_be_read_but_not_extended() {
    let Some(disk) = SmallDisk::mounted().await else { return };
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks", "/locks/billing"].map(str::to_owned)).await;
    let recorder = start(&disk, &server).await;
    let standing = [contender(&client).await];
    until_recorded(&disk, &standing).await;
    recorder.signal("TERM");
    assert_eq!(recorder.ended().await.code, Some(0), "{}", disk.log());

    let SmallDisk::Mounted { keeper, folder } = &disk else { panic!("it is mounted") };
    let mut remount = Command::new("nsenter");
    remount.args(["--user", "--mount", "--preserve-credentials", "--target", &keeper.id().to_string()]);
    remount.args(["mount", "-o", "remount,ro"]).arg(folder.path().join("disk"));
    assert_eq!(run(remount).await.done(), "");
    assert_eq!(nodes(&disk).await, standing);
    let connect = server.connect_string();
    for store in [disk.store(), disk.store() + ".new"] {
        let before = disk.log();
        let ended = run(disk.command(&["record", "--store", &store, "--connect", &connect])).await;
        let said = disk.log().split_off(before.len());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{said}");
        assert!(said.contains(&store) && said.to_lowercase().contains("read-only"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
