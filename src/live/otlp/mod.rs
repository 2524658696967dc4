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

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod delivery;
#[cfg(feature = "otlp")]
mod encode;

use std::collections::VecDeque;
use std::fmt;
use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Uri;
use hyper::body::Bytes;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

#[cfg(not(feature = "otlp"))]
use absent::{Delivery, OtlpMessage};
#[cfg(feature = "otlp")]
use delivery::{Delivery, OtlpMessage};
use lockscope_base::time::Backoff;
use lockscope_base::znode::Timestamp;
use lockscope_model::metrics::{OtlpFigures, Scrape};
use lockscope_model::span::Span;

#[cfg(all(test, feature = "otlp"))]
mod tests;

#[cfg(all(test, feature = "otlp"))]
mod endpoint_tests;

#[cfg(test)]
mod queue_tests;

/// How long the last spans may take when the program ends.
const LAST_SPANS_WITHIN: Duration = Duration::from_secs(5);

/// Why nothing can be sent to a collector.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// A setting of the environment, or a certificate, cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The program is built without the feature `otlp`.
    #[error("this lockscope sends no spans: build it with --features otlp, or install a package, or leave out --otlp")]
    NotBuilt,
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
        let delivery = Delivery::new(endpoint, origin)?;
        let task = tokio::spawn(send(Arc::clone(&shared), delivery));
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

/// The base address of a collector, such as `http://collector:4318`. Spans go to `/v1/traces` below
/// it, metrics to `/v1/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    base: String,
    host: String,
    port: u16,
    is_secure: bool,
}

/// Why a text is no address of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The text is no URL of HTTP.
    #[error("write the URL of an OTLP receiver over HTTP, as in http://collector:4318")]
    NotHttp,
    /// The URL contains a user or a password.
    #[error("leave user and password out of the URL, and put them into OTEL_EXPORTER_OTLP_HEADERS")]
    Credentials,
    /// The URL contains a query.
    #[error("leave out what follows the question mark: it is not sent")]
    Query,
}

#[cfg(feature = "otlp")]
impl Endpoint {
    /// Returns the URL of a signal: `traces` or `metrics`.
    fn url(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.base)
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError::NotHttp)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(EndpointError::NotHttp);
        };
        let is_secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(EndpointError::NotHttp),
        };
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        if uri.query().is_some() {
            return Err(EndpointError::Query);
        }
        Ok(Self {
            base: format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 }),
            is_secure,
        })
    }
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// The most spans that wait, and the most bytes of them.
const MAX_SPANS: usize = 50_000;

const MAX_BYTES: usize = 64 << 20;

/// The most spans of a request.
const MAX_BATCH: usize = 512;

/// The queue, shared by the owner of the facts and the task that sends.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<SendQueue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct SendQueue {
    spans: VecDeque<Span>,
    bytes: usize,
    metrics: Option<(Box<Scrape>, Timestamp)>,
    /// The number of spans in the request under way.
    under_way: u64,
    figures: OtlpFigures,
    /// Why spans, and metrics, are not taken.
    troubles: [Option<String>; 2],
    is_stopping: bool,
}

