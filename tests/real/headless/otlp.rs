//! `lockscope record --otlp` with a real collector: read back from what the collector forwards.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use tempfile::TempDir;
use zookeeper_client::CreateMode;

use super::metrics::fixture::{comes, comes_as, goes};
use super::program::{Running, lockscope};
use crate::harness::certificates::Certificates;
use crate::harness::collector::{Collector, attribute};
use crate::harness::foreign::{Foreign, kazoo_program};
use crate::harness::process::Supervised;
use crate::harness::prometheus::get;
use crate::harness::server::Server;
use crate::harness::spans::compare;
use crate::harness::wait::eventually;
use crate::harness::zk;
use lockscope_base::trace_context::TraceContext;
use lockscope_lock::{Algorithm, Lock, LockOptions};

/// A recorder of a real server that sends to a collector.
struct OtlpFixture {
    server: Server,
    collector: Collector,
    running: Running,
    /// The port of the metrics.
    port: u16,
    _folder: TempDir,
}

impl OtlpFixture {
    async fn start(collector: Collector, more: &[&str]) -> Self {
        let server = Server::start();
        let client = zk::connect(&server.connect_string()).await;
        zk::make(&client, ["/locks/orders".to_owned()]).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (connect, url) = (server.connect_string(), collector.url());
        let audit = folder.path().join("audit.jsonl").display().to_string();
        let own = ["record", "--otlp", &url, "--connect", &connect, "--audit-log", &audit, "--metrics", "0"];
        let mut running = Running::start(lockscope(&[&own[..], more].concat()));
        let first: serde_json::Value = serde_json::from_str(&running.line().await.expect("a line")).expect("JSON");
        assert_eq!(first["otlp"], url);
        let address = first["metrics"].as_str().expect("an address");
        let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        eventually("a first reading", async || match get(port, "/healthz", &[]) {
            Ok((200, _)) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        Self { server, collector, running, port, _folder: folder }
    }

    /// Lets kazoo's locks contend, each round once for each thread.
    async fn churn(&self, threads: usize, rounds: usize) {
        let mut kazoo = Foreign::kazoo(&self.server.connect_string());
        kazoo.connect("a").await;
        kazoo.churn("a", "lock", "/locks/orders", threads, rounds).await;
        assert_eq!(kazoo.churned("a").await, threads * rounds);
        kazoo.quit().await;
    }

    /// Waits until a holder is read.
    async fn until_it_sees_a_holder(&self) {
        self.until_it_measures("lockscope_lock_held_seconds{").await;
    }

    /// Waits until a time in the metrics is above zero.
    async fn until_it_measures(&self, series: &str) {
        eventually("a time in the metrics", async || {
            let (_, text) = get(self.port, "/metrics", &[]).map_err(|error| error.to_string())?;
            let measures = |line: &str| line.starts_with(series) && !line.ends_with(" 0.0");
            if text.lines().any(measures) { Ok(()) } else { Err(text) }
        })
        .await;
    }

    /// Waits for the span of the only gap. Returns its reason.
    async fn gap(&self) -> String {
        let gaps = eventually("a gap", async || match self.collector.spans("gap") {
            gaps if gaps.is_empty() => Err(gaps),
            gaps => Ok(gaps),
        })
        .await;
        let [gap] = &gaps[..] else { panic!("one gap: {gaps:?}") };
        assert!(gap.end_time_unix_nano > gap.start_time_unix_nano, "{gap:?}");
        attribute(&gap.attributes, "lockscope.reason")
    }

    async fn until_held(&self, holds: usize) -> Vec<Span> {
        eventually("all holds", async || match self.collector.spans("hold /locks/orders") {
            spans if spans.len() >= holds => Ok(spans),
            spans => Err(spans.len()),
        })
        .await
    }
}

fn node(span: &Span) -> String {
    attribute(&span.attributes, "zookeeper.node")
}

fn by_node(spans: &[Span]) -> BTreeMap<String, &Span> {
    let found: BTreeMap<_, _> = spans.iter().map(|span| (node(span), span)).collect();
    assert_eq!(found.len(), spans.len(), "no node has two spans of a kind");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn each_hold_and_each_wait_arrives_once_with_its_times_and_the_hold_that_it_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("locks.db");
    let store_word = store.display().to_string();
    let mut fixture = OtlpFixture::start(Collector::start().await, &["--store", &store_word]).await;
    // So many that a busy machine, on which the threads meet less often, shows enough waits too.
    fixture.churn(4, 80).await;
    let holds = fixture.until_held(320).await;
    fixture.running.signal("TERM");
    assert_eq!(fixture.running.ended().await.stderr, "");
    let compared = eventually("the last waits", async || match compare(&fixture.collector, &store) {
        Ok(compared) if compared.missing == 0 => Ok(compared),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert_eq!((compared.holds, compared.linked), (320, compared.waits));
    assert!(compared.waits > 80, "four threads wait for each other: {compared:?}");
    let roots: BTreeSet<_> =
        fixture.collector.spans("lock /locks/orders").into_iter().map(|lock| (lock.trace_id, lock.span_id)).collect();
    assert!(holds.into_iter().all(|hold| roots.contains(&(hold.trace_id, hold.parent_span_id))));

    assert!(fixture.collector.spans("gap").is_empty());
    let (connect, url) = (fixture.server.connect_string(), fixture.collector.url());
    fixture.running =
        Running::start(lockscope(&["record", "--otlp", &url, "--connect", &connect, "--store", &store_word]));
    assert_eq!(fixture.gap().await, "the recorder was not running");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_while_the_collector_is_away_arrives_once_when_it_is_back() {
    let mut fixture = OtlpFixture::start(Collector::start().await, &[]).await;
    fixture.churn(2, 10).await;
    fixture.until_held(20).await;
    fixture.collector.stop().await;
    fixture.churn(2, 200).await;
    eventually("the note that nothing arrives", async || {
        let said = fixture.running.said_now();
        if said.contains("not all spans and metrics arrive") { Ok(()) } else { Err(said) }
    })
    .await;
    fixture.collector.start_again().await;
    let holds = fixture.until_held(420).await;
    by_node(&holds);
    by_node(&fixture.collector.spans("wait /locks/orders"));
    eventually("the note that all is well", async || {
        let said = fixture.running.said_now();
        if said.contains("spans and metrics are sent again\n") { Ok(()) } else { Err(said) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_arrive_and_without_data_nothing_of_a_node_s_data_is_sent() {
    let fixture = OtlpFixture::start(Collector::start().await, &["--no-data"]).await;
    let client = zk::connect(&fixture.server.connect_string()).await;
    let node = comes(&client, "/locks/orders").await;
    fixture.until_it_sees_a_holder().await;
    goes(&client, &node).await;
    let [hold] = &fixture.until_held(1).await[..] else { panic!("one hold") };
    assert_eq!(attribute(&hold.attributes, "zookeeper.session"), zk::session_of(&client).to_string());
    for name in ["lockscope.data", "service.peer.name"] {
        assert_eq!(attribute(&hold.attributes, name), "", "{hold:?}");
    }
    let locks = eventually("metrics", async || {
        let metrics = fixture.collector.metrics();
        let found = metrics.into_iter().find(|metric| metric.name == "lockscope_locks");
        found.ok_or("none yet")
    })
    .await;
    let Some(Data::Gauge(gauge)) = &locks.data else { panic!("a gauge: {locks:?}") };
    assert_eq!(attribute(&gauge.data_points[0].attributes, "ensemble"), fixture.server.connect_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_finds_its_wait_in_its_own_trace_beside_the_hold_that_it_waited_for() {
    let fixture = OtlpFixture::start(Collector::start().await, &[]).await;
    let context: TraceContext = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().expect("a context");
    let holder = zk::connect(&fixture.server.connect_string()).await;
    let held = comes_as(&holder, "/locks/orders", CreateMode::EphemeralSequential).await;
    let client = zk::connect(&fixture.server.connect_string()).await;
    let options = LockOptions::default().data("worker-7").trace_context(context);
    let lock = Lock::with(&client, "/locks/orders", Algorithm::Chain, options).expect("a lock");
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    // A wait without a length is none.
    fixture.until_it_measures("lockscope_lock_waited_seconds{").await;
    goes(&holder, &held).await;
    acquiring.await.expect("no panic").expect("it is acquired").release().await.expect("it is released");
    let holds = by_trace(&fixture.until_held(2).await);
    let waits = by_trace(&fixture.collector.spans("wait /locks/orders"));
    let (own_hold, own_wait) = (&holds[&context.trace.bytes()[..]], &waits[&context.trace.bytes()[..]]);
    for span in [own_hold, own_wait] {
        assert_eq!(span.parent_span_id, context.span.bytes());
        assert_eq!(attribute(&span.attributes, "service.peer.name"), "worker-7");
    }
    let other = holds.values().find(|hold| hold.trace_id != own_hold.trace_id).expect("the other hold");
    assert!(own_wait.links.iter().any(|link| link.span_id == other.span_id), "{own_wait:?}");
}

fn by_trace(spans: &[Span]) -> BTreeMap<Vec<u8>, Span> {
    spans.iter().map(|span| (span.trace_id.clone(), span.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_goes_on_when_the_settings_are_read_again() {
    let fixture = OtlpFixture::start(Collector::start().await, &[]).await;
    let client = zk::connect(&fixture.server.connect_string()).await;
    let node = comes(&client, "/locks/orders").await;
    let stat = client.check_stat(&node).await.expect("an answer").expect("it is there");
    fixture.until_it_sees_a_holder().await;
    fixture.running.signal("HUP");
    eventually("counters that begin anew", async || {
        let (_, text) = get(fixture.port, "/metrics", &[]).map_err(|error| error.to_string())?;
        let is_new = |line: &str| line.starts_with("lockscope_acquisitions_total{") && line.ends_with(" 0");
        if text.lines().any(is_new) { Ok(()) } else { Err(text) }
    })
    .await;
    fixture.until_it_sees_a_holder().await;
    goes(&client, &node).await;
    let [hold] = &fixture.until_held(1).await[..] else { panic!("one hold") };
    let began = i64::try_from(hold.start_time_unix_nano / 1_000_000).expect("a time");
    assert!((began - stat.ctime).abs() < 1_000, "it began at {}, not at {began}", stat.ctime);
    assert_eq!(fixture.gap().await, "the recorder was not running");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_a_certificate_is_verified_and_headers_come_from_the_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificates = Certificates::make(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let command = [kazoo_program("https_collector.py"), vec![file("server.crt"), file("server.key")]].concat();
    let output = tempfile::tempdir().expect("a folder");
    let _process = Supervised::start(output.path(), &command);
    let arrived = || std::fs::read_to_string(output.path().join("log")).unwrap_or_default();
    let port = eventually("a port", async || {
        let text = arrived();
        text.lines().find_map(|line| line.strip_prefix("port ").map(str::to_owned)).ok_or(text)
    })
    .await;
    let server = Server::start();
    let client = zk::connect(&server.connect_string()).await;
    zk::make(&client, ["/locks/orders".to_owned()]).await;
    let (url, connect) = (format!("https://localhost:{port}"), server.connect_string());
    let record = |authority: &std::path::Path| {
        let mut command = lockscope(&["record", "--otlp", &url, "--connect", &connect]);
        command.env("OTEL_EXPORTER_OTLP_CERTIFICATE", authority);
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret");
        Running::start(command)
    };
    let refused = record(&certificates.stranger);
    let said = eventually("the refused certificate", async || match refused.said_now() {
        said if said.contains("invalid peer certificate") => Ok(said),
        said => Err(said),
    })
    .await;
    assert!(!said.contains("s3cret"), "{said}");
    assert!(!arrived().contains("/v1/"), "{}", arrived());
    let _running = record(&certificates.authority);
    for path in ["/v1/metrics", "/v1/traces"] {
        eventually("spans and metrics with their token", async || {
            let node = comes(&client, "/locks/orders").await;
            goes(&client, &node).await;
            let text = arrived();
            if text.contains(&format!("{path} Bearer s3cret ")) { Ok(()) } else { Err(text) }
        })
        .await;
    }
}
