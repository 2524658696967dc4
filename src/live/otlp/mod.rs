//! Sends spans and metrics to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! The owner of the facts calls [`Sender::push`] and [`Sender::push_metrics`], which wait for
//! nothing. One task sends: at most 512 spans a request, one request at a time.
//!
//! A collector that does not answer, or answers that it is too busy, is tried again after a pause
//! of one second that grows to a minute; meanwhile at most 50,000 spans or 64 MiB of them wait.
//! Beyond that the oldest are lost. What a collector refuses is not sent again. Both are counted in
//! [`OtlpFigures`]. Metrics are sums since the start, so only the latest wait.
//!
//! Headers, which may hold a token, come from the environment variable
//! `OTEL_EXPORTER_OTLP_HEADERS`; the authority of a collector's certificate from
//! `OTEL_EXPORTER_OTLP_CERTIFICATE`, otherwise from the system.
//!
//! Architecture invariant: the collector is not trusted. The time of a request and the bytes of an
//! answer are bounded, redirects are not followed.

mod client;
mod delivery;
mod encode;
mod endpoint;
mod metrics;
mod queue;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use self::endpoint::{Endpoint, EndpointError};
use self::queue::Shared;
use lockscope_base::znode::Timestamp;
use lockscope_model::metrics::{OtlpFigures, Scrape};
use lockscope_model::span::Span;

/// How long the last spans may take when the program ends.
const LAST_SPANS_WITHIN: Duration = Duration::from_secs(5);

/// Why nothing can be sent to a collector.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// A setting of the environment, or a certificate, cannot be used.
    #[error("{0}")]
    Settings(String),
}

/// Describes whose spans and metrics are sent.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The servers and the chroot.
    pub ensemble: String,
    /// The name of the context, if there is one.
    pub context: Option<String>,
    /// The version of the program.
    pub version: &'static str,
}

/// Sends to one collector. Dropping it ends the sending at once.
#[derive(Debug)]
pub struct Sender {
    shared: Arc<Shared>,
    task: Option<JoinHandle<()>>,
}

impl Sender {
    /// Starts to send. Reads the certificates; sends nothing yet. Blocks the thread during disk
    /// access.
    pub fn start(endpoint: &Endpoint, origin: &Origin) -> Result<Self, OtlpError> {
        let shared = Arc::new(Shared::default());
        let delivery = delivery::Delivery::new(endpoint, origin)?;
        let task = tokio::spawn(task::send(Arc::clone(&shared), delivery));
        Ok(Self { shared, task: Some(task) })
    }

    /// Queues spans. `lost` is the number of those that were lost before.
    pub fn push(&self, spans: Vec<Span>, lost: u64) {
        self.shared.push(spans, lost);
    }

    /// Queues metrics instead of those that wait.
    pub fn push_metrics(&self, scrape: Scrape, at: Timestamp) {
        self.shared.push_metrics(scrape, at);
    }

    /// Returns how many spans were sent, refused and lost, and how many wait.
    pub fn figures(&self) -> OtlpFigures {
        self.shared.figures()
    }

    /// Returns why the collector takes nothing at the moment, as a sentence.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    /// Sends what waits, within five seconds. Returns the figures; what still waits then is lost.
    pub async fn stop(mut self) -> OtlpFigures {
        self.shared.stop();
        if let Some(task) = &mut self.task {
            // A task that fails has nothing more to send.
            let _ = timeout(LAST_SPANS_WITHIN, task).await;
        }
        self.shared.figures()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
