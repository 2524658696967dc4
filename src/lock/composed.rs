//! Locks made of locks: several as one, and one that its owner may acquire again while it holds it.
//!
//! Both use the public interface of [`Lock`] and [`Guard`] only.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::select_all;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Access, Guard, Lock, LockError, Loss};

/// Several locks as one: all or none.
///
/// They are acquired in the order in which they are given. Give the same locks in the same order
/// everywhere: two programs that begin at opposite ends wait for each other forever.
///
/// Cost: the sum of the locks' costs, one lock after the other.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, Multi};
/// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let from = Lock::new(&client, "/accounts/17", Algorithm::Chain)?;
/// let to = Lock::new(&client, "/accounts/42", Algorithm::Chain)?;
/// let both = Multi::new([from, to]).acquire().await?;
/// both.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Multi {
    locks: Vec<Lock>,
}

impl Multi {
    /// Creates a group of locks that are acquired in this order. Sends no request.
    pub fn new(locks: impl IntoIterator<Item = Lock>) -> Self {
        Self { locks: locks.into_iter().collect() }
    }

    /// Waits until all locks are held.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire`], of the first lock that fails. The locks before it are released
    /// when this returns.
    pub async fn acquire(&self) -> Result<MultiGuard, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.acquire().await;
            held.add(guard.map(Some)).await?;
        }
        Ok(held)
    }

    /// Takes all locks if all are free now. Returns `None` if one is not; none is then held.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::try_acquire`], of the first lock that fails. The locks before it are
    /// released when this returns.
    pub async fn try_acquire(&self) -> Result<Option<MultiGuard>, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.try_acquire().await;
            if !held.add(guard).await? {
                return Ok(None);
            }
        }
        Ok(Some(held))
    }

    /// Waits until all locks are held, but no longer than `within` altogether.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire_within`], of the first lock that fails. The locks before it are
    /// released when this returns.
    pub async fn acquire_within(&self, within: Duration) -> Result<MultiGuard, LockError> {
        let start = Instant::now();
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard =
                lock.acquire_within(within.saturating_sub(start.elapsed())).await.map_err(|error| match error {
                    // The caller knows the whole time, not what was left of it for this lock.
                    LockError::TimedOut { path, .. } => LockError::TimedOut { path, within },
                    other => other,
                });
            held.add(guard.map(Some)).await?;
        }
        Ok(held)
    }
}

/// All locks of a [`Multi`], held. Dropping it releases them in the background.
#[must_use = "the locks are released when their guard is dropped"]
#[derive(Debug, Default)]
pub struct MultiGuard {
    guards: Vec<Guard>,
}

impl MultiGuard {
    /// Returns the guards, in the order of the locks.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Waits until any of the locks is lost. Gives its index in [`guards`](Self::guards), and how
    /// it was lost. Never ends when there are no locks.
    ///
    /// Cancel safe. Cost: that of [`Guard::lost`] for each lock.
    pub async fn lost(&self) -> (usize, Loss) {
        if self.guards.is_empty() {
            return std::future::pending().await;
        }
        let (loss, which, _) = select_all(self.guards.iter().map(|guard| Box::pin(guard.lost()))).await;
        (which, loss)
    }

    /// Releases all locks, the last one first.
    ///
    /// Cancel safe: a dropped future leaves the releases to background tasks.
    ///
    /// # Errors
    ///
    /// The first error of [`Guard::release`]. The other locks are released all the same.
    pub async fn release(mut self) -> Result<(), LockError> {
        let mut outcome = Ok(());
        while let Some(guard) = self.guards.pop() {
            outcome = outcome.and(guard.release().await);
        }
        outcome
    }

    /// Adds a guard. Releases all and gives `false` when there is none, or the error.
    async fn add(&mut self, guard: Result<Option<Guard>, LockError>) -> Result<bool, LockError> {
        match guard {
            Ok(Some(guard)) => {
                self.guards.push(guard);
                Ok(true)
            }
            other => {
                // Why the lock was not acquired matters more than what goes wrong in the release.
                let _ = std::mem::take(self).release().await;
                other.map(|_| false)
            }
        }
    }
}

/// One owner of a lock, which may enter it again while it is inside, and leaves it as often.
///
/// Clones are the same owner. Tasks have no identity that a lock could know them by, so another
/// owner is another `Reentrant`, also with the same client. The last
/// [`leave`](ReentrantGuard::leave), or the drop of the last [`ReentrantGuard`], releases the lock.
///
/// Cost: that of the lock for the first to enter and the last to leave; no request for the others.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, Reentrant};
/// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let owner = Reentrant::new(Lock::new(&client, "/locks/orders", Algorithm::Chain)?);
/// let outer = owner.enter().await?;
/// let inner = owner.enter().await?; // asks no server
/// inner.leave().await?;
/// outer.leave().await?; // deletes the node
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Reentrant {
    lock: Lock,
    inside: Arc<Mutex<Option<Entered>>>,
}

#[derive(Debug)]
struct Entered {
    guard: Weak<Guard>,
    access: Option<Access>,
}

impl Reentrant {
    /// Creates an owner of a lock. Sends no request.
    pub fn new(lock: Lock) -> Self {
        Self { lock, inside: Arc::default() }
    }

    /// Enters the lock: waits for it unless the owner is inside already. Cancel safe as
    /// [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// - Those of [`Lock::acquire`] when the owner is not inside yet.
    /// - [`LockError::SessionExpired`] or [`LockError::NodeDeleted`] when the owner is inside and
    ///   the lock is known to be lost, until all guards are gone.
    pub async fn enter(&self) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.clone()).await
    }

    /// Enters a shared lock for that access. An owner that is inside for writing may enter for
    /// reading too. Cancel safe as [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter), and [`LockError::UpgradeRefused`] when the owner is inside for
    /// reading and asks for writing.
    pub async fn enter_for(&self, access: Access) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.with_access(access)).await
    }

    async fn enter_with(&self, lock: Lock) -> Result<ReentrantGuard, LockError> {
        // Locked while the attempt waits, so that two tasks which enter together are one attempt.
        let mut entered = self.inside.lock().await;
        let access = lock.algorithm().access();
        if let Some((guard, has)) = entered.as_ref().and_then(|inside| Some((inside.guard.upgrade()?, inside.access))) {
            if let Some(loss) = guard.is_lost() {
                return Err(loss.error(guard.lock(), guard.path()));
            }
            if has == Some(Access::Read) && access == Some(Access::Write) {
                return Err(LockError::UpgradeRefused { path: lock.path().clone() });
            }
            return Ok(ReentrantGuard { guard });
        }
        let guard = Arc::new(lock.acquire().await?);
        *entered = Some(Entered { guard: Arc::downgrade(&guard), access });
        Ok(ReentrantGuard { guard })
    }
}

/// One entry into a [`Reentrant`] lock. Dropping it leaves the lock, in the background.
#[must_use = "the lock is left when this guard is dropped"]
#[derive(Debug)]
pub struct ReentrantGuard {
    guard: Arc<Guard>,
}

impl ReentrantGuard {
    /// Returns the guard of the lock, which all entries of the owner share.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Leaves the lock. The last one to leave releases it. Cancel safe as [`Guard::release`].
    ///
    /// # Errors
    ///
    /// Those of [`Guard::release`], for the last one to leave; none for the others.
    pub async fn leave(self) -> Result<(), LockError> {
        match Arc::into_inner(self.guard) {
            Some(guard) => guard.release().await,
            None => Ok(()),
        }
    }
}
