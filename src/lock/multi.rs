//! Several locks as one.

use std::time::Duration;

use futures::future::select_all;
use tokio::time::Instant;

use super::{Guard, Lock, LockError, Loss};

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
