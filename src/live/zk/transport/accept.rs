//! Access to a transport: only our own process, one connection at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::secret::{Proven, read_asked};
use super::{Flow, TransportShared, relay};

/// The time limit for a connection to show the secret. The library shows it at once.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// The most connections that have not shown the secret yet. One more closes the oldest.
const MAX_UNPROVEN: usize = 16;

/// The pause after a connection could not be accepted, for example for lack of a socket.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long the previous connection may take to notice its end and report the reason, once the
/// library has made a new one.
const PREVIOUS_RELAY_GRACE: Duration = Duration::from_millis(50);

/// How often to check whether the sessions of the clients are over.
const SESSION_END_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Serves until `end` is cancelled, and then keeps the port until no client can come back to it.
pub(super) async fn serve(
    listener: TcpListener,
    shared: Arc<TransportShared>,
    flow: watch::Receiver<Flow>,
    end: CancellationToken,
) {
    end.run_until_cancelled(relay_each(&listener, &shared, &flow)).await;
    let over = async {
        while shared.state().clients.iter().any(|client| !client.peek_state().is_terminated()) {
            sleep(SESSION_END_CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        () = over => {}
        () = refuse_each(&listener) => {}
    }
}

async fn relay_each(listener: &TcpListener, shared: &Arc<TransportShared>, flow: &watch::Receiver<Flow>) {
    let mut unproven = Unproven::default();
    // Dropping the handle ends the connection.
    let mut current: Option<AbortOnDropHandle<()>> = None;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => unproven.add(stream, Arc::clone(shared)),
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            },
            proven = unproven.proven() => {
                // The library makes a new connection after it has given up the previous one.
                if let Some(before) = current.take() {
                    let _ = timeout(PREVIOUS_RELAY_GRACE, before).await;
                }
                let task = tokio::spawn(relay::relay(proven, Arc::clone(shared), flow.clone()));
                current = Some(AbortOnDropHandle::new(task));
            }
        }
    }
}

async fn refuse_each(listener: &TcpListener) {
    loop {
        if listener.accept().await.is_err() {
            sleep(ACCEPT_RETRY_DELAY).await;
        }
    }
}

/// Connections that have not shown the secret.
#[derive(Default)]
struct Unproven {
    tasks: JoinSet<Option<Proven>>,
    /// The handles of the connections, oldest first.
    handles: VecDeque<AbortHandle>,
}

impl Unproven {
    fn add(&mut self, stream: TcpStream, shared: Arc<TransportShared>) {
        self.handles.retain(|task| !task.is_finished());
        if self.handles.len() >= MAX_UNPROVEN
            && let Some(oldest) = self.handles.pop_front()
        {
            oldest.abort();
        }
        self.handles.push_back(self.tasks.spawn(prove(stream, shared)));
    }

    /// Waits for the next connection that has shown the secret. Cancel safe.
    async fn proven(&mut self) -> Proven {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Some(proven))) => return proven,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}

async fn prove(mut stream: TcpStream, shared: Arc<TransportShared>) -> Option<Proven> {
    let asked = timeout(PROOF_TIMEOUT, read_asked(&mut stream)).await.ok()?.ok()??;
    shared.secret.was_shown(&asked).then_some(Proven { stream, request: asked })
}
