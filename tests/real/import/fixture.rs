//! Imports the files of a server, and reads the history from the recording.

use std::fs;
use std::path::{Path, PathBuf};

use lockscope_base::disk::{SnapshotEnd, SnapshotItem, SnapshotReader};
use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Client, CreateMode};

use super::lives::Lives;
use crate::harness::server::Server;
use crate::harness::settings::Settings;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, lockscope, run_long};
use crate::observe::fixture::curator;

/// A hold or a wait of the history. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub czxid: i64,
    pub lock: String,
    pub node: String,
    pub session: String,
    pub enqueued_at: Option<i64>,
    pub acquired_at: Option<i64>,
    /// Whether it ever held, also if nobody knows since when.
    pub held: bool,
    pub released_at: Option<i64>,
    pub end: String,
    pub deleted_by: Option<String>,
}

impl Row {
    fn of(row: &Value, held: bool) -> Self {
        assert_eq!(row["source"], "log", "{row}");
        Self::read(row, held)
    }

    /// Reads a row from whichever source.
    pub fn read(row: &Value, held: bool) -> Self {
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        Self {
            czxid: row["czxid"].as_i64().unwrap_or(-1),
            lock: text("lock").expect("a lock"),
            node: text("node").expect("a node"),
            session: text("session").unwrap_or_default(),
            enqueued_at: milliseconds(&row["enqueued_at"]),
            acquired_at: milliseconds(&row["acquired_at"]),
            held,
            released_at: milliseconds(&row["released_at"]),
            end: text("end").expect("an end"),
            deleted_by: text("deleted_by"),
        }
    }

    /// Returns whether both are about one contender.
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.lock, &self.node) == (&other.lock, &other.node)
    }
}

/// Returns a time of the JSON in milliseconds since 1970.
pub fn milliseconds(time: &Value) -> Option<i64> {
    let text = time.as_str()?;
    Some(chrono::DateTime::parse_from_rfc3339(text).expect("a time").timestamp_millis())
}

/// What an import said, and the history of its recording.
#[derive(Debug)]
pub struct Import {
    pub said: Value,
    pub history: Value,
    pub rows: Vec<Row>,
}

impl Import {
    /// Returns the first transaction of the recording.
    pub fn first_zxid(&self) -> i64 {
        let text = self.said["read"]["first_zxid"].as_str().expect("a transaction");
        i64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
    }

    /// Imports these files and folders. They must not change by it.
    pub async fn of(places: &[&Path]) -> Self {
        Self::with(places, &[]).await
    }

    /// Imports with more options.
    pub async fn with(places: &[&Path], more: &[&str]) -> Self {
        let (said, folder) = Self::attempt(places, more).await;
        let said = said.json();
        let store = store_in(&folder);
        let history =
            run_long(lockscope(&["history", "--store", &store, "--format", "json", "--limit", "1000000"])).await.json();
        let all = |name: &str, held| {
            let rows = history[name].as_array().expect("rows").iter().map(move |row| Row::of(row, held));
            rows.collect::<Vec<_>>()
        };
        let mut rows = [all("holds", true), all("waits", false)].concat();
        rows.sort();
        Self { said, history, rows }
    }

    /// Imports, also what cannot be imported. The recording is in the folder.
    pub async fn attempt(places: &[&Path], more: &[&str]) -> (Ended, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store_in(&folder);
        let places = places.iter().map(|place| place.to_str().expect("text"));
        let arguments: Vec<&str> =
            ["import"].into_iter().chain(places).chain(["--store", &store]).chain(more.iter().copied()).collect();
        (run_long(lockscope(&arguments)).await, folder)
    }

    /// Returns the gaps, as the first and the last missing transaction's neighbours.
    pub fn gaps(&self) -> Vec<(i64, i64)> {
        let zxid = |text: &Value| i64::from_str_radix(text.as_str().expect("text").trim_start_matches("0x"), 16);
        let gaps = self.said["gaps"].as_array().expect("gaps").iter();
        gaps.map(|gap| (zxid(&gap["after_zxid"]).expect("hex"), zxid(&gap["before_zxid"]).expect("hex"))).collect()
    }

    /// Returns what is wrong with the files.
    pub fn damaged(&self) -> Vec<&str> {
        let damaged = self.said["damaged"].as_array().expect("a list").iter();
        damaged.map(|text| text.as_str().expect("text")).collect()
    }
}

