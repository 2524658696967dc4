//! Serves metrics over HTTP: `/metrics` for Prometheus, and `/healthz` for a supervisor that
//! restarts the program.
//!
//! [`Exporter`] listens. Each request becomes a question to the owner of the figures, through
//! [`Exporter::next_question`]. The owner only copies the figures; the answer is written on another
//! thread. [`Access`] holds the rules of access and the TLS settings, read from a file in the
//! format of Prometheus' exporters.
//!
//! Architecture invariant: clients are untrusted. The number of connections, the time and the bytes
//! of each, password checks and answers in memory are bounded. The body of a request is never read.

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

use lockscope_model::metrics::Scrapes;

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
pub enum Question {
    /// Asks for all current figures.
    Metrics(oneshot::Sender<Scrapes>),
    /// Asks whether all is well. The error is a sentence.
    Health(oneshot::Sender<Result<(), String>>),
}

/// A running exporter. Dropping it stops it.
#[derive(Debug)]
pub struct Exporter {
    address: SocketAddr,
    questions: mpsc::Receiver<Question>,
    access: watch::Sender<Arc<Access>>,
    _task: AbortOnDropHandle<()>,
}

impl Exporter {
    /// Starts to listen. With port 0, the system chooses a port.
    pub async fn start(address: SocketAddr, access: Access) -> Result<Self, ExporterError> {
        let refused = |error| ExporterError { address, error };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (sender, questions) = mpsc::channel(MAX_QUESTIONS);
        let (access, current) = watch::channel(Arc::new(access));
        let task = tokio::spawn(listener::listen(listener, Asker::new(sender), current));
        Ok(Self { address, questions, access, _task: AbortOnDropHandle::new(task) })
    }

    /// Returns the address on which the exporter listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next question. Cancel safe.
    pub async fn next_question(&mut self) -> Question {
        match self.questions.recv().await {
            Some(question) => question,
            // The task ends only when this value is dropped.
            None => std::future::pending().await,
        }
    }

    /// Sets the rules of access for new connections.
    pub fn set_access(&self, access: Access) {
        self.access.send_replace(Arc::new(access));
    }
}
