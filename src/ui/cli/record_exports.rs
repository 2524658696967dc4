//! What `lockscope record` gives to others: the metrics that it serves, and the spans and metrics
//! that it sends to an OpenTelemetry collector.
//!
//! The questions for metrics come from an exporter of its own, or from one that several contexts
//! share.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use futures::future::join_all;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::block_in_place;
use tokio::time::{Instant, timeout};

use super::output::{MayPass, note};
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::exporter::{AccessError, Exporter, MetricsAccess, ScrapeKind};
use lockscope_live::otlp::{Endpoint, Origin, Sender};
use lockscope_model::diagnose::FindingChanges;
use lockscope_model::metrics::{DEFAULT_MAX_LOCKS, EventCounters, OtlpFigures, Scrape, Scrapes};
use lockscope_model::queue::{Happening, LockTable};
use lockscope_past::record::LookOutcome;
use lockscope_past::record::tables::{GapRecord, RecordedDeletion, SpanRecorder};

/// The most locks with series of their own: more series than these few hundred thousand overload
/// Prometheus.
const MAX_METRICS_LOCKS: u64 = 10_000;

/// Where metrics are served, to whom, and of how many locks.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Metrics")]
pub(super) struct MetricsOptions {
    /// Serve metrics for Prometheus at this address: /metrics, /healthz and /livez. A port
    /// alone is on this machine only; 0 chooses one
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// How many locks have series of their own; the rest have one together
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_LOCKS,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_METRICS_LOCKS))]
    pub metrics_locks: usize,
    /// The users that may ask for metrics, and TLS: a web config file as Prometheus' exporters have
    /// it; only its owner may be able to read it
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub metrics_config: Option<PathBuf>,
}

impl MetricsOptions {
    /// Starts to serve, if metrics are wanted. Reads the web config file.
    pub(super) async fn start(&self) -> anyhow::Result<Option<Exporter>> {
        match self.metrics {
            Some(address) => {
                let access = self.access()?;
                Ok(Some(Exporter::start(address, access).await.map_err(MayPass::of)?))
            }
            None => Ok(None),
        }
    }

    /// Returns the counters, if metrics are served or `sent`.
    pub(super) fn counters(&self, sent: bool) -> Option<EventCounters> {
        (sent || self.metrics.is_some()).then(|| EventCounters::new(self.metrics_locks))
    }

    /// Reads the web config file again; an invalid one is reported, and the old one stays.
    fn reload(&self, exporter: Option<&Exporter>) {
        match (self.access(), exporter) {
            (Ok(access), Some(exporter)) => exporter.set_access(access),
            (Err(error), Some(_)) => note(&format!("metrics are served with the config as it was: {error}")),
            (_, None) => {}
        }
    }

    fn access(&self) -> Result<MetricsAccess, AccessError> {
        let path = self.metrics_config.as_deref();
        path.map_or_else(|| Ok(MetricsAccess::default()), |path| block_in_place(|| MetricsAccess::load(path)))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let on_this_machine = port.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = on_this_machine.or_else(|_| text.parse());
    address.map_err(|_| "write an address and a port, as in 127.0.0.1:9464 or [::]:9464, or a port alone".to_owned())
}

/// How long a context has for its part of an answer.
const PART_WITHIN: Duration = Duration::from_secs(5);

/// The source of the questions.
#[derive(Debug)]
pub enum Questions {
    /// An exporter of its own, once it is started.
    Own(Option<Exporter>),
    /// An exporter at this address that others answer, too.
    Shared(SocketAddr, mpsc::Receiver<ScrapeKind>),
}

impl Questions {
    /// Starts the own exporter, if metrics are wanted.
    pub async fn start(&mut self, options: &MetricsOptions) -> anyhow::Result<()> {
        if let Self::Own(exporter @ None) = self {
            *exporter = options.start().await?;
        }
        Ok(())
    }

    /// Returns the address of the metrics.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Own(exporter) => exporter.as_ref().map(Exporter::address),
            Self::Shared(address, _) => Some(*address),
        }
    }

    /// Reads the web config file of the own exporter again.
    pub fn reload(&self, options: &MetricsOptions) {
        if let Self::Own(exporter) = self {
            options.reload(exporter.as_ref());
        }
    }

    /// Waits for the next question; forever when no metrics are served. Cancel safe.
    pub async fn next(&mut self) -> ScrapeKind {
        let question = match self {
            Self::Own(Some(exporter)) => Some(exporter.next_question().await),
            Self::Own(None) => None,
            Self::Shared(_, questions) => questions.recv().await,
        };
        match question {
            Some(question) => question,
            None => std::future::pending().await,
        }
    }
}

