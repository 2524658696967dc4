//! One connection: moves bytes between its socket and the machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::shared::{SharedMachine, Waker};
use crate::machine::CloseReason;

/// The buffer space for one read, in bytes.
const READ_SIZE: usize = 16 << 10;

/// The capacity in bytes above which an empty buffer is freed.
const MAX_KEPT_BUFFER: usize = 256 << 10;

/// The number of sent bytes above which the task reports to the machine at once, since unsent bytes
/// count as memory. Fewer bytes are reported with the next output.
const REPORT_SENT_ABOVE: usize = 4 << 10;

/// The time in which a client must read its output.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which a client must close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection and its buffers. Dropping the value removes the connection from the machine.
pub(super) struct ConnectionTask {
    shared: Arc<SharedMachine>,
    id: usize,
    peer: SocketAddr,
    waker: Waker,
    /// Received bytes that are not processed yet: less than a frame while the task waits.
    input: Vec<u8>,
    output: Vec<u8>,
}

impl ConnectionTask {
    /// Registers a connection; `None` at `max_connections`.
    pub fn open(shared: &Arc<SharedMachine>, peer: SocketAddr) -> Option<Self> {
        let (id, waker) = shared.open(peer)?;
        Some(Self { shared: Arc::clone(shared), id, peer, waker, input: Vec::new(), output: Vec::new() })
    }

    /// Serves until either side closes the connection.
    pub async fn run(mut self, mut socket: TcpStream) {
        let ended = self.serve(&mut socket).await;
        let peer = self.peer;
        drop(self);
        match ended {
            Ok(end) if end.is_fault() => tracing::warn!(%peer, "closed a connection: {end}"),
            Ok(end) => tracing::debug!(%peer, "closed a connection: {end}"),
            Err(error) => return tracing::debug!(%peer, %error, "a connection was lost"),
        }
        // Closing a socket with unread input would discard the output sent last. The socket is
        // closed in any case.
        let _ = timeout(CLOSE_TIMEOUT, discard(&mut socket)).await;
    }

    async fn serve(&mut self, socket: &mut TcpStream) -> io::Result<CloseReason> {
        let (mut reading, mut writing) = socket.split();
        loop {
            let wake = Arc::clone(&self.waker.wake);
            tokio::select! {
                read = read(&mut reading, &mut self.input) => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                () = wake.notified() => {}
            }
            if let Some(end) = self.answer(&mut writing).await? {
                // Tells the client that no more output follows.
                writing.shutdown().await?;
                return Ok(end);
            }
        }
    }

    /// Runs the received requests and sends the output until neither is left.
    async fn answer(&mut self, writing: &mut WriteHalf<'_>) -> io::Result<Option<CloseReason>> {
        let mut done = 0;
        loop {
            let (end, more) = self.run_turn(&mut done);
            if !self.output.is_empty() {
                tokio::select! {
                    written = timeout(WRITE_TIMEOUT, writing.write_all(&self.output)) => written??,
                    // The next turn returns the reason.
                    () = self.waker.cut.cancelled() => {}
                }
            }
            if self.output.len() > REPORT_SENT_ABOVE {
                self.shared.lock().machine.sent(self.id);
            }
            if self.output.capacity() > MAX_KEPT_BUFFER {
                self.output = Vec::new();
            }
            if end.is_some() || !more {
                // Drained once at the end: draining after each turn would move the rest each time.
                self.input.drain(..done);
                if self.input.is_empty() && self.input.capacity() > MAX_KEPT_BUFFER {
                    self.input = Vec::new();
                }
                return Ok(end);
            }
        }
    }

    /// Runs one turn under the lock, on the bytes after the first `done`. Also returns whether
    /// whole frames are left.
    fn run_turn(&mut self, done: &mut usize) -> (Option<CloseReason>, bool) {
        let now = self.shared.now();
        let mut state = self.shared.lock();
        let before = state.machine.next_tick();
        *done += state.machine.receive(self.id, &self.input[*done..], now);
        let end = state.machine.take_output(self.id, &mut self.output);
        state.wake(Some(self.id));
        if state.machine.next_tick() < before {
            self.shared.sooner.notify_one();
        }
        let more = state.machine.has_frame(&self.input[*done..]);
        drop(state);
        (end, more)
    }
}

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.shared.forget(self.id);
    }
}

async fn read(from: &mut ReadHalf<'_>, into: &mut Vec<u8>) -> io::Result<usize> {
    into.reserve(READ_SIZE);
    from.read_buf(into).await
}

/// Reads to the end and discards the bytes.
async fn discard(from: &mut TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while from.read(&mut buffer).await? > 0 {}
    Ok(())
}
