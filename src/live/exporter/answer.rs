//! The answer to one request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Access, Question};
use lockscope_model::metrics::{Scrapes, to_open_metrics, to_plain_text};

/// The time limit for an answer to a question.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

/// The maximum number of scrapes that are written or sent at a time, since each may be megabytes.
/// More requests wait.
const MAX_SCRAPES: usize = 4;

const OPEN_METRICS: &str = "application/openmetrics-text";
const OPEN_METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const PLAIN_METRICS_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const TEXT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

type Answer = Response<Full<Bytes>>;

/// The sender of questions to the owner of the figures.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    questions: mpsc::Sender<Question>,
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
    pub fn new(questions: mpsc::Sender<Question>) -> Self {
        Self { questions, scrapes: Arc::new(Semaphore::new(MAX_SCRAPES)) }
    }

    /// Answers a request if its sender has access.
    pub async fn answer(&self, request: Request<Incoming>, access: &Access) -> Result<Answer, Infallible> {
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
            "/metrics" => self.metrics(takes_open_metrics(request.headers())).await,
            "/healthz" => self.health().await,
            "/" => text(StatusCode::OK, "lockscope record: /metrics, /healthz"),
            _ => text(StatusCode::NOT_FOUND, "only /metrics and /healthz exist"),
        })
    }

    async fn metrics(&self, as_open_metrics: bool) -> Answer {
        let Ok(permit) = Arc::clone(&self.scrapes).acquire_owned().await else { return no_answer() };
        let Some(scrapes) = self.ask(Question::Metrics).await else { return no_answer() };
        let write: fn(Scrapes) -> _ = if as_open_metrics { to_open_metrics } else { to_plain_text };
        let Ok(Ok(text)) = spawn_blocking(move || write(scrapes)).await else { return no_answer() };
        let mut answer = Response::new(Full::new(Bytes::from_owner(HeldText { text, _permit: permit })));
        let kind = if as_open_metrics { OPEN_METRICS_TYPE } else { PLAIN_METRICS_TYPE };
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }

    async fn health(&self) -> Answer {
        match self.ask(Question::Health).await {
            Some(Ok(())) => text(StatusCode::OK, "connected, and changes are taken in"),
            Some(Err(sentence)) => text(StatusCode::SERVICE_UNAVAILABLE, &sentence),
            None => no_answer(),
        }
    }

    async fn ask<T>(&self, question: fn(oneshot::Sender<T>) -> Question) -> Option<T> {
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
