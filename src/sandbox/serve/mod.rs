//! Sockets and the clock around the machine. No other part of the sandbox uses either.

mod clock;
mod connection_task;
mod shared;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::SandboxConfig;
use connection_task::ConnectionTask;
use shared::SharedMachine;

/// The pause after a failed accept, for example when no file descriptors are left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Why a sandbox did not start. Each message is one sentence.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The address is not loopback, and [`SandboxConfig::any_address`] is not set.
    #[error("{0} is no loopback address: the sandbox is for this machine only, so listen on 127.0.0.1")]
    NotLoopback(SocketAddr),
    /// The listener failed.
    #[error("the sandbox cannot listen: {0}; try another port")]
    Listener(#[from] io::Error),
}

/// A running sandbox. Dropping it stops the server; [`stop`](Self::stop) also waits for the end.
#[derive(Debug)]
pub struct Sandbox {
    address: SocketAddr,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Sandbox {
    /// Starts serving on a listener. Needs a tokio runtime with I/O and time. The sandbox spawns a
    /// task for the listener, one for the clock, and one for each connection.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub fn start(listener: TcpListener, options: SandboxConfig) -> Result<Self, SandboxError> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && !options.any_address {
            return Err(SandboxError::NotLoopback(address));
        }
        let shared = Arc::new(SharedMachine::new(options));
        let (stopping, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(stopping.clone().run_until_cancelled_owned(clock::run(Arc::clone(&shared))));
        let accepting = accept(listener, shared, stopping.clone(), tasks.clone());
        tasks.spawn(stopping.clone().run_until_cancelled_owned(accepting));
        tracing::info!(%address, "the sandbox serves");
        Ok(Self { address, stopping, tasks })
    }

    /// Returns the address on which the sandbox listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the connect string for ZooKeeper clients: `127.0.0.1:PORT`.
    pub fn connect_string(&self) -> String {
        self.address.to_string()
    }

    /// Closes the listener and every connection, discards all data, and waits for the end. If the
    /// future is dropped early, the sandbox still stops.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// Accepts connections for ever.
async fn accept(listener: TcpListener, shared: Arc<SharedMachine>, stopping: CancellationToken, tasks: TaskTracker) {
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        open(socket, peer, &shared, &stopping, &tasks);
    }
}

fn open(
    socket: TcpStream,
    peer: SocketAddr,
    shared: &Arc<SharedMachine>,
    stopping: &CancellationToken,
    tasks: &TaskTracker,
) {
    // Replies are small and must not be delayed. A socket that refuses the option is already gone.
    let _ = socket.set_nodelay(true);
    match ConnectionTask::open(shared, peer) {
        None => tracing::warn!(%peer, "refused: there are as many connections as there may be"),
        Some(task) => {
            tasks.spawn(stopping.clone().run_until_cancelled_owned(task.run(socket)));
        }
    }
}
