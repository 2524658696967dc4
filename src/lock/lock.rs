//! A lock at a path, and the ways to acquire it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use zookeeper_client::{Client, SessionState};

use super::attempt::{Attempt, LockSpec};
use super::error::NotAcquired;
use super::guard::{Guard, Handle, HoldState};
use super::options::QueueNames;
use super::retrying_client::OwnNode;
use super::task::AttemptChannels;
use super::{Algorithm, Cost, CostCounter, LockError, LockOptions, spans};
use lockscope_requests::Requests;
use lockscope_terms::trace_context::TraceContext;
use lockscope_terms::znode::ZnodePath;

/// The time for which [`Lock::acquire_within`] waits for the deletion of its node when its time is
/// over. After that it returns, and the deletion goes on in the background.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(2);

/// The time that [`Lock::try_acquire`] gives its attempt, once the connection has ended, to see a reply
/// that came before: a server that is too old answers and closes the connection.
const LAST_REPLY: Duration = Duration::from_millis(10);

/// The longest request that a server accepts by default, in bytes: `jute.maxbuffer`. A longer one
/// ends the connection, which looks like a transient fault.
const MAX_CREATE: usize = 0xf_ffff;

/// A lock at a path of the ensemble. Creating one sends no request; clones are the same lock.
///
/// Each [`acquire`](Self::acquire) is an attempt of its own with its own node. A task that acquires
/// a lock which it holds already waits for itself; use [`Reentrant`](super::Reentrant) there.
///
/// A lock, its attempts and its guards keep the client's session open as long as they live.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, LockOptions, Naming, zookeeper_client::Client};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("localhost:2181").await?;
/// // In one queue with Python programs that use kazoo.
/// let options = LockOptions::default().naming(Naming::Kazoo).data("worker 7");
/// let lock = Lock::with(&client, "/locks/orders", Algorithm::Chain, options)?;
/// let guard = lock.acquire().await?;
/// println!("{} is ours, with the token {}", guard.path(), guard.token());
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Lock {
    spec: Arc<LockSpec>,
}

impl Lock {
    /// Creates a lock with the default [`LockOptions`]. Sends no request.
    ///
    /// The path is absolute, below the client's chroot.
    ///
    /// # Errors
    ///
    /// - [`LockError::BadPath`] when the path is not a znode path.
    /// - [`LockError::Unusable`] when it is the root.
    pub fn new(client: &Client, path: &str, algorithm: Algorithm) -> Result<Self, LockError> {
        Self::with(client, path, algorithm, LockOptions::default())
    }

    /// Creates a lock with these options. Sends no request.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), with the fence's path too, and [`LockError::BadOptions`] when the list of ACLs is empty, when
    /// path, data and ACLs together have more than 1 MiB, when the lock has a
    /// [fence](LockOptions::fence) and is not exclusive, or when the naming does not fit the
    /// algorithm (see [`Naming::check`](super::Naming::check)).
    pub fn with(client: &Client, path: &str, algorithm: Algorithm, options: LockOptions) -> Result<Self, LockError> {
        Self::over(Arc::new(client.clone()), path, algorithm, options)
    }

    /// Creates a lock over other [`Requests`] than those of the client library, such as those of a
    /// simulated ensemble. Sends no request.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    #[doc(hidden)]
    pub fn over(
        client: Arc<dyn Requests>,
        path: &str,
        algorithm: Algorithm,
        options: LockOptions,
    ) -> Result<Self, LockError> {
        let path = ZnodePath::new(path)?;
        if path.is_root() {
            return Err(LockError::Unusable { path, why: "the root is no place for a lock, name a node below it" });
        }
        if options.acls.is_empty() {
            return Err(LockError::BadOptions("without any ACL nobody could use its nodes"));
        }
        if client.chroot().len() + options.create_size(&path) > MAX_CREATE {
            return Err(LockError::BadOptions(
                "servers take no more than 1 MiB for the path, the data and the ACLs of a node",
            ));
        }
        let is_shared = matches!(algorithm, Algorithm::Semaphore(_)) || algorithm.access().is_some();
        if options.fence.clone()?.is_some() && is_shared {
            return Err(LockError::BadOptions("only exclusive locks have tokens that rise, so only they have a fence"));
        }
        let names = QueueNames::of(&options.naming, algorithm)?;
        Ok(Self::of(client, path, algorithm, names, options))
    }

    fn of(
        client: Arc<dyn Requests>,
        path: ZnodePath,
        algorithm: Algorithm,
        names: QueueNames,
        options: LockOptions,
    ) -> Self {
        let asks_by_name = AtomicBool::new(false);
        let spec = LockSpec { client, path, algorithm, names, options, asks_by_name, has_turn: false };
        Self { spec: Arc::new(spec) }
    }