/// The next thing to send.
#[derive(Debug)]
enum NextMessage {
    Spans(Vec<Span>),
    Metrics(Box<Scrape>, Timestamp),
    /// Nothing more comes.
    End,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, SendQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, spans: Vec<Span>, lost: u64) {
        let mut queue = self.queue();
        queue.figures.lost += lost;
        for span in spans {
            queue.bytes += span.bytes();
            queue.spans.push_back(span);
        }
        while queue.spans.len() > MAX_SPANS || queue.bytes > MAX_BYTES {
            queue.drop_oldest();
        }
        drop(queue);
        self.changed.notify_one();
    }

    pub fn push_metrics(&self, scrape: Scrape, at: Timestamp) {
        self.queue().metrics = Some((Box::new(scrape), at));
        self.changed.notify_one();
    }

    pub fn figures(&self) -> OtlpFigures {
        let queue = self.queue();
        OtlpFigures { queued: queue.spans.len() as u64 + queue.under_way, ..queue.figures }
    }

    pub fn trouble(&self) -> Option<String> {
        self.queue().troubles.iter().flatten().next().cloned()
    }

    pub fn stop(&self) {
        self.queue().is_stopping = true;
        self.changed.notify_one();
    }

    pub fn is_stopping(&self) -> bool {
        self.queue().is_stopping
    }

    /// Waits until the owner stops. Cancel safe.
    pub async fn stopping(&self) {
        while !self.is_stopping() {
            self.changed.notified().await;
        }
        // The next waiter needs the signal too.
        self.changed.notify_one();
    }

    /// Waits for the next thing to send. Cancel safe.
    pub async fn next(&self) -> NextMessage {
        loop {
            if let Some(next) = self.queue().take() {
                return next;
            }
            self.changed.notified().await;
        }
    }

    /// Records what became of the request under way.
    pub fn sent(&self, taken: u64, refused: u64) {
        let mut queue = self.queue();
        queue.under_way = 0;
        queue.figures.sent += taken;
        queue.figures.refused += refused;
    }

    /// Records why the collector does not take spans, or metrics, or that it does again.
    pub fn set_trouble(&self, of_metrics: bool, trouble: Option<String>) {
        self.queue().troubles[usize::from(of_metrics)] = trouble;
    }
}

impl SendQueue {
    fn take(&mut self) -> Option<NextMessage> {
        if let Some((scrape, at)) = self.metrics.take() {
            return Some(NextMessage::Metrics(scrape, at));
        }
        let count = self.spans.len().min(MAX_BATCH);
        if count > 0 {
            let batch: Vec<Span> = self.spans.drain(..count).collect();
            self.bytes -= batch.iter().map(Span::bytes).sum::<usize>();
            self.under_way = count as u64;
            return Some(NextMessage::Spans(batch));
        }
        self.is_stopping.then_some(NextMessage::End)
    }

    fn drop_oldest(&mut self) {
        if let Some(span) = self.spans.pop_front() {
            self.bytes -= span.bytes();
            self.figures.lost += 1;
        }
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The collector took it, and answered this.
    Taken(Bytes),
    /// The collector refuses it; trying again is in vain.
    Refused(String),
    /// It may succeed later, after this pause if the collector named one.
    Later(String, Option<Duration>),
}

/// The first and the longest pause before a collector is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Sends what waits until the owner stops.
async fn send(shared: Arc<Shared>, delivery: Delivery) {
    let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
    loop {
        let (message, count) = match shared.next().await {
            NextMessage::End => return,
            NextMessage::Spans(spans) => (delivery.message_of(&spans), spans.len() as u64),
            NextMessage::Metrics(scrape, at) => match delivery.metrics(*scrape, at) {
                Some(message) => (message, 0),
                None => continue,
            },
        };
        if !deliver(&shared, &delivery, &message, count, &mut backoff).await {
            return;
        }
    }
}

/// Sends one message until the collector takes or refuses it. Returns `false` when the owner stops
/// before that. Metrics are tried once: the next ones contain them.
async fn deliver(
    shared: &Shared,
    delivery: &Delivery,
    message: &OtlpMessage,
    count: u64,
    backoff: &mut Backoff,
) -> bool {
    loop {
        let pause = match delivery.send(message).await {
            SendOutcome::Taken(answer) => {
                let refused = message.refused_in(&answer).min(count);
                shared.sent(count - refused, refused);
                let trouble = (refused > 0).then(|| message.refusal(&answer));
                shared.set_trouble(message.is_metrics(), trouble);
                backoff.reset();
                return true;
            }
            SendOutcome::Refused(why) => {
                shared.sent(0, count);
                shared.set_trouble(message.is_metrics(), Some(why));
                backoff.reset();
                return true;
            }
            SendOutcome::Later(why, pause) => {
                shared.set_trouble(message.is_metrics(), Some(why));
                pause.map_or_else(|| backoff.next_pause(), |pause| pause.clamp(PAUSES.0, PAUSES.1))
            }
        };
        if shared.is_stopping() {
            return false;
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = shared.stopping() => {}
        }
        if message.is_metrics() {
            return true;
        }
    }
}
