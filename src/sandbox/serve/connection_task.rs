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

/// How many bytes are read at once.
const READ_SIZE: usize = 16 << 10;

/// A buffer that has grown beyond this many bytes is not kept.
const MAX_KEPT_BUFFER: usize = 256 << 10;

/// In bytes. When more than this was sent, the machine learns it at once, since unsent bytes count; less is reported with the next
/// output.
const REPORT_SENT_ABOVE: usize = 4 << 10;

/// How long a client may take to read what it is sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take to close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// One connection. It is forgotten with this value.
pub(super) struct ConnectionTask {
    shared: Arc<SharedMachine>,
    id: usize,
    peer: SocketAddr,
    waker: Waker,
    /// What was received and is not done with: less than a frame, while it waits.
    input: Vec<u8>,
    output: Vec<u8>,
}

impl ConnectionTask {
    /// `None` when there are as many connections as there may be.
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
        // A socket that is closed with bytes unread takes what was sent last with it. However that goes, it is closed.
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
                // The client learns that no more comes.
                writing.shutdown().await?;
                return Ok(end);
            }
        }
    }

    /// Carries out what was received, and sends what waits, until there is nothing more of either.
    async fn answer(&mut self, writing: &mut WriteHalf<'_>) -> io::Result<Option<CloseReason>> {
        let mut done = 0;
        loop {
            let (end, more) = self.turn(&mut done);
            if !self.output.is_empty() {
                tokio::select! {
                    written = timeout(WRITE_TIMEOUT, writing.write_all(&self.output)) => written??,
                    // The next turn gives the reason.
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
                // Once at the end: taking each turn's requests out would move all that are behind them each time.
                self.input.drain(..done);
                if self.input.is_empty() && self.input.capacity() > MAX_KEPT_BUFFER {
                    self.input = Vec::new();
                }
                return Ok(end);
            }
        }
    }

    /// One turn under the lock, on the bytes after the first `done`; also gives whether whole frames are left.
    fn turn(&mut self, done: &mut usize) -> (Option<CloseReason>, bool) {
        let now = self.shared.now();
        let mut state = self.shared.lock();
        let before = state.machine.next_tick();
        *done += state.machine.receive(self.id, &self.input[*done..], now);
        let end = state.machine.take(self.id, &mut self.output);
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

/// Reads to the end, and keeps nothing.
async fn discard(from: &mut TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while from.read(&mut buffer).await? > 0 {}
    Ok(())
}