fn store_in(folder: &TempDir) -> String {
    folder.path().join("history.db").to_str().expect("text").to_owned()
}

/// Returns the folder with a server's files.
pub fn files_of(server: &Server) -> PathBuf {
    server.folder().join("data/version-2")
}

/// Copies the files whose names are accepted into a new folder.
pub fn copied(from: &Path, wants: impl Fn(&str) -> bool) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(from).expect("the server's files") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_str().expect("text").to_owned();
        if wants(&name) {
            fs::copy(&path, folder.path().join(name)).expect("it can be copied");
        }
    }
    folder
}

/// Returns the names of the files in a folder that begin so, sorted by their transaction.
pub fn named(folder: &Path, begin: &str) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_str().expect("text").to_owned()).collect();
    names.retain(|name| name.starts_with(begin));
    names.sort_by_key(|name| zxid_of(name));
    names
}

/// Returns the transaction in a file's name.
pub fn zxid_of(name: &str) -> i64 {
    i64::from_str_radix(name.split('.').nth(1).expect("a number"), 16).expect("a number")
}

/// Returns each file's name, size and time of change.
pub fn listing(folder: &Path) -> Vec<(String, u64, std::time::SystemTime)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("it is there");
            (entry.file_name().to_str().expect("text").to_owned(), about.len(), about.modified().expect("a time"))
        })
        .collect();
    files.sort();
    files
}

/// A server whose contention is made by one client, one contender at a time.
pub struct Contention {
    pub server: Server,
    pub client: Client,
}

impl Contention {
    /// Starts a server with few transactions in each log, if `few` says how many.
    pub async fn start(few: Option<u32>, properties: &[&str]) -> Self {
        let mut settings =
            few.map_or(Settings::default(), |few| Settings::default().property(&format!("zookeeper.snapCount={few}")));
        for property in properties {
            settings = settings.property(property);
        }
        let server = settings.start();
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/locks/a".to_owned(), "/locks/b".to_owned()]).await;
        Self { server, client }
    }

    /// Creates a contender. Returns its path.
    pub async fn comes(&self, lock: &str) -> String {
        let wish = [(format!("{lock}/{}", curator()), b"worker".to_vec())];
        zk::create_all(&self.client, CreateMode::EphemeralSequential, wish).await.remove(0)
    }

    /// Deletes a contender.
    pub async fn goes(&self, path: &str) {
        zk::delete_all(&self.client, [path.to_owned()]).await;
    }

    /// Keeps at most three contenders in each lock while `rounds` come and go.
    pub async fn churns(&self, rounds: usize) {
        for round in 0..rounds {
            let lock = ["/locks/a", "/locks/b"][round % 2];
            let (first, second) = (self.comes(lock).await, self.comes(lock).await);
            self.goes(if round % 3 == 0 { &second } else { &first }).await;
            self.goes(if round % 3 == 0 { &first } else { &second }).await;
        }
    }

    /// Returns the server's files.
    pub fn files(&self) -> PathBuf {
        files_of(&self.server)
    }

    /// Waits until all that was answered is in the files, and no snapshot is being written. Returns
    /// what the logs say.
    pub async fn lives(&self) -> Lives {
        let marker = format!("/marker-{}", fastrand::u64(..));
        zk::make(&self.client, [marker.clone()]).await;
        let files = self.files();
        let lives = eventually("a log with the last transaction", async || {
            let lives = Lives::read(&files);
            if lives.made.contains(&marker) { Ok(lives) } else { Err(lives.last_zxid) }
        })
        .await;
        eventually("whole snapshots", async || {
            let unfinished: Vec<String> =
                named(&files, "snapshot.").into_iter().filter(|name| !is_whole(&files.join(name))).collect();
            if unfinished.is_empty() { Ok(()) } else { Err(unfinished) }
        })
        .await;
        lives
    }
}

/// Returns whether a snapshot has its end. Packed ones are taken to have it.
fn is_whole(snapshot: &Path) -> bool {
    if snapshot.extension().is_some_and(|extension| extension == "gz" || extension == "snappy") {
        return true;
    }
    let Ok(mut reader) = SnapshotReader::open(fs::File::open(snapshot).expect("a snapshot")) else { return false };
    loop {
        if let SnapshotItem::End(end) = reader.read().expect("the snapshot can be read") {
            return matches!(end, SnapshotEnd::Whole { .. });
        }
    }
}
