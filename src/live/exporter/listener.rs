//! Accepts connections, with bounds on their number and duration.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Access;
use super::answer::Asker;

/// The maximum number of connections. More connections wait.
const MAX_CONNECTIONS: usize = 64;

/// The maximum duration of a connection, which serves one request.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(30);

/// The time limit for the head of a request.
const MAX_HEAD_TIME: Duration = Duration::from_secs(5);

/// The maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The maximum number of header lines of a request.
const MAX_HEADERS: usize = 64;

/// The pause after a failed accept, for example when the process has too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves connections for as long as the future is polled.
pub(super) async fn listen(listener: TcpListener, asker: Asker, access: watch::Receiver<Arc<Access>>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let (asker, access) = (asker.clone(), Arc::clone(&access.borrow()));
        connections.spawn(async move {
            // A client that is too slow, or speaks another protocol, is cut off.
            let _ = timeout(MAX_CONNECTION_TIME, connection(stream, asker, access)).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, asker: Asker, access: Arc<Access>) {
    match &access.tls {
        None => serve(stream, asker, &access).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => serve(stream, asker, &access).await,
            Err(error) => tracing::debug!(error = error.to_string(), "no TLS connection for metrics"),
        },
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, asker: Asker, access: &Access) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service_fn(|request| asker.answer(request, access)))
        .await;
    if let Err(error) = served {
        tracing::debug!(error = error.to_string(), "a connection for metrics ended early");
    }
}
