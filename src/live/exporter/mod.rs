//! Serves metrics over HTTP: `/metrics` for Prometheus, `/healthz` for those who ask whether all is
//! well, and `/livez` for a supervisor that restarts the program.
//!
//! [`Exporter`] listens. Each request becomes a question to the owner of the figures, through
//! [`Exporter::next_question`]. The owner only copies the figures; the answer is written on another
//! thread. [`MetricsAccess`] holds the rules of access and the TLS settings, read from a file in
//! the format of Prometheus' exporters.
//!
//! Architecture invariant: clients are untrusted. The number of connections, the time and the bytes
//! of each, password checks and answers in memory are bounded. The body of a request is never read.
//! A client without a whole request never keeps a new client waiting.

mod access;
mod connections;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use lockscope_model::metrics::{Scrapes, to_open_metrics, to_plain_text};

use crate::own_process::usage;

use connections::{MetricsConnection, MetricsConnections};

pub use access::{AccessError, MetricsAccess};

/// The maximum number of questions that wait for an answer.
const MAX_QUESTIONS: usize = 16;

/// The reason why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}: {error}; name another address with --metrics")]
pub struct ExporterError {
    address: SocketAddr,
    error: io::Error,
}

/// A question from a client. The client waits at most ten seconds for the answer.
#[derive(Debug)]
pub enum ScrapeKind {
    /// Asks for all current figures.
    Metrics(oneshot::Sender<Scrapes>),
    /// Asks whether all is well. The error is a sentence.
    Health(oneshot::Sender<Result<(), String>>),
}

/// A running exporter. Dropping it stops it.
#[derive(Debug)]
pub struct Exporter {
    address: SocketAddr,
    questions: mpsc::Receiver<ScrapeKind>,
    access: watch::Sender<Arc<MetricsAccess>>,
    _task: AbortOnDropHandle<()>,
}

impl Exporter {
    /// Starts to listen. With port 0, the system chooses a port.
    pub async fn start(address: SocketAddr, access: MetricsAccess) -> Result<Self, ExporterError> {
        let refused = |error| ExporterError { address, error };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (sender, questions) = mpsc::channel(MAX_QUESTIONS);
        let (access, current) = watch::channel(Arc::new(access));
        let task = tokio::spawn(listen(listener, Asker::new(sender), current));
        Ok(Self { address, questions, access, _task: AbortOnDropHandle::new(task) })
    }

    /// Returns the address on which the exporter listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next question. Cancel safe.
    pub async fn next_question(&mut self) -> ScrapeKind {
        match self.questions.recv().await {
            Some(question) => question,
            // The task ends only when this value is dropped.
            None => std::future::pending().await,
        }
    }

    /// Sets the rules of access for new connections.
    pub fn set_access(&self, access: MetricsAccess) {
        self.access.send_replace(Arc::new(access));
    }
}

/// The maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The maximum number of header lines of a request.
const MAX_HEADERS: usize = 64;

/// The pause after a failed accept, for example when the process has too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves connections for as long as the future is polled.
async fn listen(listener: TcpListener, asker: Asker, access: watch::Receiver<Arc<MetricsAccess>>) {
    let mut connections = MetricsConnections::new();
    let mut tasks = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let Some(place) = connections.place().await else { return };
        while tasks.try_join_next().is_some() {}
        let (asker, access) = (asker.clone(), Arc::clone(&access.borrow()));
        connections.start(place, |connection| {
            tasks.spawn(async move {
                tokio::select! {
                    () = serve(stream, &connection, asker, &access) => {}
                    () = connection.overdue() => tracing::debug!("a connection for metrics was too slow"),
                }
            })
        });
    }
}

async fn serve(stream: TcpStream, connection: &MetricsConnection, asker: Asker, access: &MetricsAccess) {
    match &access.tls {
        None => serve_http(stream, connection, asker, access).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => serve_http(stream, connection, asker, access).await,
            Err(error) => tracing::debug!(error = error.to_string(), "no TLS connection for metrics"),
        },
    }
}

async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: &MetricsConnection,
    asker: Asker,
    access: &MetricsAccess,
) {
    let asker = &asker;
    let answer = move |request| async move {
        connection.asked();
        let answer = asker.answer(request, access, connection).await;
        connection.answered();
        answer
    };
    let served = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
    if let Err(error) = served {
        tracing::debug!(error = error.to_string(), "a connection for metrics ended early");
    }
}

