//! Spans and metrics for an OpenTelemetry collector, sent by `lockscope record`.

use std::time::Duration;

use clap::Args;
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::output::note;
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::otlp::{Endpoint, Origin, Sender};
use lockscope_model::diagnose::FindingChanges;
use lockscope_model::metrics::{OtlpFigures, Scrape};
use lockscope_model::queue::{Happening, LockTable};
use lockscope_past::record::Looked;
use lockscope_past::record::tables::{GapRecord, RecordedDeletion, SpanRecorder};

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
    trouble: Option<Trouble>,
}

/// A trouble with the collector that was reported.
#[derive(Debug)]
struct Trouble {
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
            of: settings.label().map(|label| format!("{label}: ")).unwrap_or_default(),
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
    pub(super) fn looked(&mut self, looked: &Looked, table: &LockTable) {
        if !looked.forgotten.is_empty() {
            let forgotten = FindingChanges { raised: Vec::new(), cleared: looked.forgotten.clone() };
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
                self.trouble = Some(Trouble { lost_before: self.sender.figures().lost, calm_since: None });
            }
            (Some(_), Some(known)) => known.calm_since = None,
            (None, Some(Trouble { lost_before, calm_since })) => {
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