    /// Returns the path of the lock.
    pub fn path(&self) -> &ZnodePath {
        &self.spec.path
    }

    /// Returns the algorithm of the lock.
    pub fn algorithm(&self) -> Algorithm {
        self.spec.algorithm
    }

    /// Returns the lock for another access, with the same counter. An algorithm without readers
    /// stays as it is.
    #[must_use]
    pub fn with_access(&self, access: super::Access) -> Self {
        let LockSpec { client, path, algorithm, names, options, .. } = &*self.spec;
        let algorithm = algorithm.with_access(access);
        Self::of(Arc::clone(client), path.clone(), algorithm, names.clone(), options.clone())
    }

    /// Returns the lock for attempts on behalf of a span of the application, with the same counter:
    /// see [`LockOptions::trace_context`]. Sends no request.
    ///
    /// # Errors
    ///
    /// [`LockError::BadOptions`] when path, data, ACLs and the context together have more than 1
    /// MiB.
    ///
    /// ```no_run
    /// # use lockscope_lock::Lock;
    /// # async fn example(lock: Lock, traceparent: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = lock.traced(traceparent.parse()?)?.acquire().await?;
    /// # guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn traced(&self, context: TraceContext) -> Result<Self, LockError> {
        let LockSpec { client, path, algorithm, options, .. } = &*self.spec;
        Self::over(Arc::clone(client), path.as_str(), *algorithm, options.clone().trace_context(context))
    }

    /// Returns a semaphore's queue, which each attempt for a lease joins, and its leases for an owner
    /// who is at the head of the queue.
    pub(super) fn queue_and_leases(&self) -> (Self, Self) {
        let LockSpec { client, path, algorithm, names, options, .. } = &*self.spec;
        let (client, names, options) = (Arc::clone(client), names.clone(), options.clone());
        let queue =
            Self::of(Arc::clone(&client), path.child("locks"), Algorithm::Chain, names.clone(), options.clone());
        let (path, asks_by_name) = (path.clone(), AtomicBool::new(false));
        let spec = LockSpec { client, path, algorithm: *algorithm, names, options, asks_by_name, has_turn: true };
        (queue, Self { spec: Arc::new(spec) })
    }

    pub(super) fn requests(&self) -> Arc<dyn Requests> {
        Arc::clone(&self.spec.client)
    }

    pub(super) fn names(&self) -> &QueueNames {
        &self.spec.names
    }

    /// Returns the counter of this lock's attempts.
    pub fn counter(&self) -> &CostCounter {
        &self.spec.options.counter
    }

    /// Returns the cost of all attempts of this lock so far, including those under way.
    pub fn cost(&self) -> Cost {
        self.counter().cost()
    }

    /// Waits until this attempt holds the lock, through lost connections, as long as the session
    /// lives.
    ///
    /// The cost in requests and watch events depends on the algorithm: see the
    /// [table](super#costs).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A future that is dropped leaves no node: a background task deletes what it
    /// created, and gives back a lock that was granted in that moment. Its place in the queue is
    /// lost. Nothing is sent before the first poll.
    ///
    /// # Errors
    ///
    /// - [`LockError::SessionExpired`] when the session ends before.
    /// - [`LockError::NodeDeleted`] when somebody else deletes the attempt's node.
    /// - [`LockError::NotPermitted`] when an ACL forbids a request.
    /// - [`LockError::NoParent`] when a parent is missing and must not be created
    ///   ([`Parents::Required`](super::Parents::Required)), or vanished 20 times in a row.
    /// - [`LockError::Unusable`] when a parent is ephemeral.
    /// - [`LockError::ServerTooOld`] when the servers are older than `ZooKeeper` 3.5.
    /// - [`LockError::Closed`] when the client is closed or not authenticated, or the runtime is
    ///   shut down.
    /// - [`LockError::Unexpected`] for anything else that the client library reports.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire(&self) -> Result<Guard, LockError> {
        let mut start = self.start(true);
        let granted = (&mut start.granted).await;
        self.guard(start, granted.unwrap_or(Err(NotAcquired::Cancelled)))
    }

    /// Takes the lock if it is free now. Returns `None` if others hold it or wait for it; no node
    /// is then left. A semaphore may also return `None` while somebody else is taking a lease.
    ///
    /// Cost: that of an acquisition without waiting; where the lock is taken, the queue algorithms
    /// delete their node again (one request). Cancel safe as [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`LockError::ConnectionLost`] when there is no
    /// connection: it does not wait for one.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn try_acquire(&self) -> Result<Option<Guard>, LockError> {
        let mut start = self.start(false);
        let granted = tokio::select! {
            biased;
            granted = &mut start.granted => granted,
            () = self.disconnected() => match timeout(LAST_REPLY, &mut start.granted).await {
                Ok(granted) => granted,
                Err(_) => return Err(LockError::ConnectionLost { path: self.spec.path.clone() }),
            },
        };
        let granted = granted.unwrap_or(Err(NotAcquired::Cancelled));
        if matches!(granted, Err(NotAcquired::NotFree)) {
            return Ok(None);
        }
        self.guard(start, granted).map(Some)
    }

    /// Waits for the lock, but no longer than `within`.
    ///
    /// When the time is over, it deletes its node before it returns, which takes up to two more
    /// seconds. If the server does not answer in these, the node is deleted in the background. A
    /// lock that is granted in the last moment is given back.
    ///
    /// Cost: as [`acquire`](Self::acquire); one that gives up deletes its node and takes its watch
    /// back, one request each. Cancel safe as [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and
    ///
    /// - [`LockError::TimedOut`] when the time is over: others held the lock, or the servers did not
    ///   answer and the silence is not noticed yet.
    /// - [`LockError::ConnectionLost`] when there is no connection when the time is over.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire_within(&self, within: Duration) -> Result<Guard, LockError> {
        self.acquire_until(time_after(within), within).await
    }

    /// Waits for the lock, but no longer than until `deadline`, an `Instant` of Tokio or of the
    /// standard library: one deadline for several locks and other work. Else as
    /// [`acquire_within`](Self::acquire_within), with its cost and its cancellation.
    ///
    /// # Errors
    ///
    /// As [`acquire_within`](Self::acquire_within).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire_by(&self, deadline: impl Into<Instant>) -> Result<Guard, LockError> {
        let deadline = deadline.into();
        self.acquire_until(deadline, deadline.saturating_duration_since(Instant::now())).await
    }

    pub(super) async fn acquire_until(&self, deadline: Instant, within: Duration) -> Result<Guard, LockError> {
        let mut start = self.start(true);
        let granted = tokio::select! {
            biased;
            granted = &mut start.granted => granted.unwrap_or(Err(NotAcquired::Cancelled)),
            () = sleep_until(deadline) => {
                start.handle.cancel.cancel();
                return Err(self.give_up(start, within).await);
            }
        };
        self.guard(start, granted)
    }

    /// Waits until a cancelled attempt has deleted its node, and gives the error to return. A lock
    /// that was granted in the last moment is given back.
    async fn give_up(&self, mut start: StartedAttempt, within: Duration) -> LockError {
        if let Some(task) = start.handle.task.take() {
            tokio::select! {
                biased;
                _ = timeout(CLEAN_UP_TIMEOUT, task) => {}
                () = self.disconnected() => return LockError::ConnectionLost { path: self.spec.path.clone() },
            }
        }
        match start.granted.try_recv() {
            Ok(Err(NotAcquired::Failed(error))) => error,
            _ => LockError::TimedOut { path: self.spec.path.clone(), within },
        }
    }

    /// Ends when there is no connection.
    async fn disconnected(&self) {
        let mut states = self.spec.client.states();
        let mut state = states.peek();
        while state != SessionState::Disconnected {
            state = states.changed().await;
        }
    }

    fn start(&self, waits: bool) -> StartedAttempt {
        let cancel = CancellationToken::new();
        let attempt = Attempt::new(Arc::clone(&self.spec), waits, cancel.clone());
        let client = attempt.client.for_guard();
        let (granted_sender, granted) = oneshot::channel();
        let (requests, requests_receiver) = mpsc::channel(1);
        let (state_sender, state) = watch::channel(HoldState::default());
        let span = spans::attempt(&attempt);
        let channels = AttemptChannels { granted: granted_sender, requests: requests_receiver, state: state_sender };
        let task = tokio::spawn(attempt.run(channels).instrument(span));
        StartedAttempt { granted, handle: Handle { task: Some(task), cancel, requests, state, client } }
    }

    fn guard(&self, start: StartedAttempt, granted: Result<OwnNode, NotAcquired>) -> Result<Guard, LockError> {
        match granted {
            Ok(own) => Ok(Guard::new(Arc::clone(&self.spec), own, start.handle)),
            Err(NotAcquired::Failed(error)) => Err(error),
            // Only the end of the runtime can abort the task.
            Err(NotAcquired::Cancelled | NotAcquired::NotFree) => {
                Err(LockError::Closed { path: self.spec.path.clone() })
            }
        }
    }
}

/// Returns the time after this duration. A century at most, far below the overflow of the clock.
pub(super) fn time_after(within: Duration) -> Instant {
    Instant::now() + within.min(Duration::from_secs(3_000_000_000))
}

/// An attempt under way.
struct StartedAttempt {
    granted: oneshot::Receiver<Result<OwnNode, NotAcquired>>,
    handle: Handle,
}
