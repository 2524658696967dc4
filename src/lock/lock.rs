use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Client, SessionState};

use super::attempt::Attempt;
use super::error::Stop;
use super::guard::{Guard, Handle};
use super::naming::Names;
use super::node::OwnNode;
use super::spec::Spec;
use super::task::Ends;
use super::{Algorithm, Cost, LockError, Options, Probe};
use crate::znode::ZnodePath;

/// How long an attempt whose time is over may take to delete its node before its caller is told all the same. The
/// deletion goes on without it.
const GRACE: Duration = Duration::from_secs(2);

/// A lock at a path of the ensemble: the way to [`Guard`]s. Making one asks the server nothing; clones are the same lock.
///
/// Each [`acquire`](Self::acquire) is an attempt of its own with its own node, also when it comes from the same task:
/// who asks again while holding waits for itself. [`Reentrant`](super::Reentrant) is for that.
///
/// A lock, its attempts and its guards keep the client's session open as long as they live.
///
/// ```no_run
/// # use lockscope::lock::{Algorithm, Lock, Naming, Options};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = zookeeper_client::Client::connect("localhost:2181").await?;
/// // In one queue with Python programs that use kazoo.
/// let options = Options::default().naming(Naming::Kazoo).data("worker 7");
/// let lock = Lock::with(&client, "/locks/orders", Algorithm::Chain, options)?;
/// let guard = lock.acquire().await?;
/// println!("{} is ours, with the token {}", guard.path(), guard.token());
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Lock {
    spec: Arc<Spec>,
}

impl Lock {
    /// A lock with the default [`Options`].
    ///
    /// The path is absolute, from the client's chroot; the root itself cannot be a lock.
    pub fn new(client: &Client, path: &str, algorithm: Algorithm) -> Result<Self, LockError> {
        Self::with(client, path, algorithm, Options::default())
    }

    /// A lock.
    pub fn with(client: &Client, path: &str, algorithm: Algorithm, options: Options) -> Result<Self, LockError> {
        let path = ZnodePath::new(path)?;
        if path.is_root() {
            return Err(LockError::Unusable { path, why: "the root is no place for a lock, name a node below it" });
        }
        if options.acls.is_empty() {
            return Err(LockError::BadOptions("without any ACL nobody could use its nodes"));
        }
        let names = Names::of(&options.naming, algorithm)?;
        Ok(Self { spec: Arc::new(Spec { client: client.clone(), path, algorithm, names, options }) })
    }

    /// Its path.
    pub fn path(&self) -> &ZnodePath {
        &self.spec.path
    }

    /// How it works.
    pub fn algorithm(&self) -> Algorithm {
        self.spec.algorithm
    }

    /// The same lock with another access, counted by the same probe. Itself where there is no access to choose.
    #[must_use]
    pub fn with_access(&self, access: super::Access) -> Self {
        let Spec { client, path, algorithm, names, options } = &*self.spec;
        let algorithm = algorithm.with_access(access);
        let (client, path, names, options) = (client.clone(), path.clone(), names.clone(), options.clone());
        Self { spec: Arc::new(Spec { client, path, algorithm, names, options }) }
    }

    /// Who counts the cost of its attempts.
    pub fn probe(&self) -> &Probe {
        &self.spec.options.probe
    }

    /// What its attempts have cost so far.
    pub fn cost(&self) -> Cost {
        self.probe().cost()
    }

    /// Waits for the lock as long as it takes, over lost connections, until the session ends.
    ///
    /// Cancel safe: dropped at any point it leaves no node; what it made is deleted in the background. Nothing is sent
    /// before it is first polled.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire(&self) -> Result<Guard, LockError> {
        let mut start = self.start(true);
        let granted = (&mut start.granted).await;
        self.guard(start, granted.unwrap_or(Err(Stop::Cancelled)))
    }

    /// Takes the lock when it is free now; `None` when others hold it or wait for it, and then no node is left when
    /// this returns. A semaphore may also say `None` while somebody else is just taking a lease.
    ///
    /// It does not wait for a connection either: without one it is [`ConnectionLost`](LockError::ConnectionLost). Cancel
    /// safe as [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn try_acquire(&self) -> Result<Option<Guard>, LockError> {
        let mut start = self.start(false);
        let granted = tokio::select! {
            biased;
            granted = &mut start.granted => granted.unwrap_or(Err(Stop::Cancelled)),
            () = self.cut() => return Err(LockError::ConnectionLost { path: self.spec.path.clone() }),
        };
        if matches!(granted, Err(Stop::NotFree)) {
            return Ok(None);
        }
        self.guard(start, granted).map(Some)
    }

    /// Waits for the lock, at most for that long; [`TimedOut`](LockError::TimedOut) when that was not enough, or
    /// [`ConnectionLost`](LockError::ConnectionLost) when there is no connection by then.
    ///
    /// No node is left when this returns, provided that the server answers within two more seconds; otherwise it is
    /// deleted as soon as there is a connection. Cancel safe as [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire_within(&self, within: Duration) -> Result<Guard, LockError> {
        let mut start = self.start(true);
        // Beyond a century nobody waits.
        let deadline = Instant::now() + within.min(Duration::from_secs(3_000_000_000));
        let granted = tokio::select! {
            biased;
            granted = &mut start.granted => granted.unwrap_or(Err(Stop::Cancelled)),
            () = sleep_until(deadline) => {
                start.handle.cancel.cancel();
                return Err(self.overdue(start, within).await);
            }
        };
        self.guard(start, granted)
    }

    /// Sees a cancelled attempt off, and says what has become of it. A lock that came in the last moment is given back.
    async fn overdue(&self, mut start: Start, within: Duration) -> LockError {
        if let Some(task) = start.handle.task.take() {
            tokio::select! {
                biased;
                _ = timeout(GRACE, task) => {}
                () = self.cut() => return LockError::ConnectionLost { path: self.spec.path.clone() },
            }
        }
        match start.granted.try_recv() {
            Ok(Err(Stop::Failed(error))) => error,
            _ => LockError::TimedOut { path: self.spec.path.clone(), within },
        }
    }

    /// Ends when there is no connection.
    async fn cut(&self) {
        let mut states = self.spec.client.state_watcher();
        let mut state = states.peek_state();
        while state != SessionState::Disconnected {
            state = states.changed().await;
        }
    }

    fn start(&self, waits: bool) -> Start {
        let cancel = CancellationToken::new();
        let attempt = Attempt::new(Arc::clone(&self.spec), waits, cancel.clone());
        let probe = attempt.wire.meter.attempt.clone();
        let (granted_sender, granted) = oneshot::channel();
        let (orders, orders_receiver) = mpsc::channel(1);
        let (loss_sender, loss) = watch::channel(None);
        let task =
            tokio::spawn(attempt.run(Ends { granted: granted_sender, orders: orders_receiver, loss: loss_sender }));
        Start { granted, handle: Handle { task: Some(task), cancel, orders, loss, probe } }
    }

    fn guard(&self, start: Start, granted: Result<OwnNode, Stop>) -> Result<Guard, LockError> {
        match granted {
            Ok(own) => Ok(Guard::new(self.spec.path.clone(), own, start.handle)),
            Err(Stop::Failed(error)) => Err(error),
            // Only the end of the runtime takes a task away from its handle.
            Err(Stop::Cancelled | Stop::NotFree) => Err(LockError::Closed { path: self.spec.path.clone() }),
        }
    }
}

/// An attempt under way.
struct Start {
    granted: oneshot::Receiver<Result<OwnNode, Stop>>,
    handle: Handle,
}
