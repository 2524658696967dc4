//! `lockscope record --otlp` beside clients of kazoo, with a collector that is away for the middle
//! half of the run.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::clients::Log;
use crate::harness::collector::Collector;
use crate::harness::foreign::Foreign;
use crate::harness::process::Supervised;
use crate::harness::prometheus::get;
use crate::harness::server::Server;
use crate::harness::signal;
use crate::harness::spans::compare;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// The locks, each with a process of kazoo.
const LOCKS: [&str; 2] = ["/locks/orders", "/locks/billing"];

/// The threads of each process, and the rounds of each before the time is looked at.
const THREADS: usize = 4;
const ROUNDS: usize = 10;

/// The pause of each process between its rounds.
const PAUSE: Duration = Duration::from_secs(2);

/// The most memory of the recorder, in bytes.
const MAX_MEMORY: f64 = 200e6;

/// How long a collector that is back may wait for the last spans.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(120);

/// Runs for this time. Prints the figures; returns whether all is well.
pub fn run(runtime: &Runtime, time: Duration) -> bool {
    match runtime.block_on(run_for(time)) {
        Ok(text) => {
            println!("{text}");
            true
        }
        Err(why) => {
            println!("FAILED: {why}");
            false
        }
    }
}

async fn run_for(time: Duration) -> Result<String, String> {
    let server = Server::in_own_process();
    let connect = server.connect_string();
    let client = zk::connect(&connect).await;
    zk::make(&client, LOCKS.map(str::to_owned)).await;
    let mut collector = Collector::start().await;
    let log = Log::new("otlp");
    let store = log.folder().join("locks.db");
    let recorder = record(&connect, &collector.url(), &store, &log);
    let port = metrics_port(&log).await;
    let end = Instant::now() + time;
    let churning = LOCKS.map(|lock| tokio::spawn(churn(connect.clone(), lock, end)));
    let mut peak: f64 = 0.0;
    let mut queued: f64 = 0.0;
    for part in [1, 2, 3] {
        match part {
            2 => collector.stop().await,
            3 => collector.start_again().await,
            _ => {}
        }
        let until = Instant::now() + if part == 2 { time / 2 } else { time / 4 };
        while Instant::now() < until {
            peak = peak.max(figure(port, "process_resident_memory_bytes")?);
            queued = queued.max(figure(port, "lockscope_otlp_spans_queued")?);
            sleep(Duration::from_secs(1)).await;
        }
    }
    let mut holds = 0;
    for churned in churning {
        holds += churned.await.map_err(|error| error.to_string())?;
    }
    let caught_up = Instant::now() + CATCHES_UP_WITHIN;
    // The last ends may take ten seconds to settle.
    let settled = Instant::now() + Duration::from_secs(15);
    while Instant::now() < settled || figure(port, "lockscope_otlp_spans_queued")? > 0.0 {
        if Instant::now() > caught_up {
            return Err("the queue is not empty two minutes after the collector is back".to_owned());
        }
        sleep(Duration::from_millis(500)).await;
    }
    let lost = lost(port)?;
    signal::send(recorder.pid(), "TERM");
    eventually("the recorder's end", async || if recorder.runs() { Err("it runs") } else { Ok(()) }).await;
    let compared = compare(&collector, &store)?;
    let text = format!(
        "{holds} holds of the clients; of the recording arrived {} holds and {} waits, {} with their link, missing {}; lost by the recorder's \
         own count {lost}; most queued {queued}; peak memory {:.0} MB",
        compared.holds,
        compared.waits,
        compared.linked,
        compared.missing,
        peak / 1e6,
    );
    if compared.missing as f64 > lost || peak > MAX_MEMORY || compared.holds + compared.missing < holds {
        return Err(text);
    }
    Ok(text)
}

fn record(connect: &str, url: &str, store: &Path, log: &Log) -> Supervised {
    let store = store.display().to_string();
    let audit = log.folder().join("audit.jsonl").display().to_string();
    let command = [
        env!("CARGO_BIN_EXE_lockscope"),
        "record",
        "--connect",
        connect,
        "--store",
        &store,
        "--otlp",
        url,
        "--metrics",
        "0",
        "--audit-log",
        &audit,
    ];
    Supervised::start(log.folder(), &command.map(str::to_owned))
}

/// Returns the port of the metrics, once everything was read.
async fn metrics_port(log: &Log) -> u16 {
    let file = log.folder().join("log");
    eventually("a first reading", async || {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let first: serde_json::Value =
            text.lines().next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(|| text.clone())?;
        let port = first["metrics"].as_str().and_then(|address| address.rsplit_once(':')?.1.parse().ok());
        let port: u16 = port.ok_or_else(|| text.clone())?;
        match get(port, "/healthz", &[]) {
            Ok((200, _)) => Ok(port),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

/// Lets the threads of a process contend until the end. Returns the number of holds.
async fn churn(connect: String, lock: &'static str, end: Instant) -> usize {
    let mut kazoo = Foreign::kazoo(&connect);
    kazoo.connect("a").await;
    let mut holds = 0;
    while Instant::now() < end {
        kazoo.churn("a", "lock", lock, THREADS, ROUNDS).await;
        holds += kazoo.churned("a").await;
        sleep(PAUSE).await;
    }
    kazoo.quit().await;
    holds
}

/// Returns the sum of the series of a family with this label.
fn figure_of(port: u16, family: &str, label: &str) -> Result<f64, String> {
    let (_, text) = get(port, "/metrics", &[]).map_err(|error| error.to_string())?;
    let values = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(family) && line.contains(label));
    Ok(values.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum())
}

fn figure(port: u16, family: &str) -> Result<f64, String> {
    figure_of(port, family, "")
}

/// Returns the number of spans that the recorder counts as lost or refused.
fn lost(port: u16) -> Result<f64, String> {
    let of = |result| figure_of(port, "lockscope_otlp_spans_total", result);
    Ok(of("result=\"lost\"")? + of("result=\"refused\"")?)
}