/// The time limit for an answer to a question.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

/// The maximum number of scrapes that are written or sent at a time, since each may be megabytes.
/// More requests wait, and cut off clients that are slow to take theirs.
const MAX_SCRAPES: usize = 4;

const OPEN_METRICS: &str = "application/openmetrics-text";

const OPEN_METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

const PLAIN_METRICS_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

const TEXT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

type Answer = Response<Full<Bytes>>;

/// The sender of questions to the owner of the figures.
#[derive(Clone, Debug)]
struct Asker {
    questions: mpsc::Sender<ScrapeKind>,
    scrapes: Arc<Semaphore>,
}

/// The text of a scrape, with the permit to hold one.
struct HeldText {
    text: String,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Asker {
    pub fn new(questions: mpsc::Sender<ScrapeKind>) -> Self {
        Self { questions, scrapes: Arc::new(Semaphore::new(MAX_SCRAPES)) }
    }

    /// Answers a request if its sender has access.
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        access: &MetricsAccess,
        connection: &MetricsConnection,
    ) -> Result<Answer, Infallible> {
        let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        if let Some(users) = &access.users
            && !users.admits(header).await
        {
            let mut refusal = text(StatusCode::UNAUTHORIZED, "a user and a password are needed");
            let realm = HeaderValue::from_static("Basic realm=\"lockscope\", charset=\"UTF-8\"");
            refusal.headers_mut().insert(WWW_AUTHENTICATE, realm);
            return Ok(refusal);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Ok(refusal);
        }
        Ok(match request.uri().path() {
            "/metrics" => self.metrics(takes_open_metrics(request.headers()), connection).await,
            "/healthz" => self.health().await,
            "/livez" => self.life().await,
            "/" => text(StatusCode::OK, "lockscope record: /metrics, /healthz, /livez"),
            _ => text(StatusCode::NOT_FOUND, "only /metrics, /healthz and /livez exist"),
        })
    }

    async fn metrics(&self, as_open_metrics: bool, connection: &MetricsConnection) -> Answer {
        let mut permit = pin!(Arc::clone(&self.scrapes).acquire_owned());
        let permit = loop {
            tokio::select! {
                biased;
                permit = &mut permit => break permit,
                () = connection.cut_off_slow_reader() => {}
            }
        };
        let Ok(permit) = permit else { return no_answer() };
        let Some(scrapes) = self.ask(ScrapeKind::Metrics).await else { return no_answer() };
        let write: fn(Scrapes) -> _ = if as_open_metrics { to_open_metrics } else { to_plain_text };
        let whole = move || write(Scrapes { process: usage(), ..scrapes });
        let Ok(Ok(text)) = spawn_blocking(whole).await else { return no_answer() };
        let mut answer = Response::new(Full::new(Bytes::from_owner(HeldText { text, _permit: permit })));
        let kind = if as_open_metrics { OPEN_METRICS_TYPE } else { PLAIN_METRICS_TYPE };
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }

    async fn health(&self) -> Answer {
        match self.ask(ScrapeKind::Health).await {
            Some(Ok(())) => text(StatusCode::OK, "connected, and changes are taken in"),
            Some(Err(sentence)) => text(StatusCode::SERVICE_UNAVAILABLE, &sentence),
            None => no_answer(),
        }
    }

    /// Says whether the owner answers, whatever it says of itself: what a restart mends is not that
    /// an ensemble is away.
    async fn life(&self) -> Answer {
        match self.ask(ScrapeKind::Health).await {
            Some(_) => text(StatusCode::OK, "it answers"),
            None => no_answer(),
        }
    }

    async fn ask<T>(&self, question: fn(oneshot::Sender<T>) -> ScrapeKind) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let asked = async {
            self.questions.send(question(sender)).await.ok()?;
            answer.await.ok()
        };
        timeout(MAX_ANSWER_TIME, asked).await.ok().flatten()
    }
}

fn takes_open_metrics(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .any(|accepted| accepted.to_str().is_ok_and(|accepted| accepted.contains(OPEN_METRICS)))
}

fn no_answer() -> Answer {
    text(StatusCode::SERVICE_UNAVAILABLE, "lockscope is too busy to answer")
}

fn text(status: StatusCode, sentence: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(lockscope_base::znode::escaped(sentence).to_string() + "\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, TEXT_TYPE);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
