//! Sockets and the clock around the machine. No other part of the sandbox uses either.
//!
//! The machine is behind one lock, with the wakers of the connections' tasks. One task moves the
//! bytes of one connection, and one runs the clock: it expires sessions and deletes containers when
//! they are due.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::config::SandboxConfig;
use crate::machine::{CloseReason, Machine};
use lockscope_base::time;

#[cfg(test)]
mod tests;

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
        tasks.spawn(stopping.clone().run_until_cancelled_owned(run_clock(Arc::clone(&shared))));
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

/// The machine and the wakers, shared by all tasks.
#[derive(Debug)]
struct SharedMachine {
    state: Mutex<GuardedState>,
    /// Notified when an event becomes due before the clock's next tick.
    pub sooner: Notify,
    /// The wall-clock time at the start, in milliseconds since 1970. With `start` it makes a clock
    /// that never jumps when the system's time is set.
    wall: i64,
    start: Instant,
}

/// The state behind the lock.
#[derive(Debug)]
struct GuardedState {
    pub machine: Machine,
    /// The wakers of the connections' tasks, by connection.
    wakers: HashMap<usize, Waker>,
    /// Reused, so that a request needs no allocation.
    ready: Vec<usize>,
}

/// The handles that wake a connection's task.
#[derive(Clone, Debug, Default)]
struct Waker {
    /// Notified when there is output or the connection must be closed.
    pub wake: Arc<Notify>,
    /// Cancelled when the connection must be closed at once, even while it sends.
    pub cut: CancellationToken,
}

impl SharedMachine {
    pub fn new(options: SandboxConfig) -> Self {
        let wall = time::now().0;
        let machine = Machine::new(options, Uuid::new_v4().into_bytes(), wall);
        let state = GuardedState { machine, wakers: HashMap::new(), ready: Vec::new() };
        Self { state: Mutex::new(state), sooner: Notify::new(), wall, start: Instant::now() }
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.wall.saturating_add(i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Locks the state. Callers hold the lock for a few requests at most, and never across an
    /// await.
    pub fn lock(&self) -> MutexGuard<'_, GuardedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a connection and returns its number and its task's waker, or `None` at
    /// `max_connections`.
    pub fn open(&self, peer: SocketAddr) -> Option<(usize, Waker)> {
        let now = self.now();
        let mut state = self.lock();
        let before = state.machine.next_tick();
        let id = state.machine.open(peer, now)?;
        if state.machine.next_tick() < before {
            self.sooner.notify_one();
        }
        let waker = Waker::default();
        state.wakers.insert(id, waker.clone());
        Some((id, waker))
    }

    /// Removes a connection.
    pub fn forget(&self, id: usize) {
        let mut state = self.lock();
        state.machine.forget(id);
        state.wakers.remove(&id);
    }
}

impl GuardedState {
    /// Wakes the tasks of all connections with output, except the one that is `awake`.
    pub fn wake(&mut self, awake: Option<usize>) {
        self.machine.ready(&mut self.ready);
        for id in self.ready.drain(..) {
            if awake != Some(id)
                && let Some(waker) = self.wakers.get(&id)
            {
                waker.wake.notify_one();
                if self.machine.is_cut(id) {
                    waker.cut.cancel();
                }
            }
        }
    }
}

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
struct ConnectionTask {
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

/// The shortest pause between ticks. It bounds the cost of a short tick.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// Runs the machine's ticks for ever, each a few milliseconds late.
async fn run_clock(shared: Arc<SharedMachine>) {
    loop {
        let now = shared.now();
        let next = {
            let mut state = shared.lock();
            state.machine.tick(now);
            state.wake(None);
            state.machine.next_tick()
        };
        let pause = Duration::from_millis(u64::try_from(next.saturating_sub(now)).unwrap_or(0)).max(MIN_PAUSE);
        tokio::select! {
            () = sleep(pause) => {}
            () = shared.sooner.notified() => sleep(MIN_PAUSE).await,
        }
    }
}