/// An exporter whose questions several contexts answer together.
pub struct SharedExporter {
    exporter: Exporter,
    contexts: Vec<(String, mpsc::Sender<ScrapeKind>)>,
}

impl SharedExporter {
    pub fn new(exporter: Exporter) -> Self {
        Self { exporter, contexts: Vec::new() }
    }

    /// Adds a context. Returns the source of its questions.
    pub fn add(&mut self, context: &str) -> Questions {
        let (sender, questions) = mpsc::channel(1);
        self.contexts.push((context.to_owned(), sender));
        Questions::Shared(self.exporter.address(), questions)
    }

    /// Answers until it is dropped. On SIGHUP it reads the web config file again.
    pub async fn answer(mut self, options: MetricsOptions) -> std::io::Result<()> {
        let mut hang_up = signal(SignalKind::hangup())?;
        loop {
            tokio::select! {
                question = self.exporter.next_question() => match question {
                    // The client may be gone by now.
                    ScrapeKind::Metrics(asker) => _ = asker.send(self.metrics().await),
                    ScrapeKind::Health(asker) => _ = asker.send(self.health().await),
                },
                _ = hang_up.recv() => options.reload(Some(&self.exporter)),
            }
        }
    }

    async fn metrics(&self) -> Scrapes {
        let mut all = Scrapes::default();
        for (context, part) in self.ask(ScrapeKind::Metrics).await {
            match part {
                Some(part) => all.known.extend(part.known),
                None => all.silent.push(context),
            }
        }
        all
    }

    async fn health(&self) -> Result<(), String> {
        let of = |(context, health): (String, Option<Result<(), String>>)| match health {
            Some(Ok(())) => None,
            Some(Err(sentence)) => Some(format!("{context}: {sentence}")),
            None => Some(format!("{context}: it is not recorded")),
        };
        let wrong: Vec<String> = self.ask(ScrapeKind::Health).await.into_iter().filter_map(of).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Asks all contexts at once. `None` comes from those that are not recorded at the moment.
    async fn ask<T>(&self, question: fn(oneshot::Sender<T>) -> ScrapeKind) -> Vec<(String, Option<T>)> {
        let parts = self.contexts.iter().map(async |(context, questions)| {
            let (sender, answer) = oneshot::channel();
            let asked = async {
                questions.send(question(sender)).await.ok()?;
                answer.await.ok()
            };
            (context.clone(), timeout(PART_WITHIN, asked).await.ok().flatten())
        });
        join_all(parts).await
    }
}

/// How often metrics are sent: as often as a Prometheus usually asks.
const METRICS_INTERVAL: Duration = Duration::from_secs(15);

/// How long the collector must take everything before that is reported, so that one that refuses a
/// part does not fill the log.
const CALM: Duration = Duration::from_secs(10);

/// Where spans and metrics are sent.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "OpenTelemetry")]
pub(super) struct OtlpOptions {
    /// Where waits and holds are sent as spans, and metrics.
    #[arg(
        long,
        value_name = "URL",
        help = "Send waits and holds as spans, and metrics, to this OpenTelemetry collector, by OTLP over HTTP, as in \
                http://collector:4318. Headers come from OTEL_EXPORTER_OTLP_HEADERS"
    )]
    pub otlp: Option<Endpoint>,
}

impl OtlpOptions {
    /// Starts to send, if that is wanted. `gap` is the one that an earlier run left.
    pub(super) fn start(
        &self,
        settings: &ResolvedOptions,
        no_data: bool,
        gap: Option<GapRecord>,
    ) -> anyhow::Result<Option<SpanExport>> {
        self.otlp.as_ref().map(|endpoint| SpanExport::start(endpoint, settings, no_data, gap)).transpose()
    }
}

/// Makes spans of what a table takes in, and sends them.
#[derive(Debug)]
pub(super) struct SpanExport {
    endpoint: Endpoint,
    ensemble: String,
    /// What stands before a note, in one of several contexts.
    of: String,
    no_data: bool,
    spans: SpanRecorder,
    sender: Sender,
    metrics_due: Instant,
    /// The reported trouble with the collector.
    trouble: Option<CollectorTrouble>,
}

/// A trouble with the collector that was reported.
#[derive(Debug)]
struct CollectorTrouble {
    /// The number of lost spans before it.
    lost_before: u64,
    /// When the collector began to take everything again.
    calm_since: Option<Instant>,
}

