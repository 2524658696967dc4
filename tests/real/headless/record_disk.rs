//! `lockscope record` on a disk that becomes full and has room again, and on one that cannot be written.

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

/// More than a recorder remembers of what it cannot write, in bytes.
const TOO_MUCH: usize = 24 << 20;

/// As much as is recorded of a node's data, in bytes.
const DATA: usize = 4096;

/// A disk that a test fills.
enum SmallDisk {
    /// A file system in memory, of a namespace of its own, which this process keeps.
    Mounted { keeper: Running, folder: TempDir },
    /// Where the system allows no such thing: a limit on the size of the files that the recorder writes. To it that is a disk that takes
    /// nothing (`EFBIG` in place of `ENOSPC`).
    Limited { folder: TempDir },
}

impl SmallDisk {
    /// A disk in memory, with room for what a recorder holds back several times. `None` where the system does not
    /// allow it, and a line that says so.
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

    /// The recording, as a program on that disk names it.
    fn store(&self) -> String {
        word(&self.folder().join("disk/locks.db"))
    }

    /// What the program says on stderr, in the order in which it is said.
    fn log(&self) -> String {
        fs::read_to_string(self.folder().join("stderr")).unwrap_or_default()
    }

    /// The program with that disk, and with its stderr in a file.
    fn command(&self, arguments: &[&str]) -> Command {
        let script = match self {
            Self::Mounted { .. } => "exec \"$@\" 2>>\"$0\"",
            // A program that does not ignore the signal would be ended by the first byte beyond the limit, which holds for every file:
            // what it says goes through a pipe.
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

    /// A file on the disk, as this process sees it.
    fn seen(&self, name: &str) -> PathBuf {
        match self {
            Self::Mounted { keeper, folder } => {
                let inside = folder.path().join("disk").join(name);
                Path::new(&format!("/proc/{}/root", keeper.id())).join(inside.strip_prefix("/").expect("absolute"))
            }
            Self::Limited { folder } => folder.path().join("disk").join(name),
        }
    }

    /// Nothing more can be written.
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

    /// There is room again.
    fn make_room(&self, recorder: &Running) {
        match self {
            Self::Mounted { .. } => fs::remove_file(self.seen("filler")).expect("it is removed"),
            Self::Limited { .. } => limit(recorder, None),
        }
    }

    /// The recording that was closed, where any program can read it.
    fn copy(&self) -> PathBuf {
        let copy = self.folder().join("copy.db");
        fs::copy(self.seen("locks.db"), &copy).expect("it is copied");
        copy
    }
}

/// Bounds the files that the process writes, in bytes. Only the bound that it may raise itself, so no right is needed.
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

/// What the program prints of the recording, as JSON, line by line.
async fn lines(disk: &SmallDisk, command: &str) -> Vec<Value> {
    let printed = run(disk.command(&[command, "--store", &disk.store(), "--format", "json"])).await;
    printed.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The nodes of the contenders that the recording shows at its end.
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

/// More happens than a recorder remembers: contenders with data that cannot be made smaller come, and go again.
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

/// What is short is written later; of what is too much, the gap says why nothing is known.
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

    // How much reaches the recorder while the disk is full is not known: more each time, until it is too much.
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
    assert_eq!(ended.code, Some(0), "{}", disk.log());
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
    assert!(reason.starts_with("what happened could not be written: "), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_makes_a_gap_with_its_reason_and_recording_goes_on() {
    let disk = SmallDisk::mounted().await.unwrap_or_else(SmallDisk::limited);
    a_full_disk_loses_nothing_but_what_the_gap_says(disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_on_a_disk_that_cannot_be_written_is_read_and_not_recorded_into() {
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
