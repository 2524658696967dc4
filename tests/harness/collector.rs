//! A real collector, rotel, and what it forwards.
//!
//! `tests/run --install-only` installs it below `target/rotel`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tempfile::TempDir;

use super::process::Supervised;
use super::signal;
use super::wait::eventually;

/// How long a connection of the collector may be silent.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the collector forwarded.
#[derive(Debug, Default)]
struct Forwarded {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
}

/// A collector that forwards to the test. It may be stopped and started again.
#[derive(Debug)]
pub struct Collector {
    port: u16,
    sink: u16,
    forwarded: Arc<Mutex<Forwarded>>,
    process: Option<(Supervised, TempDir)>,
}

impl Collector {
    /// Starts a collector.
    pub async fn start() -> Self {
        let mut collector = Self::stopped();
        collector.start_again().await;
        collector
    }

    /// Creates a collector that does not run yet, but has an address.
    pub fn stopped() -> Self {
        let forwarded = Arc::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let sink = listener.local_addr().expect("an address").port();
        let kept = Arc::clone(&forwarded);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                thread::spawn(move || keep(stream, &kept));
            }
        });
        Self { port: free_port(), sink, forwarded, process: None }
    }

    /// Returns the address for `--otlp`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts the collector at the same address.
    pub async fn start_again(&mut self) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/rotel/rotel/rotel-agent");
        assert!(program.exists(), "{} is missing: tests/run --install-only installs it", program.display());
        let mut command: Vec<String> = vec![program.display().to_string(), "start".to_owned()];
        for (option, value) in [
            ("otlp-http-endpoint", format!("127.0.0.1:{}", self.port)),
            ("otlp-grpc-endpoint", format!("127.0.0.1:{}", free_port())),
            ("exporter", "otlp".to_owned()),
            ("otlp-exporter-endpoint", format!("http://127.0.0.1:{}", self.sink)),
            ("otlp-exporter-protocol", "http".to_owned()),
        ] {
            command.extend([format!("--{option}"), value]);
        }
        command.push("--disable-batching".to_owned());
        let folder = tempfile::tempdir().expect("a folder");
        self.process = Some((Supervised::start(folder.path(), &command), folder));
        let port = self.port;
        eventually("a collector", async || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop)).await;
    }

    /// Stops the collector, after it has forwarded what it took.
    pub async fn stop(&mut self) {
        let (process, _folder) = self.process.take().expect("it runs");
        signal::send(process.pid(), "TERM");
        eventually("the end of the collector", async || if process.runs() { Err("it runs") } else { Ok(()) }).await;
    }

    /// Returns all spans so far, whose names begin so.
    pub fn spans(&self, prefix: &str) -> Vec<Span> {
        let forwarded = self.forwarded.lock().expect("no panic");
        forwarded.spans.iter().filter(|span| span.name.starts_with(prefix)).cloned().collect()
    }

    /// Returns all points of metrics so far.
    pub fn metrics(&self) -> Vec<Metric> {
        self.forwarded.lock().expect("no panic").metrics.clone()
    }
}

/// Returns an attribute as a text; empty if it is missing.
pub fn attribute(attributes: &[KeyValue], name: &str) -> String {
    let found = attributes.iter().find(|pair| pair.key == name).and_then(|pair| pair.value.clone()?.value);
    match found {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        None => String::new(),
        Some(other) => panic!("{name}: {other:?}"),
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr()).expect("a port").port()
}

/// Keeps the messages of one connection.
fn keep(mut stream: TcpStream, kept: &Mutex<Forwarded>) {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    while let Ok((path, body)) = request(&mut stream) {
        let mut kept = kept.lock().expect("no panic");
        if path.ends_with("/traces") {
            let message = ExportTraceServiceRequest::decode(&body[..]).expect("spans");
            let scopes = message.resource_spans.into_iter().flat_map(|of| of.scope_spans);
            kept.spans.extend(scopes.flat_map(|scope| scope.spans));
        } else {
            let message = ExportMetricsServiceRequest::decode(&body[..]).expect("metrics");
            let scopes = message.resource_metrics.into_iter().flat_map(|of| of.scope_metrics);
            kept.metrics.extend(scopes.flat_map(|scope| scope.metrics));
        }
        drop(kept);
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads one request. Returns its path and its body.
fn request(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut body)?;
    if head.contains("content-encoding: gzip") {
        let packed = std::mem::take(&mut body);
        GzDecoder::new(&packed[..]).read_to_end(&mut body)?;
    }
    Ok((head.split(' ').nth(1).unwrap_or_default().to_owned(), body))
}
