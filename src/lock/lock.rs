use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Client, SessionState};

use super::attempt::Attempt;
use super::error::NotAcquired;
use super::guard::{Guard, Handle};
use super::naming::QueueNames;
use super::node::OwnNode;
use super::spec::LockSpec;
use super::task::AttemptChannels;
use super::{Algorithm, Cost, CostCounter, LockError, LockOptions};
use crate::znode::ZnodePath;

/// How long an attempt whose time is over may take to delete its node before its caller is told all the same. The
/// deletion goes on without it.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(2);

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
    spec: Arc<LockSpec>,
}

impl Lock {
    /// A lock with the default [`Options`].
    ///
    /// The path is absolute, from the client's chroot; the root itself cannot be a lock.
    pub fn new(client: &Client, path: &str, algorithm: Algorithm) -> Result<Self, LockError> {
        Self::with(client, path, algorithm, LockOptions::default())
    }

    /// A lock.
    pub fn with(client: &Client, path: &str, algorithm: Algorithm, options: LockOptions) -> Result<Self, LockError> {
        let path = ZnodePath::new(path)?;
        if path.is_root() {
            return Err(LockError::Unusable { path, why: "the root is no place for a lock, name a node below it" });
        }
        if options.acls.is_empty() {
            return Err(LockError::BadOptions("without any ACL nobody could use its nodes"));
        }
        let names = QueueNames::of(&options.naming, algorithm)?;
        Ok(Self { spec: Arc::new(LockSpec { client: client.clone(), path, algorithm, names, options }) })
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
        let LockSpec { client, path, algorithm, names, options } = &*self.spec;
        let algorithm = algorithm.with_access(access);
        let (client, path, names, options) = (client.clone(), path.clone(), names.clone(), options.clone());
        Self { spec: Arc::new(LockSpec { client, path, algorithm, names, options }) }
    }

    /// Who counts the cost of its attempts.
    pub fn counter(&self) -> &CostCounter {
        &self.spec.options.counter
    }

    /// What its attempts have cost so far.
    pub fn cost(&self) -> Cost {
        self.counter().cost()
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
        self.guard(start, granted.unwrap_or(Err(NotAcquired::Cancelled)))
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
            granted = &mut start.granted => granted.unwrap_or(Err(NotAcquired::Cancelled)),
            () = self.disconnected() => return Err(LockError::ConnectionLost { path: self.spec.path.clone() }),
        };
        if matches!(granted, Err(NotAcquired::NotFree)) {
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
            granted = &mut start.granted => granted.unwrap_or(Err(NotAcquired::Cancelled)),
            () = sleep_until(deadline) => {
                start.handle.cancel.cancel();
                return Err(self.give_up(start, within).await);
            }
        };
        self.guard(start, granted)
    }

    /// Sees a cancelled attempt off, and says what has become of it. A lock that came in the last moment is given back.
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
        let mut states = self.spec.client.state_watcher();
        let mut state = states.peek_state();
        while state != SessionState::Disconnected {
            state = states.changed().await;
        }
    }

    fn start(&self, waits: bool) -> StartedAttempt {
        let cancel = CancellationToken::new();
        let attempt = Attempt::new(Arc::clone(&self.spec), waits, cancel.clone());
        let probe = attempt.client.meter.attempt.clone();
        let (granted_sender, granted) = oneshot::channel();
        let (requests, requests_receiver) = mpsc::channel(1);
        let (loss_sender, loss) = watch::channel(None);
        let task = tokio::spawn(attempt.run(AttemptChannels {
            granted: granted_sender,
            requests: requests_receiver,
            loss: loss_sender,
        }));
        StartedAttempt { granted, handle: Handle { task: Some(task), cancel, requests, loss, counter: probe } }
    }

    fn guard(&self, start: StartedAttempt, granted: Result<OwnNode, NotAcquired>) -> Result<Guard, LockError> {
        match granted {
            Ok(own) => Ok(Guard::new(self.spec.path.clone(), own, start.handle)),
            Err(NotAcquired::Failed(error)) => Err(error),
            // Only the end of the runtime takes a task away from its handle.
            Err(NotAcquired::Cancelled | NotAcquired::NotFree) => {
                Err(LockError::Closed { path: self.spec.path.clone() })
            }
        }
    }
}

/// An attempt under way.
struct StartedAttempt {
    granted: oneshot::Receiver<Result<OwnNode, NotAcquired>>,
    handle: Handle,
}