impl SpanExport {
    fn start(
        endpoint: &Endpoint,
        settings: &ResolvedOptions,
        no_data: bool,
        gap: Option<GapRecord>,
    ) -> anyhow::Result<Self> {
        let ensemble = settings.ensemble_name();
        Ok(Self {
            endpoint: endpoint.clone(),
            of: settings.prefix(),
            no_data,
            spans: SpanRecorder::start(no_data, gap)?,
            sender: block_in_place(|| Sender::start(endpoint, &origin(settings)))?,
            ensemble,
            metrics_due: Instant::now(),
            trouble: None,
        })
    }

    /// Returns whether the data of nodes are left out.
    pub(super) fn leaves_out_data(&self) -> bool {
        self.no_data
    }

    /// Records the events of one change.
    pub(super) fn happened(&mut self, happenings: &[Happening], table: &LockTable, at: Timestamp) {
        self.spans.happened(happenings, table, at);
    }

    /// Records the findings of one look.
    pub(super) fn looked(&mut self, looked: &LookOutcome, table: &LockTable) {
        if !looked.forgotten.is_empty() {
            let forgotten = FindingChanges { cleared: looked.forgotten.clone(), ..FindingChanges::default() };
            self.spans.findings_changed(&forgotten, table, looked.at);
        }
        self.spans.findings_changed(&looked.changes, table, looked.at);
    }

    /// Records a deletion by hand.
    pub(super) fn deleted(&mut self, deletion: RecordedDeletion) {
        self.spans.deleted(deletion);
    }

    /// Returns what became of the spans so far.
    pub(super) fn figures(&self) -> OtlpFigures {
        self.sender.figures()
    }

    /// Returns whether metrics are due. They then count as sent.
    pub(super) fn metrics_are_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.metrics_due;
        if is_due {
            self.metrics_due = Instant::now() + METRICS_INTERVAL;
        }
        is_due
    }

    /// Queues metrics.
    pub(super) fn send_metrics(&self, scrape: Scrape) {
        self.sender.push_metrics(scrape, now());
    }

    /// Queues the finished spans, and reports on standard error when the collector stops or starts
    /// to take everything. Must be called once a second.
    pub(super) fn flush(&mut self, table: &LockTable) {
        self.queue(table, false);
        let of = &self.of;
        match (self.sender.trouble(), &mut self.trouble) {
            (Some(trouble), None) => {
                note(&format!("{of}not all spans and metrics arrive: {trouble}"));
                self.trouble = Some(CollectorTrouble { lost_before: self.sender.figures().lost, calm_since: None });
            }
            (Some(_), Some(known)) => known.calm_since = None,
            (None, Some(CollectorTrouble { lost_before, calm_since })) => {
                if calm_since.get_or_insert_with(Instant::now).elapsed() >= CALM {
                    let lost = self.sender.figures().lost - *lost_before;
                    let lost = if lost > 0 { format!("; {lost} spans were lost meanwhile") } else { String::new() };
                    note(&format!("{of}spans and metrics are sent again{lost}"));
                    self.trouble = None;
                }
            }
            (None, None) => {}
        }
    }

    fn queue(&mut self, table: &LockTable, is_last: bool) {
        let (spans, lost) = self.spans.take(table, now(), is_last);
        if !spans.is_empty() || lost > 0 {
            self.sender.push(spans, lost);
        }
    }

    /// Goes on with other settings and a new table, after the end of the last one.
    pub(super) async fn go_on_with(&mut self, settings: &ResolvedOptions, last: &LockTable) -> anyhow::Result<()> {
        self.queue(last, true);
        if self.ensemble == settings.ensemble_name() {
            self.spans = SpanRecorder::start(self.no_data, self.spans.left_gap())?;
            return Ok(());
        }
        let next = Self::start(&self.endpoint, settings, self.no_data, None)?;
        std::mem::replace(self, next).end().await;
        Ok(())
    }

    /// Sends what is left, within five seconds.
    pub(super) async fn stop(mut self, last: &LockTable) {
        self.queue(last, true);
        self.end().await;
    }

    async fn end(self) {
        let of = self.of;
        let OtlpFigures { queued, lost, refused, .. } = self.sender.stop().await;
        if queued + lost + refused > 0 {
            note(&format!("{of}not all spans arrived: {queued} were not sent, {lost} lost, {refused} refused"));
        }
    }
}

fn origin(settings: &ResolvedOptions) -> Origin {
    Origin {
        ensemble: settings.ensemble_name(),
        context: settings.label().map(str::to_owned),
        version: env!("CARGO_PKG_VERSION"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        for (text, expected) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:9464", "0.0.0.0:9464"),
            ("[::1]:9464", "[::1]:9464"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        for text in ["", "zk1:9464", "127.0.0.1", "127.0.0.1:70000", "::1:9464x"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
