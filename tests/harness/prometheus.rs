//! A real Prometheus that scrapes, and `promtool`. Both come from Debian's package `prometheus`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::process::Supervised;
use super::wait::eventually;

/// Answer timeout.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running Prometheus. It ends when dropped.
#[derive(Debug)]
pub struct Prometheus {
    port: u16,
    _process: Supervised,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts a Prometheus with these lines of its config. It scrapes and evaluates once a second.
    pub async fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n{config}");
        std::fs::write(folder.path().join("prometheus.yml"), text).expect("written");
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).expect("a port").port();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let command = [
            "prometheus".to_owned(),
            format!("--config.file={}", path("prometheus.yml")),
            format!("--storage.tsdb.path={}", path("data")),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ];
        let process = Supervised::start(folder.path(), &command);
        let log = folder.path().join("log");
        eventually("Prometheus, which tests/run --install-only installs", async || {
            let (status, _) = get(port, "/-/ready", &[]).map_err(|error| error.to_string())?;
            let reason = || std::fs::read_to_string(&log).unwrap_or_default();
            if status == 200 { Ok(()) } else { Err(reason()) }
        })
        .await;
        Self { port, _process: process, _folder: folder }
    }

    /// Returns the answer of the API for a path.
    pub fn api(&self, path: &str) -> Value {
        let (status, body) = get(self.port, &format!("/api/v1/{path}"), &[]).expect("an answer");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str::<Value>(&body).expect("JSON")["data"].take()
    }

    /// Evaluates an expression now. Returns the labels and the value of each sample.
    pub fn query(&self, expression: &str) -> Vec<(Value, String)> {
        let encoded = expression.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let found = self.api(&format!("query?query={encoded}"));
        let samples = found["result"].as_array().expect("a vector").iter();
        samples.map(|one| (one["metric"].clone(), one["value"][1].as_str().expect("a value").to_owned())).collect()
    }
}

/// Sends a GET request to a server on this machine. Returns the status and the body.
pub fn get(port: u16, path: &str, headers: &[&str]) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let headers = [headers, &[""]].concat().join("\r\n");
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::InvalidData)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, body.to_owned()))
}

/// Runs `promtool`, which must not complain.
pub fn promtool(arguments: &[&str], input: &str) {
    let mut command = Command::new("promtool");
    let piped = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("promtool, which tests/run --install-only installs");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A program that does not read its input may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "promtool {arguments:?}: {said}");
}

/// Returns the path of one of the crate's files.
pub fn asset(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(name).display().to_string()
}
