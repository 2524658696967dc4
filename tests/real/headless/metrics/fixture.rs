//! A recorder with metrics of a real server, and a scripted incident.

use std::collections::BTreeMap;

use serde_json::Value;
use tempfile::TempDir;
use zookeeper_client::{Client, CreateMode, OneshotWatcher};

use crate::harness::prometheus::get;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;
use crate::headless::program::{Ended, Running, lockscope, run};
use crate::observe::fixture::curator;

/// How long a lock is held while others wait before it counts as stuck.
pub const STUCK_AFTER: &str = "2s";

pub struct MetricsFixture {
    pub server: Server,
    pub folder: TempDir,
    pub running: Running,
    /// The port of the metrics.
    pub port: u16,
}

/// The samples of a scrape: the values by series, which are named as in the text.
pub type Samples = BTreeMap<String, f64>;

impl MetricsFixture {
    /// Starts a recorder with metrics and these additional options. Returns after the first full
    /// reading.
    pub async fn start(more: &[&str]) -> Self {
        let server = Server::start();
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/locks/a", "/locks/b", "/locks/billing", "/locks/own"].map(str::to_owned)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (store, connect) = (folder.path().join("locks.db").display().to_string(), server.connect_string());
        let own = ["record", "--store", &store, "--metrics", "0", "--connect", &connect, "--stuck-after", STUCK_AFTER];
        let mut running = Running::start(lockscope(&[&own[..], more].concat()));
        let first: Value = serde_json::from_str(&running.line().await.expect("a line")).expect("JSON");
        assert!(first["recording"].as_str().is_some_and(|file| file.ends_with("locks.db")), "{first}");
        let address = first["metrics"].as_str().expect("an address");
        let port =
            address.strip_prefix("127.0.0.1:").and_then(|port| port.parse().ok()).expect("a port of this machine");
        Self { server, folder, running, port }
    }

    /// Waits until everything was read.
    pub async fn until_healthy(&self) {
        eventually("good health", async || match get(self.port, "/healthz", &[]) {
            Ok((200, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }

    /// Waits until everything was read again after `gaps` gaps.
    pub async fn until_up_after(&self, gaps: f64, login: &str) {
        eventually("a reading of everything", async || {
            let (_, text) = get(self.port, "/metrics", &[login]).map_err(|error| error.to_string())?;
            let samples = samples(&text);
            let seen = (sum(&samples, "lockscope_gaps_total", &[]), sum(&samples, "lockscope_up", &[]));
            if seen == (Some(gaps), Some(1.0)) { Ok(()) } else { Err(format!("{seen:?}")) }
        })
        .await;
    }

    /// Opens a session.
    pub async fn client(&self) -> Client {
        zk::connect(&self.server.connect_string()).await
    }

    pub fn store(&self) -> String {
        self.folder.path().join("locks.db").display().to_string()
    }

    /// Returns the metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let (status, text) = get(self.port, "/metrics", &[]).expect("an answer");
        assert_eq!(status, 200, "{text}");
        text
    }

    pub fn samples(&self) -> Samples {
        samples(&self.text())
    }

    /// Runs a command that reads the ensemble, with the recorder's thresholds.
    pub async fn ask(&self, command: &[&str]) -> Ended {
        let connect = self.server.connect_string();
        run(lockscope(&[command, &["--connect", &connect, "--stuck-after", STUCK_AFTER, "--format", "json"]].concat()))
            .await
    }
}

/// Parses the samples in a text. No name in these tests contains a blank.
pub fn samples(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a series and its value");
            (series.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

/// Returns the sum over the series of a family with all of these labels, written as in the text;
/// `None` without such series.
pub fn sum(samples: &Samples, family: &str, labels: &[&str]) -> Option<f64> {
    let of_family = samples.iter().filter(|(series, _)| series.split('{').next() == Some(family));
    let found = of_family.filter(|(series, _)| labels.iter().all(|label| series.contains(label)));
    found.map(|(_, value)| *value).reduce(|sum, value| sum + value)
}

/// Creates a contender of this session. Returns its path.
pub async fn comes(client: &Client, lock: &str) -> String {
    comes_as(client, lock, CreateMode::EphemeralSequential).await
}

/// Creates a contender with this mode. Returns its path.
pub async fn comes_as(client: &Client, lock: &str, mode: CreateMode) -> String {
    let prefix = format!("{lock}/{}", curator());
    let (_, number) = client.create(&prefix, b"10.0.4.17", &zk::open(mode)).await.expect("it is created");
    format!("{prefix}{number}")
}

/// Creates a contender that watches the one before it, as Curator does, for as long as the watcher
/// is kept.
pub async fn waits(client: &Client, lock: &str, before: &str) -> OneshotWatcher {
    comes(client, lock).await;
    client.get_and_watch_data(before).await.expect("it is there").2
}

pub async fn goes(client: &Client, path: &str) {
    client.delete(path, None).await.expect("it is deleted");
}
