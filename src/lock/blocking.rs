//! The locks for programs without an async runtime.
//!
//! A [`BlockingClient`] starts one thread with a Tokio runtime, on which the client and its locks
//! live. Any thread may acquire: its calls wait, and need no runtime of their own. A guard that is
//! dropped releases the lock on that thread.
//!
//! ```no_run
//! use lockscope_lock::Algorithm;
//! use lockscope_lock::blocking::BlockingClient;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = BlockingClient::connect("localhost:2181")?;
//! let lock = client.lock("/locks/orders", Algorithm::Chain)?;
//! let guard = lock.acquire()?;
//! // Any request of the client library, and any future of this crate.
//! let (_data, stat) = client.block_on(client.client().get_data("/orders/last"))?;
//! if guard.is_lost().is_none() {
//!     let token = guard.token().to_string();
//!     client.block_on(client.client().set_data("/orders/last", token.as_bytes(), Some(stat.version)))?;
//! }
//! guard.release()?;
//! client.cleaned_up(); // before `main` ends: the thread ends with it
//! # Ok(())
//! # }
//! ```
//!
//! # Within an async runtime
//!
//! These calls work there, but block the thread like any other blocking call: use Tokio's
//! `spawn_blocking`, or the async [`Lock`]. Only on the thread of the client itself they would wait
//! for themselves, for example in an [`ActivityRecorder`](crate::activity::ActivityRecorder) of one
//! of its locks: there they panic.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::unconstrained;
use tokio::time::timeout;
use zookeeper_client::{Client, Connector, Error};

use super::{Algorithm, Guard, Lock, LockError, LockOptions, Loss, cleaned_up};
use lockscope_terms::znode::Zxid;

/// The time that the closing of a session is given when its last handle is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A client with a thread of its own. Clones share both.
///
/// When the last clone, lock and guard is dropped, the thread deletes the nodes of dropped guards,
/// closes the session and ends.
#[derive(Clone, Debug)]
pub struct BlockingClient(Arc<OwnThread>);

impl BlockingClient {
    /// Connects to servers: `HOST:PORT,HOST:PORT/CHROOT`.
    ///
    /// # Errors
    ///
    /// Those of [`Client::connect`], and [`Error::UnexpectedError`] when no thread can be started.
    pub fn connect(servers: &str) -> Result<Self, Error> {
        Self::connect_with(Client::connector(), servers)
    }

    /// Connects with the settings of a connector, such as a session timeout and credentials.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(connector: Connector, servers: &str) -> Result<Self, Error> {
        let not_started = |error| Error::UnexpectedError(format!("the client's thread does not start: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(not_started)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("lockscope-lock".to_owned());
        let thread = thread.spawn(move || run(&runtime, stopped)).map_err(not_started)?.thread().id();
        let client = wait_on(&handle, thread, connector.connect(servers))?;
        Ok(Self(Arc::new(OwnThread { client, handle, thread, stop: Some(stop) })))
    }

    /// Returns the async client, for requests by [`block_on`](Self::block_on). A clone of it is of no use
    /// after the last handle of this one: its tasks end with the thread.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Creates a lock as [`Lock::new`] does. Sends no request.
    ///
    /// # Errors
    ///
    /// As [`Lock::new`].
    pub fn lock(&self, path: &str, algorithm: Algorithm) -> Result<BlockingLock, LockError> {
        self.lock_with(path, algorithm, LockOptions::default())
    }

    /// Creates a lock as [`Lock::with`] does. Sends no request.
    ///
    /// # Errors
    ///
    /// As [`Lock::with`].
    pub fn lock_with(&self, path: &str, algorithm: Algorithm, options: LockOptions) -> Result<BlockingLock, LockError> {
        let lock = Lock::with(&self.0.client, path, algorithm, options)?;
        Ok(BlockingLock { lock, thread: Arc::clone(&self.0) })
    }

    /// Waits for a future: a request of the client, or what this crate has as async only, such as
    /// [`Multi`](super::Multi). Tasks that it spawns run on the thread of the client.
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.wait(future)
    }

    /// Waits as [`cleaned_up`] does. Call it before the program ends.
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn cleaned_up(&self) {
        self.0.wait(cleaned_up(&self.0.client));
    }
}

