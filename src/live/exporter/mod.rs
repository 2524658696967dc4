//! Serves metrics over HTTP: `/metrics` for Prometheus, and `/healthz` for whoever starts the program again.
//!
//! [`Exporter`] listens; for each request it asks whoever has the figures, by [`Exporter::next_question`], and the answer is written down on a
//! thread of its own: who observes the ensemble is kept no longer than it takes to copy the figures. Who may ask, and whether by TLS, says an
//! [`Access`], which is read from a file as Prometheus' own exporters have it.
//!
//! Architecture invariant: whoever connects is untrusted. Connections, the time and the bytes of each, passwords that are checked and answers
//! that are held at the same time are bounded; nothing is read from the body of a request.

mod access;
mod answer;
mod basic_auth;
mod listener;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

pub use access::{Access, AccessError};
use answer::Asker;

use lockscope_model::metrics::Scrape;

/// Questions that may wait for their answers.
const MAX_QUESTIONS: usize = 16;

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}: {error}; name another address with --metrics")]
pub struct ExporterError {
    address: SocketAddr,
    error: io::Error,
}

/// What somebody wants to know. Nobody waits for an answer longer than ten seconds.
#[derive(Debug)]
pub enum Question {
    /// All figures of this moment.
    Metrics(oneshot::Sender<Scrape>),
    /// Whether all is well; else a sentence.
    Health(oneshot::Sender<Result<(), String>>),
}

/// A running exporter. It ends when it is dropped.
#[derive(Debug)]
pub struct Exporter {
    address: SocketAddr,
    questions: mpsc::Receiver<Question>,
    access: watch::Sender<Arc<Access>>,
    _task: AbortOnDropHandle<()>,
}

impl Exporter {
    /// Begins to listen. With port 0 the system chooses one.
    pub async fn start(address: SocketAddr, access: Access) -> Result<Self, ExporterError> {
        let refused = |error| ExporterError { address, error };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (sender, questions) = mpsc::channel(MAX_QUESTIONS);
        let (access, current) = watch::channel(Arc::new(access));
        let task = tokio::spawn(listener::listen(listener, Asker::new(sender), current));
        Ok(Self { address, questions, access, _task: AbortOnDropHandle::new(task) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next question. Cancel safe.
    pub async fn next_question(&mut self) -> Question {
        match self.questions.recv().await {
            Some(question) => question,
            // The task ends only with this.
            None => std::future::pending().await,
        }
    }

    /// Who may ask from the next connection on.
    pub fn set_access(&self, access: Access) {
        self.access.send_replace(Arc::new(access));
    }
}