/// A lock whose calls block the thread. Clones are the same lock.
#[derive(Clone, Debug)]
pub struct BlockingLock {
    lock: Lock,
    thread: Arc<OwnThread>,
}

impl BlockingLock {
    /// Returns the async lock: its path, its algorithm, its cost.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Waits until this thread holds the lock. Cost and errors are those of [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`Lock::acquire`].
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn acquire(&self) -> Result<BlockingGuard, LockError> {
        self.thread.wait(self.lock.acquire()).map(|guard| self.held(guard))
    }

    /// Takes the lock if it is free now, as [`Lock::try_acquire`] does.
    ///
    /// # Errors
    ///
    /// As [`Lock::try_acquire`].
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn try_acquire(&self) -> Result<Option<BlockingGuard>, LockError> {
        let guard = self.thread.wait(self.lock.try_acquire())?;
        Ok(guard.map(|guard| self.held(guard)))
    }

    /// Waits for the lock, but no longer than `within`, as [`Lock::acquire_within`] does.
    ///
    /// # Errors
    ///
    /// As [`Lock::acquire_within`].
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn acquire_within(&self, within: Duration) -> Result<BlockingGuard, LockError> {
        self.thread.wait(self.lock.acquire_within(within)).map(|guard| self.held(guard))
    }

    fn held(&self, guard: Guard) -> BlockingGuard {
        BlockingGuard { guard, thread: Arc::clone(&self.thread) }
    }
}

/// A held lock. Any thread may release it. Dropping it releases the lock in the background, on the
/// thread of the client.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct BlockingGuard {
    guard: Guard,
    thread: Arc<OwnThread>,
}

impl BlockingGuard {
    /// Returns the async guard: its path, its cost, and what it can do beside this, by
    /// [`BlockingClient::block_on`].
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Returns the fencing token: see [`Guard::token`].
    pub fn token(&self) -> Zxid {
        self.guard.token()
    }

    /// Returns how the lock was lost, or `None` while no loss is known: see [`Guard::is_lost`]. A
    /// deletion by somebody else is known only after [`lost_within`](Self::lost_within) was called
    /// once.
    pub fn is_lost(&self) -> Option<Loss> {
        self.guard.is_lost()
    }

    /// Waits until the lock is lost, but no longer than `within`: `None` when no loss is known then.
    /// The cost is that of [`Guard::lost`].
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn lost_within(&self, within: Duration) -> Option<Loss> {
        self.thread.wait(async { timeout(within, self.guard.lost()).await.ok() })
    }

    /// Releases the lock, and waits until that is done.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`].
    ///
    /// # Panics
    ///
    /// On the thread of the client itself.
    pub fn release(self) -> Result<(), LockError> {
        self.thread.wait(self.guard.release())
    }
}

/// A client, and the thread on which its runtime runs.
struct OwnThread {
    client: Client,
    handle: Handle,
    thread: ThreadId,
    /// Ends the thread.
    stop: Option<oneshot::Sender<Client>>,
}

impl OwnThread {
    fn wait<F: Future>(&self, future: F) -> F::Output {
        wait_on(&self.handle, self.thread, future)
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        // This fails only when the thread has ended.
        self.stop.take().map(|stop| stop.send(self.client.clone()));
    }
}

impl fmt::Debug for OwnThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnThread").field(&self.client.session_id()).finish()
    }
}

/// Runs the tasks of a client until its last handle is dropped, and closes its session.
fn run(runtime: &Runtime, stopped: oneshot::Receiver<Client>) {
    runtime.block_on(async {
        // There is no client when the connection was not made.
        let Ok(client) = stopped.await else { return };
        cleaned_up(&client).await;
        let mut states = client.state_watcher();
        drop(client);
        let closed = async {
            while !states.peek_state().is_terminated() {
                states.changed().await;
            }
        };
        let _ = timeout(CLOSE_TIMEOUT, closed).await;
    });
}

/// Waits for a future on this thread, while `thread` runs the tasks, the timers and the connection.
///
/// Tokio's own `block_on` would panic within another runtime. The future has no share of the time of
/// a task that may call this, hence `unconstrained`.
fn wait_on<F: Future>(handle: &Handle, thread: ThreadId, future: F) -> F::Output {
    assert_ne!(thread::current().id(), thread, "a blocking call on the client's own thread waits for itself");
    let _context = handle.enter();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(unconstrained(future));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
